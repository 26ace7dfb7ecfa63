"""The ledger of one run: what it stored, and the events that tell of it.

The rule of this file: what changes the history and the events that say so are made in one go, without waiting in between. So wherever a
run is left both say the same, and `close_calls` makes a legal history of it. Pure: times and ids come in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from headrace.agent import events
from headrace.agent.blocks import Blocks, Scribe
from headrace.agent.events import Event
from headrace.agent.failure import is_retryable, kind_of
from headrace.agent.fold import results_message
from headrace.agent.loop import Loop, PlannedCall, Rules, RunTools, interrupted_result
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage, Message, UserMessage
from headrace.messages.parts import Part, ToolResultPart
from headrace.messages.usage import Usage


class Ledger:
    """What a run has stored so far.

    Attributes:
        run_id: the run.
        loop: what comes next.
        messages: what the run added, in order.
        last: the last assistant message, or None.
        usage: the sum over the rounds.
        blocks: of the answer on its way.
        made: the events that were made and not taken yet.
        has_answered: the final answer has been given.
    """

    def __init__(self, run_id: str, rules: Rules, *, sink: Callable[[Event], object] | None = None) -> None:
        """Start with nothing."""
        self.run_id = run_id
        self.loop = Loop(rules)
        self.messages: list[Message] = []
        self.last: AssistantMessage | None = None
        self.usage = Usage()
        self.has_answered = False
        self._rules = rules
        self._scribe = Scribe(run_id, sink=sink)
        self.made = self._scribe.made
        self.blocks = Blocks("", self._scribe)
        self._results: dict[int, ToolResultPart] = {}
        self._started: set[int] = set()
        self._results_at: datetime | None = None

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
        for message in given:
            self._keep(message)

    def put_in(self, message: UserMessage) -> None:
        """A message goes in before the next model call."""
        self._keep(message)
        self._scribe.add(events.ReminderAdded, message)

    def _keep(self, message: Message) -> None:
        self.messages.append(message)
        self.loop.feed(message)

    # ------------------------------------------------------------------------------------------ the model's answer

    def start_round(self, model: str, message_id: str) -> None:
        """A model is about to be called; its answer gets this id."""
        spent = self.loop.spent
        if spent is not None:
            limit = self._rules.max_rounds if spent == "rounds" else self._rules.max_tool_calls
            self._scribe.add(events.LimitReached, spent, limit)
        self._scribe.round += 1
        self._scribe.add(events.RoundStarted, model)
        self.blocks = Blocks(message_id, self._scribe)

    def discard(self, attempt: int, reason: str, message_id: str) -> None:
        """What came is void, and the model is asked again; the new answer gets this id."""
        self.blocks.end(self.blocks.snapshot())
        self._scribe.add(events.AttemptDiscarded, self.blocks.message_id, attempt, reason)
        self.blocks = Blocks(message_id, self._scribe)

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
            self._add_usage(message.usage)
            self.has_answered = True
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
        message = msgspec.structs.replace(message, generate_reason=reason)
        blocks.end(message)
        if reason == "limit" and spent is None:
            self._scribe.add(events.LimitReached, "pauses", self._rules.max_pauses)
        self._add_usage(message.usage)
        self.last = message
        self._keep(message)
        self.has_answered = self.loop.is_final and not (is_steered and self.loop.is_answered)
        self._scribe.add(events.RoundEnded, message, message.usage, self.has_answered)

    def _add_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage += usage

    # ------------------------------------------------------------------------------------------ tools

    def call_key(self, place: int) -> str:
        """Return the key of one of the last answer's calls."""
        return self.blocks.call_keys[place]

    def tool_started(self, place: int) -> None:
        """A call is about to run."""
        self._started.add(place)
        self._scribe.add(events.ToolStarted, self.call_key(place))

    def tool_output(self, place: int, part: Part) -> None:
        """A call gave out a piece."""
        self._scribe.add(events.ToolOutput, self.call_key(place), part)

    def tool_ended(self, place: int, result: ToolResultPart) -> None:
        """A call has its result."""
        self._results[place] = result
        self._results_at = self._scribe.at
        self._scribe.add(events.ToolEnded, self.call_key(place), result)

    def close_calls(self) -> None:
        """Keep the results of the round, in the order of the calls; a call that has none gets one: refused, or interrupted."""
        step = self.loop.next
        if not isinstance(step, RunTools):
            return
        for planned in step.calls:
            if planned.place not in self._results:
                self.tool_ended(planned.place, self._missing(planned))
        assert self.last is not None
        results = [self._results[planned.place] for planned in step.calls]
        self._keep(results_message(self.last.id or "", results, self._results_at))
        self._results, self._started = {}, set()

    def _missing(self, planned: PlannedCall) -> ToolResultPart:
        return planned.refusal or interrupted_result(planned.call, has_started=planned.place in self._started)

    # ------------------------------------------------------------------------------------------ the end

    def fail(self, error: Exception) -> None:
        """The run fails with this error."""
        self._scribe.add(events.ErrorRaised, kind_of(error), str(error), is_retryable(error))

    def end(self, reason: GenerateReason) -> None:
        """The run is over."""
        self._scribe.add(events.RunEnded, reason, self.last, self.usage)


def steering(content: Any, new_id: Callable[[], str], now: datetime) -> UserMessage:
    """Return words that steer as a message; a message stays as it is."""
    return content if isinstance(content, UserMessage) else UserMessage(content, id=new_id(), created_at=now)
