"""The calls of one round: sorted by the gate, run side by side, written down.

The rule of this file: it starts what may start and says what became of each call; what waits for somebody stays behind, with what it
needs to go on. It decides nothing: the gate does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, Final, assert_never, cast

import msgspec

from headrace._json import freeze, thaw
from headrace.agent import gate
from headrace.agent.approval import Answer, Pending, digest_of
from headrace.agent.context.offload import moved_out
from headrace.agent.early import Early
from headrace.agent.events import Event
from headrace.agent.journal import Journal
from headrace.agent.loop import interrupted_result
from headrace.agent.results import result_of
from headrace.agent.run_state import Waiting
from headrace.agent.running import Resumption, Scope, put_out, run_call, settled
from headrace.agent.steps import PlannedCall
from headrace.agent.tool_round import Change, Ended, Forwarded, OnOutput, Output, Progress, Started, Suspended, ToolRound
from headrace.errors import UsageError
from headrace.messages.parts import Part, ToolCallPart, ToolResultPart
from headrace.tools import output
from headrace.tools.resource import resource_of
from headrace.tools.suspend import Suspend
from headrace.tools.tool import Tool

NOTHING_SAID: Final[Mapping[int, gate.HookSaid]] = {}


class Calls:
    """Runs the open calls of the last answer."""

    def __init__(
        self,
        planned: Sequence[PlannedCall],
        scope: Scope,
        *,
        said: Mapping[int, gate.HookSaid] = NOTHING_SAID,
        early: Early | None = None,
    ) -> None:
        """Sort them, and start what may start.

        Args:
            planned: the calls that have no result in the history.
            scope: what they run in.
            said: what hooks say of calls, by their place.
            early: those that started while the answer still streamed.
        """
        self._scope = scope
        self._said = said
        self._early = early
        self._calls = {one.place: one.call for one in planned}
        self._arguments: dict[int, Mapping[str, Any]] = {}
        self._resumptions: dict[int, Resumption] = {}
        self._places: dict[int, int] = {}
        """The places of calls that started early, by those that they have in their round."""
        self._answers: dict[int, ToolResultPart] = {}
        """The results of calls that were run outside."""
        self._changes: deque[Change] = deque()
        self._outgoing: deque[tuple[str, tuple[Part, ...]]] = deque()
        """What is cut of results that nobody ran here, until it is in the store."""
        calls = self._sorted(planned)
        if early is None:
            self._round = ToolRound(calls, self._run, is_parallel=self._is_parallel, limit=scope.limit, resource=self._resource)
        else:
            self._round = early.round
            early.join(calls, self._run, kept=self._places.keys())

    @property
    def error(self) -> BaseException | None:
        """What a call raised although it should not have, or None."""
        return self._round.error

    @property
    def is_over(self) -> bool:
        """Whether every call has its result or waits."""
        return self._round.is_over

    async def wait(self, limit_s: float | None) -> bool:
        """Wait until something has happened; when the time is up, what runs is cancelled. Returns whether it is."""
        while self._outgoing:
            await put_out(self._scope.context, *self._outgoing.popleft())
        if limit_s is None:
            await self._round.wait()
            return False
        try:
            async with asyncio.timeout(limit_s):
                await self._round.wait()
        except TimeoutError:
            await self.cancel()
            return True
        return False

    async def cancel(self) -> None:
        """Cancel what runs."""
        await self._round.cancel()

    def write_down(self) -> None:
        """Write down what has happened; whoever hears of it may ask for the state, and so come here again in the middle."""
        ledger = self._scope.ledger
        self._changes.extend(self._round.taken())
        while self._changes:
            change = self._changes.popleft()
            place = self._places.get(change.place, change.place)
            if place < 0:
                continue  # it started early, and the answer as a whole does not hold it
            match change:
                case Started():
                    self._note_start(place)
                case Output():
                    ledger.tool_output(place, change.part)
                case Progress():
                    ledger.tool_progress(place, change.message, change.done, change.total)
                case Forwarded():
                    ledger.sub_event(place, cast("Event", change.event))
                case Suspended():
                    ledger.wait_for(place, self._waiting(place, change.suspend))
                case Ended(result=result) if place != change.place:  # an id that the wire does not give is made when the answer has ended
                    ledger.tool_ended(place, msgspec.structs.replace(result, call_id=self._calls[place].id))
                case Ended():
                    ledger.tool_ended(place, change.result)
                case _:
                    assert_never(change)
        if self._round.is_over and self._round.error is None:
            self._round.let_go()
            self._early = None

    def _note_start(self, place: int) -> None:
        if place in self._resumptions:
            self._scope.ledger.calls.go_on(place)
        elif place not in self._answers:  # of those nothing runs here
            self._scope.ledger.tool_started(place)

    # ------------------------------------------------------------------------------------------ which run

    def _sorted(self, planned: Sequence[PlannedCall]) -> list[PlannedCall]:
        """Return the calls that run now, and those that have their result already as such."""
        opened = self._scope.ledger.calls
        runs: list[PlannedCall] = []
        closed: list[PlannedCall] = []
        for one in planned:
            if one.place in opened.results:
                continue
            if one.refusal is not None:
                # What had started before the run broke off may have had its effect, also if its tool is gone by now.
                has_run = one.place in opened.started
                closed.append(PlannedCall(one.place, one.call, interrupted_result(one.call, has_started=True)) if has_run else one)
                continue
            if self._has_begun_early(one):
                continue
            match decision := self._decision(one):
                case gate.Go(arguments=arguments):
                    runs.append(one)
                    if arguments is not None:
                        self._arguments[one.place] = arguments
                case gate.Refused(result=result):
                    closed.append(PlannedCall(one.place, one.call, self._short(one.place, result)))
                case gate.Answered(answer=answer, arguments=arguments):
                    self._answers[one.place] = answered(self._tool(one), one.call, answer)
                    runs.append(one)
                    if arguments is not None:
                        self._arguments[one.place] = arguments
                case gate.Waits() | None:
                    pass
                case _:
                    assert_never(decision)
        # What was suspended had started already, so it goes on in any case; what was answered runs no more.
        is_held = bool(opened.waiting.keys() - self._resumptions.keys()) and not self._scope.runs_others
        kept = [one for one in runs if one.place in self._resumptions or one.place in self._answers] if is_held else runs
        return sorted([*kept, *closed], key=lambda one: one.place)

    def _decision(self, planned: PlannedCall) -> gate.Decision | None:
        """Return what the gate says of a call, and write down if it waits; None: it is suspended, and nobody has answered."""
        ledger, place = self._scope.ledger, planned.place
        waiting = ledger.calls.waiting.get(place)
        if waiting is not None and waiting.is_suspended:
            return gate.Go(planned) if self._takes_up(place, waiting) else None
        if (inside := ledger.calls.inside.get(place)) is not None and place in ledger.calls.started:
            self._resumptions[place] = Resumption(inside.state, ())
            return gate.Go(planned, inside.arguments)
        call_key = ledger.call_key(place)
        decision = gate.decide(
            planned,
            self._tool(planned),
            call_key,
            self._scope.permissions,
            run_id=ledger.run_id,
            replies=ledger.calls.replies_to((call_key,)),
            started_after=ledger.calls.started.get(place),
            hook=self._said.get(place),
        )
        if isinstance(decision, gate.Waits):
            ledger.wait_for(place, Waiting((decision.pending,)))
        else:
            ledger.calls.waiting.pop(place, None)
        return decision

    def _takes_up(self, place: int, waiting: Waiting) -> bool:
        """Take up a tool that suspended the run, if one of its questions was answered."""
        ledger = self._scope.ledger
        replies = ledger.calls.take_replies(place, ledger.call_key(place), [question.call_key for question in waiting.pendings])
        if replies:
            self._resumptions[place] = Resumption(waiting.state, replies)
            if waiting.arguments is not None:
                self._arguments[place] = waiting.arguments
        return bool(replies)

    def _waiting(self, place: int, suspend: Suspend) -> Waiting:
        ledger = self._scope.ledger
        call_key = ledger.call_key(place)
        pendings: list[Pending] = []
        for question in suspend.pending:
            if not isinstance(question, Pending):
                what = f"{self._calls[place].name} raised Suspend with a {type(question).__name__}"
                raise UsageError(f"{what}; give the pending calls of another run, or nothing", argument="pending")
            pendings.append(msgspec.structs.replace(question, path=(call_key, *question.path)))
        if not pendings:  # the call itself waits, for a value from outside
            call = self._calls[place]
            digest = digest_of(call_key, call, kind="external", run_id=ledger.run_id, turn=ledger.seq)
            pendings.append(Pending("external", call_key, call, digest, str(suspend)))
        arguments = self._arguments.get(place)
        return Waiting(
            tuple(pendings),
            is_suspended=True,
            state=suspend.state,
            arguments=None if arguments is None else cast("dict[str, Any]", freeze(arguments)),
        )

    def _has_begun_early(self, planned: PlannedCall) -> bool:
        """Take over a call that started early."""
        call_key = self._scope.ledger.call_key(planned.place)
        if self._early is None or not self._early.is_same(call_key, planned.call):
            return False
        self._places[self._early.places[call_key]] = planned.place
        return True

    def _short(self, place: int, result: ToolResultPart) -> ToolResultPart:
        """Return a result that came from outside as it is kept."""
        context, call_key = self._scope.context, self._scope.ledger.call_key(place)
        if context.max_result_tokens is None:
            return result
        short, parts = moved_out(result, context.max_result_tokens, call_key if context.offload is not None else None)
        if parts:
            self._outgoing.append((call_key, parts))
        return short

    # ------------------------------------------------------------------------------------------ running

    async def _run(self, planned: PlannedCall, on_output: OnOutput) -> ToolResultPart:
        place, journal = planned.place, self._scope.journal
        call_key, arguments = self._scope.ledger.call_key(place), self._arguments.get(place)
        if (result := self._answers.get(place)) is not None:
            return await settled(planned.call, call_key, self._scope, result, arguments)

        def run() -> Awaitable[ToolResultPart]:
            return run_call(
                planned.call,
                call_key,
                self._scope,
                on_output=on_output,
                arguments=arguments,
                resumption=self._resumptions.get(place),
                keeper=lambda state: self._scope.ledger.calls.keep(place, state, arguments),
                safeguard=None if journal is None else partial(self._secure, journal),
            )

        if journal is None:
            return await run()
        self.write_down()  # it has started: that is kept before it runs
        return await journal.tool(call_key, planned.call, run)

    async def _secure(self, journal: Journal) -> None:
        self.write_down()
        await journal.commit()

    def _tool(self, planned: PlannedCall) -> Tool[..., Any]:
        return self._scope.tool(planned.call)

    def _is_parallel(self, planned: PlannedCall) -> bool:
        return planned.place in self._answers or self._tool(planned).options.parallel

    def _resource(self, planned: PlannedCall) -> str | None:
        if planned.place in self._answers:
            return None
        return resource_of(self._tool(planned), planned.call, self._arguments.get(planned.place))


def answered(tool: Tool[..., Any], call: ToolCallPart, answer: Answer) -> ToolResultPart:
    """Return the result of a call that was run outside."""
    collected = output.Output(tool.options.max_output_bytes)
    collected.add(thaw(answer.value))
    return result_of(call, collected, "error" if answer.is_error else "success", "", {})
