"""The loop: from the history alone, what an agent does next. Pure.

The rule of this file: the decision between a tool round and a final answer is made when the model's answer has ended, never before,
and it is made here (DESIGN 9, the next-step table). `Loop` takes the messages of a run one at a time; `next_step` does the same with a
whole history, so a run that was stored anywhere goes on where it stood.

A message that the agent did not return and that asked for nothing (a pause, an empty answer before its reminder) has no
`generate_reason`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, assert_never

import msgspec

from headrace.agent.results import error_result, not_runnable_result, unknown_tool_result
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from headrace.messages.parts import Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

EMPTY_RESPONSE: Final = "empty_response"
EMPTY_RESPONSE_TEXT: Final = "Your last answer was empty. Answer now, or call a tool."


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may do.

    Attributes:
        tools: the names of the tools that are offered, in order.
        max_rounds: how many tool rounds may run; then comes one forced answer. None or 0: no limit.
        max_tool_calls: how many tool calls may run in all; then comes one forced answer. None: no limit.
        max_pauses: how often in a row an answer that paused is asked to go on.
        stop_on_denial: end the run when a person has denied every call of a round.
    """

    tools: tuple[str, ...] = ()
    max_rounds: int | None = 25
    max_tool_calls: int | None = None
    max_pauses: int = 8
    stop_on_denial: bool = False


class CallModel(msgspec.Struct, frozen=True):
    """Call the model with the history; if `is_forced`, it must answer without tools."""

    is_forced: bool = False


class PlannedCall(msgspec.Struct, frozen=True):
    """One call of a round.

    Attributes:
        place: which of the message's calls it is, from 0.
        call: the call.
        refusal: the result that it gets without being run, or None if it is to be run.
    """

    place: int
    call: ToolCallPart
    refusal: ToolResultPart | None = None


class RunTools(msgspec.Struct, frozen=True):
    """Give every open call of the last answer its result."""

    calls: tuple[PlannedCall, ...]


class AddReminder(msgspec.Struct, frozen=True):
    """Tell the model something, in a message of our own."""

    kind: str
    text: str


class Finish(msgspec.Struct, frozen=True):
    """The run is over; the last answer is its answer."""

    generate_reason: GenerateReason


class Fail(msgspec.Struct, frozen=True):
    """The last answer ended with an error: raise."""

    message: AssistantMessage


Step: TypeAlias = CallModel | RunTools | AddReminder | Finish | Fail
Budget: TypeAlias = Literal["rounds", "tool_calls"]
_Verdict: TypeAlias = Literal["answer", "tools", "pause", "pauses", "empty", "still_empty", "length", "content_filter", "error", "forced", "interrupted"]  # fmt: skip


def next_step(history: Iterable[Message], rules: Rules) -> Step:
    """Return what comes next after the messages of a run.

    Args:
        history: the run's own messages, oldest first, its input included; what came before the run does not count.
        rules: what it may do.
    """
    loop = Loop(rules)
    for message in history:
        loop.feed(message)
    return loop.next


