"""The loop: from the history alone, what an agent does next. Pure.

The rule of this file: the decision between a tool round and a final answer is made when the model's answer has ended, never before,
and it is made here (DESIGN 9, the next-step table). `Loop` takes the messages of a run one at a time; `next_step` does the same with a
whole history, so a run that was stored anywhere goes on where it stood.

A message that the agent did not return and that asked for nothing (a pause, an empty answer before its reminder) has no
`generate_reason`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, assert_never

from headrace.agent.limits import Budget, Meter
from headrace.agent.output.outcome import Failed, Invalid, Outcome, Valid
from headrace.agent.results import error_result, not_runnable_result, unknown_tool_result
from headrace.agent.steps import AddReminder, CallModel, Fail, Finish, PlannedCall, Rules, RunTools, Step
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from headrace.messages.parts import Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

EMPTY_RESPONSE: Final = "empty_response"
EMPTY_RESPONSE_TEXT: Final = "Your last answer was empty. Answer now, or call a tool."
INVALID_OUTPUT: Final = "invalid_output"
OUTPUT_TAKEN: Final = "The answer was taken."
_Verdict: TypeAlias = Literal["answer", "tools", "pause", "pauses", "empty", "still_empty", "length", "content_filter", "error", "forced", "interrupted", "output", "misfit", "unfit"]  # fmt: skip


def next_step(history: Iterable[Message], rules: Rules, *, elapsed_s: float = 0.0) -> Step:
    """Return what comes next after the messages of a run.

    Args:
        history: the run's own messages, oldest first; what came before the run does not count, nor do answers in its input.
        rules: what it may do.
        elapsed_s: how long the run has worked, in seconds.
    """
    loop = Loop(rules)
    for message in history:
        loop.feed(message)
    loop.elapsed_s = elapsed_s
    return loop.next


class Loop:
    """A run's progress: what counts for the next step, kept up to date at constant cost for each message.

    Attributes:
        used: what the run has used of its limits.
        offered: the names of the tools that the model may call now; calls of others are refused. The driver may change it between rounds.
    """

    def __init__(self, rules: Rules) -> None:
        """Start before the first message."""
        self.used = Meter(rules.limits, max_rounds=rules.max_rounds, price=rules.price)
        self.offered: tuple[str, ...] = rules.tools
        self._rules = rules
        self._reminders = 0
        self._pauses = 0
        self._last: AssistantMessage | None = None
        self._verdict: _Verdict = "answer"
        self._spent: Budget | None = None
        self._open: dict[str, int] = {}  # by id, how many calls have no result yet
        self._beyond: tuple[str, ...] = ()
        self._is_denied = False
        self._outcome: Outcome | None = None
        self._misfits = 0
        self._was_read: tuple[tuple[Part, ...], object, Outcome | None] | None = None

    @property
    def rounds(self) -> int:
        """Tool rounds so far."""
        return self.used.rounds

    @property
    def tool_calls(self) -> int:
        """Calls so far."""
        return self.used.tool_calls

    @property
    def spent(self) -> Budget | None:
        """The budget that is used up, or None; the next model call is then forced to answer."""
        return self.used.spent

    def limit_of(self, which: Budget) -> int | float | None:
        """Return the number that a budget began with; None: no limit."""
        return self.used.limit_of(which)

    @property
    def elapsed_s(self) -> float:
        """How long the run has worked, in seconds, as of now; the time that it waited for people is not in it.

        The driver sets it before it asks for `next`, and not while an answer is on its way: an answer is judged by what was used up
        when it was asked for. When a stored history is fed, it is set afterwards.
        """
        return self.used.elapsed_s

    @elapsed_s.setter
    def elapsed_s(self, elapsed_s: float) -> None:
        self.used.elapsed_s = elapsed_s

    @property
    def time_left_s(self) -> float | None:
        """How long the run may still work, in seconds; None without such a limit."""
        return self.used.time_left_s

    @property
    def tools_spent(self) -> tuple[str, ...]:
        """The tools of which the last answer was the first to ask for more than their limit: each is named once in a run."""
        return self.used.tools_spent

    @property
    def used_up_tools(self) -> tuple[str, ...]:
        """The tools of which no more calls may run; they need not be offered any longer."""
        return self.used.used_up_tools

    @property
    def unpriced(self) -> set[str]:
        """The models whose price was not known; their answers count as free."""
        return self.used.unpriced

    @property
    def has_open_calls(self) -> bool:
        """Whether calls of the last answer have no result yet."""
        return bool(self._open)

    @property
    def is_answered(self) -> bool:
        """Whether the last answer is one that a person could reply to; words that steer then lead to another round."""
        return self._last is not None and self._verdict in ("answer", "output", "still_empty", "length")

    @property
    def is_final(self) -> bool:
        """Whether the last answer ends the run, its calls once they are closed."""
        return self._last is not None and self._verdict not in ("tools", "pause", "empty", "misfit")

    def output_of(self, message: AssistantMessage) -> Valid | None:
        """Return the value of the type that was asked for, if an answer has one."""
        outcome = self._read(message)
        return outcome if isinstance(outcome, Valid) else None

    def judge(self, message: AssistantMessage) -> GenerateReason | None:
        """Return the `generate_reason` that the next answer gets: why it is returned, `tool_calls`, or None if the run just goes on."""
        verdict = self._judged(message, self._read(message))
        return "tool_calls" if verdict == "tools" else self._reason(verdict, self._forced_by(message))

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
            case UserMessage(origin="framework", reminder_kind="go_on"):
                self.used.add_round(())  # a hook wants more; so one that always does comes to an end
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
                return CallModel(is_forced=self.spent is not None)
            case "empty":
                return AddReminder(EMPTY_RESPONSE, EMPTY_RESPONSE_TEXT)
            case "misfit":
                assert isinstance(self._outcome, Invalid)
                return AddReminder(INVALID_OUTPUT, self._outcome.text)
            case "error":
                return Fail(self._last)
            case "unfit":
                assert isinstance(self._outcome, (Invalid, Failed))
                return Fail(self._last, self._outcome, self._misfits)
            case "output" | "answer" | "still_empty" | "length" | "content_filter" | "forced" | "interrupted" | "pauses":
                reason = self._reason(self._verdict, self._spent)
                assert reason is not None
                return Finish(reason)
            case _:
                assert_never(self._verdict)

    # ------------------------------------------------------------------------------------------ judging an answer

    def _read(self, message: AssistantMessage) -> Outcome | None:
        """Read an answer, once: a `validate` function is somebody's own, and sees each answer one time."""
        if self._rules.wanted is None:
            return None
        broken = message.generate_reason if message.generate_reason in ("interrupted", "error") else None
        seen = (message.finish_reason, broken)
        if self._was_read is None or self._was_read[0] != message.parts or self._was_read[1] != seen:
            self._was_read = (message.parts, seen, self._rules.wanted.read(message))
        return self._was_read[2]

    def _judged(self, message: AssistantMessage, outcome: Outcome | None) -> _Verdict:
        if message.generate_reason in ("interrupted", "error"):  # the mark of an answer that broke off
            return "interrupted" if message.generate_reason == "interrupted" else "error"
        if self._is_forced(message):
            return "forced"
        if message.finish_reason == "content_filter":
            return "content_filter"
        if message.finish_reason == "error":
            return "error"
        if outcome is not None:
            return self._judged_output(outcome)
        if message.has(ToolCallPart):
            return "tools"
        if message.finish_reason == "pause":
            return "pause" if self._pauses < self._rules.max_pauses else "pauses"
        if message.finish_reason == "length":
            return "length"
        if any(_says_something(part) for part in message.parts):
            return "answer"
        return "still_empty" if self._reminders else "empty"

    def _judged_output(self, outcome: Outcome) -> _Verdict:
        match outcome:
            case Valid():
                return "output"
            case Invalid():
                assert self._rules.wanted is not None
                if self._misfits >= self._rules.wanted.spec.retries:
                    return "unfit"
                return "misfit" if outcome.place is None else "tools"
            case Failed(reason="length"):
                return "length"
            case Failed():
                return "unfit"
            case _:
                assert_never(outcome)

    def _is_forced(self, message: AssistantMessage) -> bool:
        # An answer that was judged when it came stays what it was: by now time has gone on, and the limits may be others.
        reason = message.generate_reason
        return self.spent is not None if reason is None else reason in ("max_rounds", "limit")

    def _forced_by(self, message: AssistantMessage) -> Budget | None:
        """Return the budget that forced an answer; None where only the answer's own mark tells that there was one."""
        match message.generate_reason:
            case None:
                return self.spent
            case "max_rounds":
                return "rounds"
            case _:
                return None if (spent := self.spent) == "rounds" else spent

    def _reason(self, verdict: _Verdict, spent: Budget | None) -> GenerateReason | None:
        match verdict:
            case "answer" | "still_empty":
                return "completed"
            case "output":
                return "structured_output"
            case "length" | "content_filter" | "error" | "interrupted":
                return verdict
            case "forced":
                return "max_rounds" if spent == "rounds" else "limit"
            case "pauses":
                return "limit"
            case "tools" | "pause" | "empty" | "misfit" | "unfit":
                return None
            case _:
                assert_never(verdict)

    def _answer(self, message: AssistantMessage) -> None:
        self._outcome = self._read(message)
        self._spent, self._verdict = self._forced_by(message), self._judged(message, self._outcome)
        self._misfits += isinstance(self._outcome, (Invalid, Failed))
        self._last = message
        self.used.add_answer(message)
        self._is_denied = False
        calls = message.tool_calls
        self._open = {}
        for call in calls:
            self._open[call.id] = self._open.get(call.id, 0) + 1
        self._pauses = self._pauses + 1 if self._verdict == "pause" else 0
        if self._verdict == "tools":
            self._beyond = self.used.add_round(calls)

    def _results(self, message: ToolMessage) -> None:
        for result in message.results:
            left = self._open.pop(result.call_id, 0) - 1
            if left > 0:
                self._open[result.call_id] = left
        # What rules and hooks denied no person has denied.
        self._is_denied = all(r.state == "denied" and r.metadata.get("denied_by", "person") == "person" for r in message.results)

    # ------------------------------------------------------------------------------------------ planning a round

    def _plan(self, message: AssistantMessage) -> tuple[PlannedCall, ...]:
        # Among calls of one id the first are answered first, as encoders pair them.
        calls, open_ = message.tool_calls, dict(self._open)
        places: list[int] = []
        for place in range(len(calls) - 1, -1, -1):
            if left := open_.get(calls[place].id, 0):
                open_[calls[place].id] = left - 1
                places.append(place)
        return tuple([PlannedCall(place, calls[place], self._refusal(place, calls[place])) for place in reversed(places)])

    def _refusal(self, place: int, call: ToolCallPart) -> ToolResultPart | None:
        if self._rules.wanted is not None and call.name in self._rules.wanted.spec.tool_names:
            return self._output_result(place, call)
        match self._verdict:
            case "output":
                return error_result(call, "Not run: the final answer was given beside it.", state="not_run")
            case "tools":
                beyond = self._beyond[place] or (self.used.reached("time") if self.used.is_late else "")
                if beyond:
                    return error_result(call, f"Not run: {beyond}.", state="not_run")
                if call.name and call.name not in self.offered:
                    return unknown_tool_result(call, self.offered)
                return None if call.runnable else not_runnable_result(call)
            case "forced":
                spent = self._spent or ("time" if self.used.is_late else None)  # time is the one that a history does not tell
                return error_result(call, f"Not run: {self.used.reached(spent)}.", state="not_run")
            case "content_filter":
                return error_result(call, "Not run: the answer was filtered.", state="not_run")
            case "interrupted":
                return interrupted_result(call)
            case _:  # an error, or an answer of a type that broke off: nothing else has calls
                return error_result(call, "Not run: the answer broke off.", state="not_run")

    def _output_result(self, place: int, call: ToolCallPart) -> ToolResultPart:
        """Return the result of a call that gives the answer."""
        match self._outcome:
            case Valid(place=taken) if taken == place:
                return ToolResultPart(call_id=call.id, name=call.name, parts=(TextPart(OUTPUT_TAKEN),))
            case Invalid(place=wrong, text=text) if wrong == place:
                return error_result(call, text, error_type="OutputValidationError")
            case _ if self._verdict == "interrupted":
                return interrupted_result(call)
            case _:
                return error_result(call, "Not read: one call gives the final answer, and it has to arrive whole.", state="not_run")


def interrupted_result(call: ToolCallPart, *, has_started: bool = False) -> ToolResultPart:
    """Return the result of a call that a cancelled or interrupted run leaves behind."""
    text = "Interrupted while it ran; what it had done by then is not known." if has_started else "Interrupted before it was run."
    return error_result(call, text, state="interrupted")


def _says_something(part: Part) -> bool:
    """Return whether a part is an answer; reasoning and blank text are none."""
    if isinstance(part, TextPart):
        return bool(part.text.strip())
    return not isinstance(part, ReasoningPart)
