"""Runs one tool call and says how it ended.

The rule of this file: whatever the tool does, the model gets a result that it can use: what the tool raises, returns
although it is no JSON, or never returns becomes a `ToolResultPart` with a state. Only the caller's own affairs leave as
exceptions: cancellation of the caller's task, KeyboardInterrupt and SystemExit, and wrong use.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from headrace.agent.results import bad_output, describe, error_result, not_runnable_result, result_of
from headrace.agent.threads import THREADS, DaemonThreads
from headrace.errors import ArgumentsError, ToolError, UsageError
from headrace.messages.parts import Part, ResultState, ToolCallPart, ToolResultPart
from headrace.tools.context import Context
from headrace.tools.output import Output
from headrace.tools.signature import is_async
from headrace.tools.tool import Tool

OnOutput: TypeAlias = Callable[[Part], object]
_PASSED_ON: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)


async def run_tool(
    tool: Tool[..., Any],
    call: ToolCallPart,
    context: Context[Any],
    *,
    on_output: OnOutput | None = None,
    timeout_s: float | None = None,
    threads: DaemonThreads = THREADS,
) -> ToolResultPart:
    """Run one call of a tool.

    An async function runs in the caller's task, a synchronous one in a daemon thread. A call that is not runnable never
    runs. A tool that is idempotent and has `retries` is tried again after an exception or a timeout, at once, unless some
    of its output has been shown already.

    Args:
        tool: the tool that the call names.
        call: the call.
        context: what the tool may know; goes into its `Context` parameter.
        on_output: called in the caller's task with each part of the output as it comes; must not block.
        timeout_s: how long one try may take, in seconds, if the tool itself does not say; None is no limit.
        threads: where synchronous tools run.

    Returns:
        The result. States: `success`; `error` (the tool raised, the arguments do not fit, the output cannot be sent, the
        call is not runnable); `timed_out`; `not_run` (no thread was free in time). What a tool had given out before it
        failed comes before the error. Metadata: `error_type`, `attempts`, `kept_bytes` and `cut_bytes`, `may_still_run`,
        where they say something.

    Raises:
        UsageError: the tool is external, or its annotations do not do for a tool.
        asyncio.CancelledError: the caller's task was cancelled; a synchronous tool runs on.
    """
    if tool.options.external or tool.function is None:
        raise UsageError(f"tool {tool.name} is external: its result comes from outside", argument="tool")
    if not call.runnable or call.parsed is None:
        return not_runnable_result(call)
    limit_s = timeout_s if tool.options.timeout_s is None else tool.options.timeout_s
    tries = 0
    while True:
        tries += 1
        try:
            # Anew for each try, since a tool may change what it was given.
            keywords = tool.keywords(call.parsed, context)
        except ArgumentsError as error:
            return error_result(call, str(error), error_type="ArgumentsError")
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - a validator is a stranger's code
            return error_result(call, describe(error), error_type=type(error).__name__)
        attempt = _Attempt(tool, keywords, on_output, threads)
        result, is_worth_a_retry = await attempt.run(call, None if limit_s == math.inf else limit_s, tries)
        if not is_worth_a_retry or tries > tool.options.retries:
            return result


class _CarriedError(Exception):
    """Carries what was raised in a thread to the task: raised as itself, a StopIteration or a cancellation would mean something else there."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class _BadOutputError(Exception):
    """The tool gave out what cannot be sent; the text says what."""