class Loop:
    """A run's progress: what counts for the next step, kept up to date at constant cost for each message.

    Attributes:
        rounds: tool rounds so far.
        tool_calls: calls so far.
    """

    def __init__(self, rules: Rules) -> None:
        """Start before the first message."""
        self.rounds = 0
        self.tool_calls = 0
        self._rules = rules
        self._reminders = 0
        self._pauses = 0
        self._last: AssistantMessage | None = None
        self._verdict: _Verdict = "answer"
        self._spent: Budget | None = None
        self._open: Counter[str] = Counter()
        self._first_beyond = 0
        self._is_denied = False

    @property
    def spent(self) -> Budget | None:
        """The budget that is used up, or None; the next model call is then forced to answer."""
        if self._rules.max_rounds and self.rounds >= self._rules.max_rounds:
            return "rounds"
        if self._rules.max_tool_calls is not None and self.tool_calls >= self._rules.max_tool_calls:
            return "tool_calls"
        return None

    @property
    def has_open_calls(self) -> bool:
        """Whether calls of the last answer have no result yet."""
        return self._open.total() > 0

    @property
    def is_answered(self) -> bool:
        """Whether the last answer is one that a person could reply to; words that steer then lead to another round."""
        return self._last is not None and self._verdict in ("answer", "still_empty", "length")

    @property
    def is_final(self) -> bool:
        """Whether the last answer ends the run, its calls once they are closed."""
        return self._last is not None and self._verdict not in ("tools", "pause", "empty")

    def judge(self, message: AssistantMessage) -> GenerateReason | None:
        """Return the `generate_reason` that the next answer gets: why it is returned, `tool_calls`, or None if the run just goes on."""
        verdict = self._judged(message)
        return "tool_calls" if verdict == "tools" else self._reason(verdict, self.spent)

    def feed(self, message: Message) -> None:
        """Take the next message."""
        match message:
            case AssistantMessage():
                self._answer(message)
            case ToolMessage():
                self._results(message)
            case UserMessage(origin="framework", reminder_kind="empty_response"):
                self._reminders += 1
                self._last = None
            case _:
                self._last = None

    @property
    def next(self) -> Step:
        """What comes next."""
        if self._last is None:
            return CallModel(is_forced=self.spent is not None)
        if self.has_open_calls:
            return RunTools(self._plan(self._last))
        match self._verdict:
            case "tools":
                if self._is_denied and self._rules.stop_on_denial:
                    return Finish("all_denied")
                return CallModel(is_forced=self.spent is not None)
            case "pause":
                return CallModel()
            case "empty":
                return AddReminder(EMPTY_RESPONSE, EMPTY_RESPONSE_TEXT)
            case "error":
                return Fail(self._last)
            case "answer" | "still_empty" | "length" | "content_filter" | "forced" | "interrupted" | "pauses":
                reason = self._reason(self._verdict, self._spent)
                assert reason is not None
                return Finish(reason)
            case _:
                assert_never(self._verdict)

    # ------------------------------------------------------------------------------------------ judging an answer

    def _judged(self, message: AssistantMessage) -> _Verdict:
        if message.generate_reason in ("interrupted", "error"):  # the mark of an answer that broke off
            return "interrupted" if message.generate_reason == "interrupted" else "error"
        if self.spent is not None:
            return "forced"
        if message.finish_reason == "content_filter":
            return "content_filter"
        if message.finish_reason == "error":
            return "error"
        if message.has(ToolCallPart):
            return "tools"
        if message.finish_reason == "pause":
            return "pause" if self._pauses < self._rules.max_pauses else "pauses"
        if message.finish_reason == "length":
            return "length"
        if any(_says_something(part) for part in message.parts):
            return "answer"
        return "still_empty" if self._reminders else "empty"

    def _reason(self, verdict: _Verdict, spent: Budget | None) -> GenerateReason | None:
        match verdict:
            case "answer" | "still_empty":
                return "completed"
            case "length" | "content_filter" | "error" | "interrupted":
                return verdict
            case "forced":
                return "max_rounds" if spent == "rounds" else "limit"
            case "pauses":
                return "limit"
            case "tools" | "pause" | "empty":
                return None
            case _:
                assert_never(verdict)

    def _answer(self, message: AssistantMessage) -> None:
        self._spent, self._verdict = self.spent, self._judged(message)
        self._last = message
        self._is_denied = False
        calls = message.tool_calls
        self._open = Counter(call.id for call in calls)
        self._pauses = self._pauses + 1 if self._verdict == "pause" else 0
        if self._verdict == "tools":
            limit = self._rules.max_tool_calls
            self._first_beyond = len(calls) if limit is None else limit - self.tool_calls
            self.rounds += 1
            self.tool_calls += len(calls)

    def _results(self, message: ToolMessage) -> None:
        self._open -= Counter(result.call_id for result in message.results)
        self._is_denied = all(result.state == "denied" for result in message.results)

    # ------------------------------------------------------------------------------------------ planning a round

    def _plan(self, message: AssistantMessage) -> tuple[PlannedCall, ...]:
        # Among calls of one id the first are answered first, as encoders pair them.
        answered = Counter(call.id for call in message.tool_calls) - self._open
        planned: list[PlannedCall] = []
        for place, call in enumerate(message.tool_calls):
            if answered[call.id] > 0:
                answered[call.id] -= 1
            else:
                planned.append(PlannedCall(place, call, self._refusal(place, call)))
        return tuple(planned)

    def _refusal(self, place: int, call: ToolCallPart) -> ToolResultPart | None:
        match self._verdict:
            case "tools":
                if place >= self._first_beyond:
                    return error_result(call, f"Not run: the limit of {self._rules.max_tool_calls} tool calls is reached.", state="not_run")
                if call.name and call.name not in self._rules.tools:
                    return unknown_tool_result(call, self._rules.tools)
                return None if call.runnable else not_runnable_result(call)
            case "forced":
                what = f"{self._rules.max_rounds} rounds" if self._spent == "rounds" else f"{self._rules.max_tool_calls} tool calls"
                return error_result(call, f"Not run: the limit of {what} is reached.", state="not_run")
            case "content_filter":
                return error_result(call, "Not run: the answer was filtered.", state="not_run")
            case "interrupted":
                return interrupted_result(call)
            case _:  # an error: nothing else has calls
                return error_result(call, "Not run: the answer broke off.", state="not_run")


def interrupted_result(call: ToolCallPart, *, has_started: bool = False) -> ToolResultPart:
    """Return the result of a call that a cancelled or interrupted run leaves behind."""
    text = "Interrupted while it ran; what it had done by then is not known." if has_started else "Interrupted before it was run."
    return error_result(call, text, state="interrupted")


def _says_something(part: Part) -> bool:
    """Return whether a part is an answer; reasoning and blank text are none."""
    if isinstance(part, TextPart):
        return bool(part.text.strip())
    return not isinstance(part, ReasoningPart)
