"""Reminders: what the model should be told before its next call, though nobody says it.

The rule of this file: it says what is due and does nothing. What it knows comes in: the messages, one at a time, the time, and what is
spent of the limits. Each occasion is told once. A reminder is sent and not kept in the history, unless the caller wants it kept.

The reminder for an empty answer belongs to the loop (`loop.py`), which decides by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from headrace._json import JSON, dumps_text
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from headrace.messages.parts import TextPart, ToolCallPart

REPEATED_FAILING_CALL: Final = "repeated_failing_call"
TIME: Final = "time"
LIMITS_NEAR: Final = "limits_near"

Spent: TypeAlias = Mapping[str, tuple[float, float | None]]
"""What is used up of each limit, and the limit (None: no limit): `rounds`, `tool_calls`, `tokens`, `cost_usd`, `time_s`."""
_UNITS: Final = {"tool_calls": "tool calls", "tokens": "tokens", "cost_usd": "US dollars", "time_s": "seconds"}


class ReminderRules(msgspec.Struct, frozen=True, kw_only=True):
    """When to remind.

    Attributes:
        failures: after how many failures in a row of the same call with the same arguments, and again after as many more; None: never.
        silence_s: after how many seconds without a message the time is told; None: never.
        limits_at: at which share of a limit it is told; of the rounds it is told when one is left. None: never.
        keep_reminders: reminders are kept in the history.
    """

    failures: int | None = 3
    silence_s: float | None = 1800.0
    limits_at: float | None = 0.8
    keep_reminders: bool = False

    def __post_init__(self) -> None:
        """Check every field; the error names it."""
        if self.failures is not None and (type(self.failures) is not int or self.failures < 2):
            raise UsageError(f"failures is {self.failures!r}; it must be a whole number from 2 up, or None", argument="failures")
        for name, most in (("silence_s", float("inf")), ("limits_at", 1.0)):
            value = getattr(self, name)
            if value is not None and (type(value) not in (int, float) or not 0 < value <= most):
                raise UsageError(f"{name} is {value!r}; it must be above 0{' and up to 1' if most == 1 else ''}, or None", argument=name)
        if type(self.keep_reminders) is not bool:
            raise UsageError(f"keep_reminders is {self.keep_reminders!r}; it must be True or False", argument="keep_reminders")


class Reminder(msgspec.Struct, frozen=True):
    """Something to tell the model.

    Attributes:
        kind: which reminder.
        text: what it says.
    """

    kind: str
    text: str

    def message(self, *, new_id: str | None = None, now: datetime | None = None) -> UserMessage:
        """Return it as a message of the framework."""
        parts = (TextPart(self.text),)
        return UserMessage.assemble(parts, id=new_id, created_at=now, origin="framework", reminder_kind=self.kind)


class _Streak(msgspec.Struct):
    """How often in a row a call failed, and how often that was told."""

    name: str
    failures: int = 0
    told: int = 0


class Reminders:
    """Follows a conversation and says what is due; constant cost for each message."""

    def __init__(self, rules: ReminderRules | None = None) -> None:
        """Start before the first message."""
        self._rules = rules or ReminderRules()
        self._streaks: dict[tuple[str, str], _Streak] = {}
        self._calls: tuple[ToolCallPart, ...] = ()
        self._last_at: datetime | None = None
        self._silence_s = 0.0
        self._told: set[str] = set()

    @property
    def state(self) -> dict[str, JSON]:
        """Which occasions were told that the messages do not show, as JSON."""
        repeated = [[*signature, streak.told] for signature, streak in self._streaks.items() if streak.told]
        return {"told": sorted(self._told), "repeated": repeated}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], messages: Iterable[Message], rules: ReminderRules | None = None) -> Reminders:
        """Go on elsewhere, with the same messages."""
        made = cls(rules)
        for message in messages:
            made.feed(message)
        made._told = set(state.get("told", ()))
        for name, arguments, told in state.get("repeated", ()):
            streak = made._streaks.get((name, arguments))
            if streak is not None:
                streak.told = told
        return made

    def feed(self, message: Message) -> None:
        """Take the next message of the history."""
        self._note_time(message.created_at)
        if isinstance(message, AssistantMessage):
            self._silence_s = 0.0  # the model has answered since; what was to be told before, it knew
            self._calls = message.tool_calls
        elif isinstance(message, ToolMessage):
            self._follow(message)
        elif message.origin == "user":
            self._streaks = {}  # what the user says may change what comes of a call

    def due(self, *, now: datetime | None = None, spent: Spent | None = None) -> tuple[Reminder, ...]:
        """Return what is to be told before the next model call; it then counts as told.

        Args:
            now: the time, with its zone; None: the time is never told.
            spent: what is used up of the limits.
        """
        found: list[Reminder] = []
        if now is not None:
            found += self._time(now)
        found += self._repeated()
        found += self._limits(spent or {})
        return tuple(found)

    # ------------------------------------------------------------------------------------------ time

    def _note_time(self, at: datetime | None) -> None:
        if at is None:
            return
        if self._last_at is not None:
            self._silence_s = max(self._silence_s, (at - self._last_at).total_seconds())
        self._last_at = at

    def _time(self, now: datetime) -> list[Reminder]:
        limit = self._rules.silence_s
        silence_s = self._silence_s
        if self._last_at is not None:
            silence_s = max(silence_s, (now - self._last_at).total_seconds())
        if limit is None or silence_s <= limit:
            return []
        self._silence_s, self._last_at = 0.0, now
        minutes = int(silence_s // 60)
        passed = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
        return [Reminder(TIME, f"It is now {now:%Y-%m-%d %H:%M %Z}; {passed} have passed since the message before.".replace(" ;", ";"))]

    # ------------------------------------------------------------------------------------------ calls that keep failing

    def _follow(self, message: ToolMessage) -> None:
        calls = {call.id: call for call in reversed(self._calls)}
        failed: dict[tuple[str, str], int] = {}
        succeeded: set[tuple[str, str]] = set()
        for result in message.results:
            call = calls.get(result.call_id)
            if call is None:
                continue
            signature = (call.name, call.arguments if call.parsed is None else dumps_text(dict(sorted(call.parsed.items()))))
            if result.state in ("error", "timed_out"):
                failed[signature] = failed.get(signature, 0) + 1
            else:
                succeeded.add(signature)
        streaks: dict[tuple[str, str], _Streak] = {}
        for signature, count in failed.items():
            if signature not in succeeded:
                streak = self._streaks.get(signature) or _Streak(signature[0])
                streak.failures += count
                streaks[signature] = streak
        self._streaks = streaks  # a call that was not made in this round, or went well, is no longer "in a row"

    def _repeated(self) -> list[Reminder]:
        every = self._rules.failures
        found: list[Reminder] = []
        for streak in self._streaks.values():
            if every is not None and streak.failures // every > streak.told:
                streak.told = streak.failures // every
                text = (
                    f"The same call of {streak.name}, with the same arguments, has failed {streak.failures} times in a row. Do not make it "
                    "again as it is: change the arguments, take another way, or say what stands in the way."
                )
                found.append(Reminder(REPEATED_FAILING_CALL, text))
        return found

    # ------------------------------------------------------------------------------------------ limits

    def _limits(self, spent: Spent) -> list[Reminder]:
        share = self._rules.limits_at
        found: list[str] = []
        for which, (used, limit) in spent.items():
            if share is None or not limit or used >= limit:  # a limit that is reached is the loop's affair
                continue
            is_near = limit - used == 1 and used > 0 if which == "rounds" else used >= share * limit
            key = f"{which}:{limit:g}"
            if is_near and key not in self._told:
                self._told.add(key)
                unit = _UNITS.get(which, which)
                found.append("one round of tool calls is left" if which == "rounds" else f"{used:g} of {limit:g} {unit} are used up")
        if not found:
            return []
        return [Reminder(LIMITS_NEAR, f"A limit is near: {', '.join(found)}. Finish what matters most, then give your answer.")]
