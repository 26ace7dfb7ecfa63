"""The driver of one run: does what the loop says, one step at a time.

The rule of this file: it waits (for the model, the tools, the session) and decides nothing: `loop.py` says what is next, `ledger.py`
writes down what happened. Each step waits for one thing, so a run can be left between any two events; `abort` and `fail` end it from
wherever it stands.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from headrace.agent.events import Event
from headrace.agent.execution import run_tool
from headrace.agent.ledger import Ledger, steering
from headrace.agent.loop import AddReminder, CallModel, Fail, Finish, PlannedCall, Rules, RunTools
from headrace.agent.run_result import RunResult
from headrace.agent.session import Keep, SessionStore, kept
from headrace.agent.tool_round import Ended, OnOutput, Output, Started, ToolRound
from headrace.errors import APIError, HeadraceError, StateError, UsageError
from headrace.messages.deltas import Restarted
from headrace.messages.fields import Content, GenerateReason
from headrace.messages.message import AssistantMessage, Message, SystemMessage, UserMessage
from headrace.messages.parts import ToolResultPart
from headrace.messages.request import Settings, ToolSpec
from headrace.models.answer import AnswerStream, AttemptDiscarded, ModelLike, StreamItem
from headrace.tools.context import Context
from headrace.tools.toolset import Toolset

_Phase: TypeAlias = Literal["new", "ready", "answer", "tools", "over"]


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of an agent share; made once, so that encoders recognise what they have encoded before."""

    model: ModelLike
    tools: Toolset
    specs: tuple[ToolSpec, ...]
    instructions: SystemMessage | None
    rules: Rules
    settings: Settings
    max_parallel_tools: int
    tool_timeout_s: float | None
    new_id: Callable[[], str]
    now: Callable[[], datetime]


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """What one run is about.

    Attributes:
        input: the messages that it adds first.
        history: what was said before and is not kept again.
        store, session_id: where the conversation is kept; None: nowhere.
        keep: what is kept of it.
        deps: for the tools.
    """

    input: tuple[Message, ...]
    history: tuple[Message, ...] = ()
    store: SessionStore | None = None
    session_id: str | None = None
    keep: Keep = "rounds"
    deps: Any = None


