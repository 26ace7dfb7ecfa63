"""One try of one tool call: where the function runs, what it says meanwhile, how it ended.

The rule of this file: pieces of output and notes reach the listener in the order in which the tool gave them, from whatever thread; once
the try is over nothing more is heard of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from headrace.agent.results import bad_output, describe, result_of
from headrace.agent.threads import DaemonThreads
from headrace.errors import ToolError, UsageError
from headrace.messages.parts import Part, ResultState, ToolCallPart, ToolResultPart
from headrace.tools.notes import ForwardNote, Note, ProgressNote
from headrace.tools.output import Output
from headrace.tools.suspend import Suspend
from headrace.tools.tool import Tool

OnOutput: TypeAlias = Callable[[Part | Note], object]
_PASSED_ON: Final = (KeyboardInterrupt, SystemExit, Suspend)


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


class _Latest:
    """Progress on its way to the loop; until it is heard, or something else was said, the next one takes its place."""

    def __init__(self, note: ProgressNote) -> None:
        self.note = note


_Said: TypeAlias = tuple[Part, ...] | ForwardNote | ProgressNote | _Latest | _Ended


class Attempt:
    """One try of one call."""

    def __init__(self, tool: Tool[..., Any], on_output: OnOutput | None, threads: DaemonThreads) -> None:
        """Do nothing yet; belongs to the running loop."""
        self._tool = tool
        self._on_output = on_output
        self._threads = threads
        self._output = Output(tool.options.max_output_bytes)
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._said: asyncio.Queue[_Said] | None = None  # what a thread has said, while one works
        self._lock = threading.Lock()  # guards the next
        self._latest: _Latest | None = None
        self._callers_error: _CallersError | None = None
        self._is_shown = False
        self._is_waiting = False  # for a thread
        self._is_in_thread = False
        self._is_abandoned = False

    async def run(self, call: ToolCallPart, keywords: dict[str, Any], limit_s: float | None, tries: int) -> tuple[ToolResultPart, bool]:
        """Run it to its end, or the limit's; return the result, and whether another try makes sense.

        Raises:
            Suspend: the tool raised it.
        """
        error: BaseException | None = None
        timer = None if limit_s is None else asyncio.timeout(limit_s)
        try:
            async with timer or contextlib.nullcontext():
                await self._go(keywords)
        except (*_PASSED_ON, GeneratorExit):
            raise
        except asyncio.CancelledError as caught:
            if _is_cancelled():
                raise
            error = caught  # the tool's own doing
        except _CarriedError as carried:
            error = carried.error
            if isinstance(error, _PASSED_ON):
                raise error from None
        except _CallersError as caught:
            raise caught.error from None
        except BaseException as caught:  # noqa: BLE001 - a tool is a stranger's code
            error = caught
        finally:
            self._is_abandoned = True
        if self._callers_error is not None:
            raise self._callers_error.error
        state, note, facts = self._judge(error, limit_s, is_expired=timer is not None and timer.expired())
        if tries > 1:
            facts["attempts"] = tries
        can_help = state == "timed_out" or (state == "error" and not isinstance(error, ToolError | _BadOutputError))
        return result_of(call, self._output, state, note, facts), can_help and not self._is_shown

    def emit(self, note: Note) -> None:
        """Take a note of the tool's, from any thread: the context's `emit`."""
        if threading.get_ident() == self._thread_id:
            self._hear(note)
            return
        with self._lock:
            if isinstance(note, ForwardNote):
                self._latest = None
                self._send(note)
            elif self._latest is not None:
                self._latest.note = note
            else:
                self._latest = _Latest(note)
                self._send(self._latest)

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

    # ------------------------------------------------------------------------------------------ running

    async def _go(self, keywords: dict[str, Any]) -> None:
        function = self._tool.function
        assert function is not None
        left: Any = function(**keywords) if self._tool.is_async else await self._in_thread(lambda: function(**keywords))
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

        def body() -> None:
            try:
                ended = self._work(work)
            except BaseException as error:  # noqa: BLE001 - carried to the task, whatever it is
                ended = _Ended(error=error)
            self._say(ended)

        said = self._said = asyncio.Queue()
        self._is_waiting = True
        await self._threads.start(body, f"headrace-tool-{self._tool.name}")
        self._is_waiting, self._is_in_thread = False, True
        try:
            while not isinstance(what := await said.get(), _Ended):
                self._pass_on(what)
        except BaseException:
            self._is_abandoned = True
            while not said.empty():
                _drop(said.get_nowait())
            raise
        self._said = None
        self._is_in_thread = False
        if what.error is not None:
            raise what.error if isinstance(what.error, _BadOutputError) else _CarriedError(what.error)
        self._show(what.parts)
        return what.left

    def _work(self, work: Callable[[], Any]) -> _Ended:
        value = work()
        if inspect.isawaitable(value) or inspect.isasyncgen(value):
            return _Ended(left=value)
        if not inspect.isgenerator(value):
            return _Ended(self._taken(value))
        with contextlib.closing(value):
            for piece in value:
                if self._is_abandoned:
                    break
                self._say(self._taken(piece))
        return _Ended()

    def _taken(self, value: object) -> tuple[Part, ...]:
        try:
            return self._output.add(value)
        except UsageError as error:
            raise _BadOutputError(bad_output(self._tool.name, str(error))) from error
        except Exception as error:  # a model's own serialiser is a stranger's code
            raise _BadOutputError(bad_output(self._tool.name, describe(error))) from error

    # ------------------------------------------------------------------------------------------ what it says

    def _say(self, what: _Said) -> None:
        """Send something of the thread's own after all progress so far."""
        with self._lock:
            self._latest = None
            self._send(what)

    def _send(self, what: _Said) -> None:
        try:
            self._loop.call_soon_threadsafe(self._hear, what)
        except RuntimeError:  # the loop is closed: nobody listens any more
            _drop(what)

    def _hear(self, what: _Said) -> None:
        if isinstance(what, _Latest):
            with self._lock:
                if self._latest is what:
                    self._latest = None
            what = what.note
        if self._is_abandoned:
            _drop(what)
        elif self._said is not None:
            self._said.put_nowait(what)
        else:
            # Here the tool's own code, or the loop, is what calls: the error is kept for the task.
            try:
                self._pass_on(what)
            except _CallersError as error:
                self._callers_error = self._callers_error or error

    def _pass_on(self, what: _Said) -> None:
        if isinstance(what, tuple):
            self._show(what)
        elif isinstance(what, ForwardNote):
            self._is_shown = True
            self._tell(what)
        elif isinstance(what, ProgressNote):
            self._tell(what)

    def _show(self, parts: tuple[Part, ...]) -> None:
        for part in parts if self._on_output is not None else ():
            self._is_shown = True
            self._tell(part)

    def _tell(self, what: Part | Note) -> None:
        if self._on_output is None:
            return
        try:
            self._on_output(what)
        except Exception as error:
            raise _CallersError(error) from error


def _drop(what: _Said) -> None:
    """Forget what a thread said to nobody; a coroutine that nobody will await is closed."""
    if isinstance(what, _Ended) and inspect.iscoroutine(what.left):
        what.left.close()


def _is_cancelled() -> bool:
    """Return whether somebody cancelled the running task, as opposed to code in it that merely raised CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
