"""The ledger of one run: what it stored, and the events that tell of it.

The rule of this file: what changes the history and the events that say so are made in one go, without waiting in between. So wherever a
run is left both say the same, and `close_calls` makes a legal history of it. Pure: times and ids come in.

What is open in the present round (results that are there, calls that started or wait, what was answered) is `calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from headrace.agent import events
from headrace.agent.approval import Pending, Reply
from headrace.agent.blocks import Blocks, Scribe
from headrace.agent.events import Event
from headrace.agent.failure import is_retryable, kind_of
from headrace.agent.fold import results_message
from headrace.agent.loop import Loop, interrupted_result
from headrace.agent.open_calls import OpenCalls
from headrace.agent.results import error_result
from headrace.agent.run_state import Open, Waiting
from headrace.agent.spending import Spending
from headrace.agent.steps import PlannedCall, Rules, RunTools
from headrace.messages.copying import changed
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage, Message, UserMessage
from headrace.messages.parts import Part, ToolResultPart
from headrace.messages.usage import Usage
from headrace.models.script import chunks_of

_TYPED: Final = ("structured_output", "max_rounds", "limit")


class Ledger:
    """What a run has stored so far.

    Attributes:
        run_id: the run.
        loop: what comes next.
        messages: what the run added, in order.
        last: the last assistant message, or None.
        blocks: of the answer on its way.
        calls: what is open in the present round.
        made: the events that were made and not taken yet.
        spending: what it used.
        has_answered: the final answer has been given.
    """

    def __init__(self, run_id: str, rules: Rules, *, sink: Callable[[Event], object] | None = None) -> None:
        """Start with nothing."""
        self.run_id = run_id
        self.loop = Loop(rules)
        self.messages: list[Message] = []
        self.last: AssistantMessage | None = None
        self.has_answered = False
        self.calls = OpenCalls()
        self.spending = Spending(self.loop.used)
        self._rules = rules
        self._scribe = Scribe(run_id, sink=sink)
        self.made = self._scribe.made
        self.blocks = Blocks("", self._scribe)
        self._is_answering = False
        self._asks_again = False
        self._call_keys: tuple[str, ...] = ()

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._scribe.seq

    @property
    def is_unseen(self) -> bool:
        """Whether nobody sees the events, neither as they are made nor afterwards."""
        return self._scribe.is_unseen

    @property
    def is_watched(self) -> bool:
        """Whether somebody takes the events as they come."""
        return self._scribe.is_watched

    def unwatch(self) -> None:
        """Nobody takes events: `made` stays empty, and only the sink gets them."""
        self._scribe.is_watched = False

    @property
    def usage(self) -> Usage:
        """The sum over the rounds, those of sub-agents included."""
        return self.spending.total

    @property
    def round(self) -> int:
        """The round, from 1; 0 before the first."""
        return self._scribe.round

    @property
    def at(self) -> datetime:
        """The time that events get."""
        return self._scribe.at

    @at.setter
    def at(self, at: datetime) -> None:
        self._scribe.at = at

    # ------------------------------------------------------------------------------------------ messages

    def begin(self, given: Sequence[Message]) -> None:
        """The run starts with these messages."""
        self._scribe.add(events.RunStarted, tuple(given))
        # What it is given may be a whole conversation: its answers are none of the run's, and use up none of its limits.
        self.messages.extend(given)

    def restore(self, messages: Sequence[Message], open_: Open) -> None:
        """Go on where a state was taken: no event says so, but an answer that was on its way is void."""
        for message in messages:
            if isinstance(message, AssistantMessage) and message.run_id == self.run_id:
                self.last = message
            if self.last is None:
                self.messages.append(message)  # the input
            else:
                self._keep(message)
        self._scribe.seq, self._scribe.round = open_.seq, open_.round
        self.loop.used.add_beside(open_.beside_tokens, open_.beside_cost_usd)
        self.spending = Spending(self.loop.used, open_.own_usage, open_.sub_usage)
        self._call_keys = open_.call_keys
        self.calls.restore(open_)
        if open_.answering is not None:
            self._asks_again = True
            self._scribe.add(events.AttemptDiscarded, open_.answering, 1, "the run broke off and goes on in another place")

    def opened(self, **fields: Any) -> Open:
        """Return what is open; the other fields are those that the ledger does not know."""
        calls = self.calls
        return Open(
            seq=self._scribe.seq,
            round=self._scribe.round,
            answering=self.blocks.message_id if self._is_answering else None,
            call_keys=self._call_keys,
            results=dict(calls.results),
            results_at=calls.results_at,
            started={place: count for place, count in sorted(calls.started.items()) if place not in calls.results},
            inside=calls.kept(),
            waiting=dict(calls.waiting),
            replies=tuple(calls.replies),
            own_usage=self.spending.own,
            sub_usage=dict(self.spending.sub),
            beside_tokens=self.loop.used.beside_tokens,
            beside_cost_usd=self.loop.used.beside_cost_usd,
            **fields,
        )

    def put_in(self, message: UserMessage) -> None:
        """A message goes in before the next model call."""
        self._keep(message)
        self._scribe.add(events.ReminderAdded, message)

    def _keep(self, message: Message) -> None:
        self.messages.append(message)
        self.loop.feed(message)

    def compacted(self, before: int, after: int, detail: str) -> None:
        """What is sent was made shorter."""
        self._scribe.add(events.ContextCompacted, before, after, detail)

    def tools_changed(self, names: Sequence[str], detail: str) -> None:
        """Other tools are offered from now on."""
        self._scribe.add(events.ToolsChanged, tuple(names), detail)

    # ------------------------------------------------------------------------------------------ the model's answer

    def start_round(self, model: str, message_id: str) -> None:
        """A model is about to be called; its answer gets this id. An answer that is asked for again belongs to the same round."""
        if self._asks_again:
            self._asks_again, self._is_answering = False, True
            self.blocks = Blocks(message_id, self._scribe)
            return
        self.reach_limit()
        self._scribe.round += 1
        self.blocks = Blocks(message_id, self._scribe)
        self._is_answering = True
        self._scribe.add(events.RoundStarted, model)

    def reach_limit(self) -> None:
        """If a budget is used up, say so: the next answer is the last one."""
        spent = self.loop.spent
        if spent is not None:
            self._scribe.add(events.LimitReached, spent, self.loop.limit_of(spent))

    def discard(self, attempt: int, reason: str, message_id: str) -> None:
        """What came is void, and the model is asked again; the new answer gets this id."""
        self.blocks.end(self.blocks.snapshot())
        self._scribe.add(events.AttemptDiscarded, self.blocks.message_id, attempt, reason)
        self.blocks = Blocks(message_id, self._scribe)

    def discard_whole(self, message: AssistantMessage, attempt: int, reason: str, message_id: str) -> None:
        """An answer that came whole is void, and the model is asked again; what it used counts."""
        self.spending.add_beside(message)
        self.discard(attempt, reason, message_id)

    def replace_answer(self, message: AssistantMessage, attempt: int, message_id: str) -> AssistantMessage:
        """What came is void: another message takes its place, and readers see it. Returns the message as its blocks have it."""
        self.discard(attempt, "the answer was replaced", message_id)
        for chunk in chunks_of(message):
            self.blocks.feed(chunk.deltas)
        return msgspec.structs.replace(message, parts=self.blocks.snapshot().parts)

    def end_answer(self, message: AssistantMessage, *, is_steered: bool) -> None:
        """The model's answer is whole: keep it.

        Args:
            message: the answer; the parts of blocks are those that were streamed.
            is_steered: words are waiting that lead to another round if the loop allows one.
        """
        self._end_answer(message, is_steered=is_steered)

    def break_off(self, message: AssistantMessage, mark: GenerateReason | None, error: Exception | None = None) -> None:
        """The model's answer broke off: keep what came, marked, with the error beside it; of nothing nothing is kept.

        Args:
            message: the answer as far as it came.
            mark: why; None where the loop decides, as for a forced answer, which ends the run as well if it fails.
            error: what it broke off with.
        """
        if error is not None:
            said = {"error": {"kind": kind_of(error), "message": str(error)}}
            message = msgspec.structs.replace(message, metadata={**message.metadata, **said})
        if mark is not None and not message.parts:
            self.spending.add(message.usage)
            self.has_answered = True
            self._is_answering = False
            self._scribe.add(events.RoundEnded, None, message.usage, True)
        else:
            self._end_answer(msgspec.structs.replace(message, generate_reason=mark), is_steered=False)

    def _end_answer(self, message: AssistantMessage, *, is_steered: bool) -> None:
        blocks, metadata = self.blocks, message.metadata
        message = msgspec.structs.replace(
            message,
            parts=message.parts if blocks.is_made_of(message) else blocks.snapshot().parts,
            id=blocks.message_id,
            run_id=self.run_id,
            created_at=message.created_at or self._scribe.at,
            metadata=metadata if message.id is None else {**metadata, "response_id": message.id},
        )
        reason, spent = self.loop.judge(message), self.loop.spent
        output = self.loop.output_of(message) if reason in _TYPED else None
        message = changed(message, generate_reason=reason)
        if output is not None:
            message = message.replace(structured_output=output.value)
        blocks.end(message)
        if reason == "limit" and spent is None:
            self._scribe.add(events.LimitReached, "pauses", self._rules.max_pauses)
        self.spending.add(message.usage)
        self._is_answering, self._call_keys = False, blocks.call_keys
        self.last = message
        self._keep(message)
        for tool in self.loop.tools_spent:
            self._scribe.add(events.LimitReached, "tool_calls", self._rules.limits.calls_per_tool[tool], tool)
        self.has_answered = self.loop.is_final and not (is_steered and self.loop.is_answered)
        self._scribe.add(events.RoundEnded, message, message.usage, self.has_answered)

    # ------------------------------------------------------------------------------------------ tools

    def call_key(self, place: int) -> str:
        """Return the key of one of the last answer's calls."""
        return self._call_keys[place]

    def tool_started(self, place: int) -> None:
        """A call is about to run."""
        self.calls.start(place, self.call_key(place))
        self._scribe.add(events.ToolStarted, self.call_key(place))

    def tool_output(self, place: int, part: Part) -> None:
        """A call gave out a piece."""
        self._scribe.add(events.ToolOutput, self.call_key(place), part)

    def tool_progress(self, place: int, message: str, done: float | None, total: float | None) -> None:
        """A call says how far it is."""
        self._scribe.add(events.ToolProgress, self.call_key(place), message, done, total)

    def sub_event(self, place: int, event: Event) -> None:
        """An agent that a call runs made an event."""
        self.spending.add_sub(event)
        self._scribe.add(events.SubRun, self.call_key(place), event)

    def tool_ended(self, place: int, result: ToolResultPart) -> None:
        """A call has its result."""
        self.calls.end(place, result, self._scribe.at)
        self._scribe.add(events.ToolEnded, self.call_key(place), result)

    def wait_for(self, place: int, waiting: Waiting) -> None:
        """A call waits for somebody."""
        for pending in self.calls.wait(place, waiting):
            self._scribe.add(events.ExternalRequired if pending.kind == "external" else events.ApprovalRequired, pending)

    def take_reply(self, reply: Reply) -> None:
        """Somebody answered."""
        self.calls.replies.append(reply)
        self._scribe.add(events.ApprovalGiven, reply)

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What waits for somebody and was not answered yet, in the order of the calls."""
        return self.calls.pending

    def close_calls(self, why: str = "", *, is_late: bool = False) -> None:
        """Keep the results of the round, in the order of the calls.

        A call that has none gets one: refused; `not_run` with `why`, if it has not started and there is a reason; `timed_out`, if it has
        and the time of the run is up; else interrupted.
        """
        step = self.loop.next
        if not isinstance(step, RunTools):
            return
        for planned in step.calls:
            if planned.place not in self.calls.results:
                self.tool_ended(planned.place, self._missing(planned, why, is_late=is_late))
        assert self.last is not None
        results = [self.calls.results[planned.place] for planned in step.calls]
        self._keep(results_message(self.last.id or "", results, self.calls.results_at))
        self.calls = OpenCalls()

    def _missing(self, planned: PlannedCall, why: str, *, is_late: bool) -> ToolResultPart:
        if planned.place in self.calls.started:
            if is_late:
                text = f"Stopped while it ran, since {self.loop.used.reached('time')}; what it had done by then is not known."
                return error_result(planned.call, text, state="timed_out")
            return interrupted_result(planned.call, has_started=True)
        if planned.refusal is not None:
            return planned.refusal
        return error_result(planned.call, why, state="not_run") if why else interrupted_result(planned.call)

    # ------------------------------------------------------------------------------------------ the end

    def fail(self, error: Exception) -> None:
        """The run fails with this error."""
        self._scribe.add(events.ErrorRaised, kind_of(error), str(error), is_retryable(error))

    def end(self, reason: GenerateReason, message: AssistantMessage | None) -> None:
        """The run is over, or waits."""
        self._scribe.add(events.RunEnded, reason, message, self.usage, self.pending)