class Engine:
    """One run.

    Attributes:
        made: the events that were made and not taken yet.
        result: what the run gave, once it is over.
        failure: what the run failed with, to be raised when the events were taken.
    """

    def __init__(self, setup: Setup, talk: Talk, *, sink: Callable[[Event], object] | None = None) -> None:
        """Do nothing yet."""
        self.run_id = setup.new_id()
        self.result: RunResult | None = None
        self.failure: Exception | None = None
        self._setup = setup
        self._talk = talk
        self._ledger = Ledger(self.run_id, setup.rules, sink=sink)
        self.made = self._ledger.made
        self._phase: _Phase = "new"
        self._before: list[Message] = [] if setup.instructions is None else [setup.instructions]
        self._before += talk.history
        self._steers: deque[UserMessage] = deque()
        self._stream: AnswerStream | None = None
        self._items: AsyncIterator[StreamItem] | None = None
        self._is_forced = False
        self._round: ToolRound | None = None
        self._is_interrupted = False
        self._waiter: asyncio.Task[Any] | None = None
        self._is_cancel_sent = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self._phase == "over"

    # ------------------------------------------------------------------------------------------ from outside

    def steer(self, content: Content | UserMessage) -> None:
        """Put words in before the next model call.

        Raises:
            StateError: there will be none.
        """
        if self._ledger.has_answered or self.is_over:
            raise StateError("the run has given its final answer; start another one with these words")
        self._steers.append(steering(content, self._setup.new_id, self._setup.now()))

    def interrupt(self) -> None:
        """End the run as soon as possible: what it waits for is given up."""
        self._is_interrupted = True
        waiter = self._waiter
        # A callback of the step that runs just now must not cancel itself: the flag is looked at before the next step.
        if waiter is not None and not self._is_cancel_sent and waiter is not asyncio.current_task():
            self._is_cancel_sent = waiter.cancel()

    async def step(self) -> None:
        """Do the next thing; events, the result or a failure may come of it.

        Raises:
            asyncio.CancelledError: the task was cancelled; what had come is kept.
            ConflictError: another run works on the session; nothing happened.
        """
        if self._is_interrupted:
            await self.abort()
            return
        task = self._waiter = asyncio.current_task()
        try:
            # Most steps read a chunk; they skip the table, and with it a coroutine.
            await (self._read() if self._phase == "answer" else self._advance())
        except asyncio.CancelledError:
            is_ours = self._take_back(task)
            await self.abort()
            if not is_ours:
                raise
        except Exception as error:  # noqa: BLE001 - a model may be a stranger's code; it is raised again when the events were taken
            self._take_back(task)
            await self._fail(error)
        finally:
            self._waiter = None

    def _take_back(self, task: asyncio.Task[Any] | None) -> bool:
        """Take back the cancellation that `interrupt` sent; return whether there was one and no other."""
        self._waiter = None
        if not self._is_cancel_sent or task is None:
            return False
        self._is_cancel_sent = False
        return task.uncancel() == 0

    async def abort(self) -> None:
        """End the run where it stands, as interrupted unless its answer had been given."""
        if self._phase in ("new", "over"):
            self._phase = "over"
            return
        try:
            await self._let_go()
        finally:
            self._wind_up("interrupted")
            match self._ledger.loop.next:
                case Finish(generate_reason=reason):
                    await self._finish(reason)
                case Fail():
                    await self._finish("error")
                case _:
                    await self._finish("interrupted")

    async def _fail(self, error: Exception) -> None:
        if self._phase in ("new", "over"):
            self._phase = "over"
            raise error
        is_the_models = isinstance(error, HeadraceError) and not isinstance(error, UsageError)
        is_forced_answer = self._phase == "answer" and self._is_forced and is_the_models
        try:
            await self._let_go()
        finally:
            # An answer that was forced ends the run also when it fails; the loop says how.
            self._wind_up(None if is_forced_answer else "error", error)
            if not is_forced_answer:
                self._ledger.fail(error)
                await self._finish("error")
                self.failure = error
                if isinstance(error, HeadraceError):
                    error.result = self.result

    # ------------------------------------------------------------------------------------------ one step

    async def _advance(self) -> None:
        match self._phase:
            case "tools":
                await self._work()
            case "ready":
                await self._decide()
            case "new":
                await self._begin()
            case "answer" | "over":
                raise StateError("the run is over")
            case _:
                assert_never(self._phase)

    async def _begin(self) -> None:
        talk = self._talk
        if talk.store is not None and talk.session_id is not None:
            self._before += await talk.store.begin(talk.session_id)
        self._phase = "ready"
        self._ledger.at = self._setup.now()
        self._ledger.begin(talk.input)

    async def _decide(self) -> None:
        ledger, setup = self._ledger, self._setup
        ledger.at = setup.now()
        step = ledger.loop.next
        match step:
            case CallModel(is_forced=is_forced):
                await self._call_model(is_forced=is_forced)
            case RunTools(calls=calls):
                self._phase = "tools"
                self._round = ToolRound(calls, self._run_call(), is_parallel=self._is_parallel, limit=setup.max_parallel_tools)
            case AddReminder(kind=kind, text=text):
                ledger.put_in(UserMessage(text, id=setup.new_id(), created_at=ledger.at, origin="framework", reminder_kind=kind))
            case Finish(generate_reason=reason):
                if self._steers and ledger.loop.is_answered:
                    self._put_in_steers()
                else:
                    await self._finish(reason)
            case Fail(message=message):
                word = message.finish_reason_raw or "error"
                raise APIError(f"the model ended its answer with {word!r}", code=word, partial=message)
            case _:
                assert_never(step)

    def _put_in_steers(self) -> None:
        while self._steers:
            self._ledger.put_in(self._steers.popleft())

    async def _call_model(self, *, is_forced: bool) -> None:
        setup, ledger = self._setup, self._ledger
        self._put_in_steers()
        ledger.start_round(setup.model.id, setup.new_id())
        self._is_forced = is_forced
        self._stream = self._items = None
        self._phase = "answer"
        self._stream = setup.model.stream(
            [*self._before, *ledger.messages],
            tools=setup.specs,
            tool_choice="none" if is_forced and setup.specs else "auto",
            settings=setup.settings,
        )
        self._items = aiter(await self._stream.__aenter__())

    async def _read(self) -> None:
        assert self._items is not None
        assert self._stream is not None
        try:
            item = await anext(self._items)
        except StopAsyncIteration:
            await self._let_go()
            self._phase = "ready"
            self._ledger.at = self._setup.now()
            self._ledger.end_answer(self._stream.message, is_steered=bool(self._steers))
            return
        self._ledger.at = self._setup.now()
        if isinstance(item, AttemptDiscarded):
            self._ledger.discard(item.attempt, item.reason, self._setup.new_id())
            return
        deltas = item.deltas
        for n, delta in enumerate(deltas):
            if type(delta) is Restarted:  # the wire's own way to say that what came is void
                self._ledger.blocks.feed(deltas[:n])
                attempt = len(self._stream.attempts) + 1
                self._ledger.discard(attempt, "the provider began the message anew", self._setup.new_id())
                deltas = deltas[n + 1 :]
                break
        self._ledger.blocks.feed(deltas)

    async def _work(self) -> None:
        assert self._round is not None
        await self._round.wait()
        self._note_changes(self._round)
        if self._round.error is not None:
            raise self._round.error
        if self._round.is_over:
            self._phase = "ready"
            self._ledger.close_calls()

    def _note_changes(self, tools: ToolRound) -> None:
        self._ledger.at = self._setup.now()
        for change in tools.taken():
            match change:
                case Started():
                    self._ledger.tool_started(change.place)
                case Output():
                    self._ledger.tool_output(change.place, change.part)
                case Ended():
                    self._ledger.tool_ended(change.place, change.result)
                case _:
                    assert_never(change)

    # ------------------------------------------------------------------------------------------ tools

    def _run_call(self) -> Callable[[PlannedCall, OnOutput], Any]:
        setup, ledger, deps = self._setup, self._ledger, self._talk.deps
        messages = (*self._before, *ledger.messages)  # once for all calls of the round

        async def run(planned: PlannedCall, on_output: OnOutput) -> ToolResultPart:
            call = planned.call
            context = Context(
                deps=deps,
                run_id=self.run_id,
                round=ledger.round,
                call_key=ledger.call_key(planned.place),
                call_id=call.id,
                tool_name=call.name,
                messages=messages,
            )
            return await run_tool(setup.tools[call.name], call, context, on_output=on_output, timeout_s=setup.tool_timeout_s)

        return run

    def _is_parallel(self, planned: PlannedCall) -> bool:
        return self._setup.tools[planned.call.name].options.parallel

    # ------------------------------------------------------------------------------------------ ending

    async def _let_go(self) -> None:
        """Give up what the run waits for: close the stream, cancel the tools and await them."""
        if self._phase == "answer" and self._stream is not None:
            await self._stream.__aexit__(None, None, None)
        elif self._phase == "tools" and self._round is not None:
            await self._round.cancel()

    def _wind_up(self, mark: GenerateReason | None, error: Exception | None = None) -> None:
        """Make the history legal, wherever the run stands: keep what came, marked, and give every open call a result."""
        self._ledger.at = self._setup.now()
        if self._phase == "answer":
            self._ledger.break_off(self._broken_off(error), mark, error)
        elif self._phase == "tools" and self._round is not None:
            self._note_changes(self._round)
        self._phase = "ready"
        self._ledger.close_calls()

    def _broken_off(self, error: Exception | None) -> AssistantMessage:
        """Return the answer as far as it came.

        What a stream still held back when it was left was never shown, so it does not count; after a failure all was shown.
        """
        blocks = self._ledger.blocks
        if self._stream is None or self._items is None:
            return blocks.snapshot()
        message = self._stream.message
        if error is not None and blocks.is_made_of(message):
            return message
        return msgspec.structs.replace(message, parts=blocks.snapshot().parts)

    async def _finish(self, reason: GenerateReason) -> None:
        talk, ledger = self._talk, self._ledger
        added = tuple(ledger.messages)
        self._phase = "over"
        self.result = RunResult(
            run_id=self.run_id,
            session_id=talk.session_id,
            message=ledger.last or AssistantMessage.assemble(run_id=self.run_id, generate_reason=reason),
            messages=added,
            generate_reason=reason,
            usage=ledger.usage,
            rounds=ledger.round,
            undelivered=tuple(self._steers),
        )
        try:
            if talk.store is not None and talk.session_id is not None:
                await talk.store.commit(talk.session_id, kept(added, talk.keep))
        finally:
            ledger.end(reason)
