"""The driver of one run: does what the loop says, one step at a time.

The rule of this file: it waits (for the model, the tools, the session, hooks) and decides nothing: `loop.py` says what is next, `ledger.py`
writes down what happened. Each step waits for one thing, so a run can be left between any two events; `abort` and `fail` end it from
wherever it stands.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias, assert_never

from headrace.agent.calls import Calls
from headrace.agent.events import Event
from headrace.agent.gate import HookSaid
from headrace.agent.given import steering
from headrace.agent.heard import Heard
from headrace.agent.hooks import Stop
from headrace.agent.interruption import Interruption
from headrace.agent.listening import Listening
from headrace.agent.run_result import RunResult
from headrace.agent.setup import Setup, Talk
from headrace.agent.standing import Standing
from headrace.agent.steps import AddReminder, CallModel, Fail, Finish, PlannedCall, RunTools
from headrace.agent.to_the_end import to_the_end
from headrace.errors import HeadraceError, StateError, StoreError, UsageError
from headrace.messages.fields import Content, GenerateReason
from headrace.messages.message import Message, UserMessage

_Phase: TypeAlias = Literal["new", "ready", "answer", "tools", "over"]


class Engine:
    """One run.

    Attributes:
        made: the events that were made and not taken yet.
        result: what the run gave, once it is over.
        wanted: the type of the answer, or None for text.
        failure: what the run failed with, to be raised when the events were taken.
    """

    def __init__(self, setup: Setup, talk: Talk, *, sink: Callable[[Event], object] | None = None) -> None:
        """Do nothing yet."""
        self.wanted = setup.rules.wanted
        self.result: RunResult | None = None
        self.failure: Exception | None = None
        self._setup = setup
        self._talk = talk
        self._run = Standing(setup, talk, sink=sink)
        self._ledger = self._run.ledger
        self.run_id = self._run.run_id
        self.made: deque[Event] = self._ledger.made
        self._hooked = self._run.hooked
        self._listening = Listening(setup, self._run)
        self._phase: _Phase = "new"
        self._calls: Calls | None = None
        self._interruption = Interruption()
        if talk.journal is not None:
            talk.journal.attach(lambda: self.state)

    @property
    def is_answering(self) -> bool:
        """Whether the next step reads the model's answer."""
        return self._phase == "answer"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self._phase == "over"

    @property
    def state(self) -> RunResult:
        """The run as it stands, the events in `made` included; once it is over, its result."""
        if self.result is not None:
            return self.result
        if self._phase == "new":
            raise StateError("the run has not begun, so it has no state; read its first event")
        if self._phase == "tools" and self._calls is not None:
            self._calls.write_down()  # tools run on while nobody reads; what has started must be known to have
        return self._run.result(None)

    def steer(self, content: Content | UserMessage) -> None:
        """Put words in before the next model call; a `StateError` if there will be none."""
        if self.result is not None and self.result.is_waiting:
            raise StateError("the run waits for answers; go on with agent.resume_stream(…) and steer that")
        if self._ledger.has_answered or self.is_over:
            raise StateError("the run has given its final answer; start another one with these words")
        self._run.steers.append(steering(content, self._setup.new_id, self._setup.now()))

    def interrupt(self) -> None:
        """End the run as soon as possible: what it waits for is given up."""
        self._interruption.ask()

    def unwatch(self) -> None:
        """Nobody takes the events as they come: a step may do more at once."""
        self._ledger.unwatch()

    async def step(self) -> None:
        """Do the next thing; events, the result or a failure may come of it.

        Raises:
            asyncio.CancelledError: the task was cancelled; what had come is kept.
            ConflictError: another run works on the session; nothing happened.
        """
        interruption = self._interruption
        if interruption.is_asked:
            await self.abort(is_begun=True)
            return
        interruption.enter()
        try:
            # Most steps read a chunk; they skip the table, and with it a coroutine.
            if self._phase != "answer":
                await self._advance()
            elif (heard := await self._listening.read()) is not None:
                await self._hear(heard)
        except asyncio.CancelledError:
            is_ours = interruption.take_back()
            await self.abort(is_begun=is_ours)
            if not is_ours:
                raise
        except (KeyboardInterrupt, SystemExit):
            await self.abort()
            raise
        except Exception as error:  # noqa: BLE001 - a model may be a stranger's code; it is raised again when the events were taken
            interruption.take_back()
            await self._fail(error)
        finally:
            interruption.leave()

    async def abort(self, *, is_begun: bool = False) -> None:
        """End the run where it stands, as interrupted unless its answer had been given.

        One that has not begun never begins, unless `is_begun`: then its input is kept and its open calls are closed.
        """
        if self._phase == "new" and is_begun:
            try:
                await self._begin(is_ending=True)
            except BaseException:
                await self.abort()
                raise
        if self._phase == "new":
            self._phase = "over"
            await to_the_end(self._run.put_back())
        if self._phase == "over":
            return
        try:
            await self._let_go()
        finally:
            self._wind_up("interrupted")
            step = self._ledger.loop.next
            other: GenerateReason = "error" if isinstance(step, Fail) else "interrupted"
            await self._finish(step.generate_reason if isinstance(step, Finish) else other)

    async def give_up(self) -> None:
        """Begin, and end at once: a run that waited gets its calls closed."""
        await self.abort(is_begun=True)

    async def _fail(self, error: Exception) -> None:
        if self._phase in ("new", "over"):
            await self.abort()
            raise error
        is_on_its_way = self._phase == "answer" and self._listening.is_open
        is_the_models = is_on_its_way and isinstance(error, HeadraceError) and not isinstance(error, UsageError)
        is_forced_answer = self._listening.is_forced and is_the_models and error is not self._hooked.raised
        try:
            await self._let_go()
        finally:
            # An answer that was forced ends the run also when it fails; the loop says how.
            self._wind_up(None if is_forced_answer else "error", error)
            if not is_forced_answer:
                self.failure = error
                self._ledger.fail(error)
                await self._finish("error")

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

    async def _begin(self, *, is_ending: bool = False) -> None:
        run, talk = self._run, self._talk
        given: tuple[Message, ...] | Stop = talk.input
        failure: BaseException | None = None
        await run.take_up(has_sources=not is_ending)
        if self._hooked.table.before_run and talk.saved is None and not is_ending:
            try:
                given = await self._hooked.input(talk.input)
            except BaseException as error:  # noqa: BLE001 - a hook is a stranger's code; the run begins, so that it can end with the error
                failure = error
        run.begin(talk.input if isinstance(given, Stop) else given)
        self._phase = "ready"
        if failure is not None:
            raise failure
        if is_ending:
            return
        run.first_offer()
        if isinstance(given, Stop):
            await self._stop(given)

    async def _decide(self) -> None:
        run, ledger = self._run, self._ledger
        run.tick()
        step = ledger.loop.next
        match step:
            case CallModel(is_forced=is_forced):
                await self._call_model(is_forced=is_forced)
            case RunTools(calls=calls):
                await self._run_tools(calls)
            case AddReminder(kind=kind, text=text):
                ledger.put_in(run.own_words(kind, text))
            case Finish(generate_reason=reason):
                if run.steers and ledger.loop.is_answered:
                    run.put_in_steers()
                else:
                    await self._finish(reason)
            case Fail():
                raise step.error
            case _:
                assert_never(step)

    # ------------------------------------------------------------------------------------------ the model

    async def _call_model(self, *, is_forced: bool) -> None:
        run = self._run
        if self._hooked.table.before_round and (stop := await self._hooked.stops("before_round")):
            await self._stop(stop)
            return
        run.put_in_steers()
        call = await self._listening.call(is_forced=is_forced)
        if isinstance(call, Stop):
            await self._stop(call)
            return
        self._ledger.start_round(self._setup.model.id, self._setup.new_id())
        self._phase = "answer"
        await self._listening.begin(call)

    async def _hear(self, heard: Heard | Stop) -> None:
        """The answer is whole, or a hook ends the run in its place."""
        if isinstance(heard, Stop):
            self._wind_up("stopped")  # the round had begun
            await self._stop(heard)
            return
        self._phase = "ready"
        self._ledger.end_answer(heard.message, is_steered=bool(self._run.steers))
        stop = heard.stop
        if stop is None and self._hooked.table.after_round and not self._ledger.loop.has_open_calls:
            stop = await self._hooked.stops("after_round", self._ledger.last)
        if stop is not None:
            await self._stop(stop)

    # ------------------------------------------------------------------------------------------ the tools

    async def _run_tools(self, calls: tuple[PlannedCall, ...]) -> None:
        said: dict[int, HookSaid] | Stop = {}
        if self._hooked.table.before_tool_call:
            free = [one for one in calls if one.refusal is None and not self._ledger.calls.is_under_way(one.place)]
            said = await self._hooked.calls(free)
        if isinstance(said, Stop):
            await self._stop(said)
            return
        self._phase = "tools"
        self._calls = Calls(calls, self._run.scope(), said=said, early=self._listening.take_early())

    async def _work(self) -> None:
        calls, ledger = self._calls, self._ledger
        assert calls is not None
        is_time_up = await calls.wait(ledger.loop.time_left_s)
        self._run.tick(is_time_up=is_time_up)
        calls.write_down()
        if calls.error is not None:
            raise calls.error
        if not calls.is_over and not ledger.loop.used.is_late:
            return
        self._phase = "ready"
        if ledger.calls.waiting and not ledger.loop.used.is_late:
            await self._pause()
            return
        ledger.close_calls(is_late=ledger.loop.used.is_late)
        if self._hooked.table.after_round and (stop := await self._hooked.stops("after_round", ledger.last)):
            await self._stop(stop)

    # ------------------------------------------------------------------------------------------ ending

    async def _let_go(self) -> None:
        """Give up what the run waits for: close the stream, cancel the tools and await them."""
        if self._phase == "answer":
            await self._listening.let_go()
        else:
            await self._listening.drop_early()
        if self._phase == "tools" and self._calls is not None:
            await self._calls.cancel()

    def _wind_up(self, mark: GenerateReason | None, error: Exception | None = None) -> None:
        """Make the history legal, wherever the run stands: keep what came, marked, and give every open call a result."""
        self._ledger.at = self._setup.now()
        if self._phase == "answer" and (message := self._listening.broken_off(error)) is not None:
            self._ledger.break_off(message, mark, error)
        elif self._phase == "tools" and self._calls is not None:
            self._calls.write_down()
        self._phase = "ready"
        self._ledger.close_calls()

    async def _pause(self) -> None:
        """The run waits for somebody; its state says for what."""
        await self._run.let_go()  # first: if that is cancelled, nobody gets the state, and the run ends
        kinds = {pending.kind for pending in self._ledger.pending}
        reason: GenerateReason = "awaiting_external" if kinds == {"external"} else "awaiting_approval"
        self._phase = "over"
        self._ledger.end(reason, self._run.result(reason).message)
        self.result = self._run.result(reason)

    async def _stop(self, stop: Stop) -> None:
        """A hook ends the run."""
        self._ledger.close_calls(f"Not run: the run was stopped. {stop.reason}".rstrip())
        await self._finish("stopped")

    async def _finish(self, reason: GenerateReason) -> None:
        run, ledger = self._run, self._ledger
        lost: Exception | None = None
        try:
            await self._listening.drop_early()
            if run.journal is not None:  # a result is nothing to go on from; what led to it is kept first
                await to_the_end(run.commit())
        except StoreError as error:
            lost = error
        finally:
            self._phase = "over"
            self.result = run.result(reason)  # there even if what follows is cancelled
            try:
                # Who has lost the run leaves its conversation alone.
                await (run.keep() if lost is None else run.let_go())
            except Exception as error:  # noqa: BLE001 - a store may be a stranger's code
                lost = error
            finally:
                if lost is not None:
                    reason = "error"
                    self.failure = self.failure or lost  # the run's own failure comes first
                    if self.failure is lost:
                        ledger.fail(lost)
                    self.result = run.result(reason)
                if isinstance(self.failure, HeadraceError):
                    self.failure.result = self.result
                ledger.end(reason, self.result.message if ledger.last is not None else None)