class _CallersError(Exception):
    """The caller's `on_output` raised; what it raised goes back to the caller."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class _Ended:
    """The last thing that a thread says: its last output, what is left to do in the loop, or what was raised."""

    def __init__(self, parts: tuple[Part, ...] = (), left: object = None, error: BaseException | None = None) -> None:
        self.parts = parts
        self.left = left
        self.error = error


class _Attempt:
    """One try of one call."""

    def __init__(self, tool: Tool[..., Any], keywords: dict[str, Any], on_output: OnOutput | None, threads: DaemonThreads) -> None:
        self._tool = tool
        self._keywords = keywords
        self._on_output = on_output
        self._threads = threads
        self._output = Output(tool.options.max_output_bytes)
        self._is_shown = False
        self._is_waiting = False  # for a thread
        self._is_in_thread = False
        self._is_abandoned = False

    async def run(self, call: ToolCallPart, limit_s: float | None, tries: int) -> tuple[ToolResultPart, bool]:
        """Run it to its end, or the limit's; return the result, and whether another try makes sense."""
        error: BaseException | None = None
        timer = asyncio.timeout(limit_s)
        try:
            async with timer:
                await self._go()
        except _PASSED_ON:
            raise
        except asyncio.CancelledError as caught:
            if _is_cancelled():
                raise
            error = caught  # the tool's own doing
        except _CarriedError as carried:
            error = carried.error
            if isinstance(error, _PASSED_ON[:2]):
                raise error from None
        except _CallersError as caught:
            raise caught.error from None
        except BaseException as caught:  # noqa: BLE001 - a tool is a stranger's code
            error = caught
        finally:
            self._is_abandoned = True
        state, note, facts = self._judge(error, limit_s, is_expired=timer.expired())
        if tries > 1:
            facts["attempts"] = tries
        can_help = state == "timed_out" or (state == "error" and not isinstance(error, ToolError | _BadOutputError))
        return result_of(call, self._output, state, note, facts), can_help and not self._is_shown

    def _judge(self, error: BaseException | None, limit_s: float | None, *, is_expired: bool) -> tuple[ResultState, str, dict[str, Any]]:
        name = self._tool.name
        if is_expired and self._is_waiting:
            return "not_run", f"{name} was not started within {limit_s:g} s: all {self._threads.limit} threads for tools are busy", {}
        if is_expired:
            note = f"{name} did not finish within {limit_s:g} s"
            return (
                ("timed_out", f"{note}; it may still be running", {"may_still_run": True})
                if self._is_in_thread
                else ("timed_out", note, {})
            )
        if error is None:
            return "success", "", {}
        kind = "UsageError" if isinstance(error, _BadOutputError) else type(error).__name__
        return "error", str(error) if isinstance(error, _BadOutputError) else describe(error), {"error_type": kind}

    async def _go(self) -> None:
        function, keywords = self._tool.function, self._keywords
        assert function is not None
        left: Any = function(**keywords) if is_async(function) else await self._in_thread(lambda: function(**keywords))
        while inspect.isawaitable(left):
            left = await left
        if inspect.isasyncgen(left):
            async with contextlib.aclosing(left):
                async for piece in left:
                    self._show(self._taken(piece))
        elif inspect.isgenerator(left):
            await self._in_thread(lambda: left)
        else:
            self._show(self._taken(left))

    async def _in_thread(self, work: Callable[[], Any]) -> object:
        """Do work in a thread, show what it gives out, and return what only the loop can finish (a coroutine), or None."""
        loop = asyncio.get_running_loop()
        said: asyncio.Queue[tuple[Part, ...] | _Ended] = asyncio.Queue()

        def hear(what: tuple[Part, ...] | _Ended) -> None:
            if self._is_abandoned:
                _drop(what)
            else:
                said.put_nowait(what)

        def say(what: tuple[Part, ...] | _Ended) -> None:
            try:
                loop.call_soon_threadsafe(hear, what)
            except RuntimeError:  # the loop is closed: nobody listens any more
                _drop(what)

        def body() -> None:
            try:
                ended = self._work(work, say)
            except BaseException as error:  # noqa: BLE001 - carried to the task, whatever it is
                ended = _Ended(error=error)
            say(ended)

        self._is_waiting = True
        await self._threads.start(body, f"headrace-tool-{self._tool.name}")
        self._is_waiting, self._is_in_thread = False, True
        try:
            while not isinstance(what := await said.get(), _Ended):
                self._show(what)
        except BaseException:
            self._is_abandoned = True
            while not said.empty():
                _drop(said.get_nowait())
            raise
        self._is_in_thread = False
        if what.error is not None:
            raise what.error if isinstance(what.error, _BadOutputError) else _CarriedError(what.error)
        self._show(what.parts)
        return what.left

    def _work(self, work: Callable[[], Any], say: Callable[[tuple[Part, ...]], None]) -> _Ended:
        value = work()
        if inspect.isawaitable(value) or inspect.isasyncgen(value):
            return _Ended(left=value)
        if not inspect.isgenerator(value):
            return _Ended(self._taken(value))
        with contextlib.closing(value):
            for piece in value:
                if self._is_abandoned:
                    break
                say(self._taken(piece))
        return _Ended()

    def _taken(self, value: object) -> tuple[Part, ...]:
        try:
            return self._output.add(value)
        except UsageError as error:
            raise _BadOutputError(bad_output(self._tool.name, str(error))) from error
        except Exception as error:  # a model's own serialiser is a stranger's code
            raise _BadOutputError(bad_output(self._tool.name, describe(error))) from error

    def _show(self, parts: tuple[Part, ...]) -> None:
        if self._on_output is None:
            return
        for part in parts:
            self._is_shown = True
            try:
                self._on_output(part)
            except Exception as error:
                raise _CallersError(error) from error


def _drop(what: tuple[Part, ...] | _Ended) -> None:
    """Forget what a thread said to nobody; a coroutine that nobody will await is closed."""
    if isinstance(what, _Ended) and inspect.iscoroutine(what.left):
        what.left.close()


def _is_cancelled() -> bool:
    """Return whether somebody cancelled the running task, as opposed to code in it that merely raised CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
