"""The limits of a run: what it may use, and what it has used. Pure.

The rule of this file: what was used follows from the messages alone (and, for time and for what no message tells, from numbers that the
driver gives), so a run that was stored goes on with what it had left.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, assert_never

import msgspec

from headrace._json import EMPTY, freeze
from headrace.errors import UsageError
from headrace.messages.checked import from_mapping
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart

Budget: TypeAlias = Literal["rounds", "tool_calls", "tokens", "cost", "time"]
"""What can be used up; the run then gets one forced answer."""
BUDGETS: Final[tuple[Budget, ...]] = ("rounds", "tool_calls", "tokens", "cost", "time")
"""In the order in which they are looked at: where several are used up, the first is named."""
Price: TypeAlias = Callable[[AssistantMessage], float | None]
"""What an answer cost, in US dollars; None where that is not known."""


def _check_count(name: str, value: object, *, is_optional: bool = True) -> None:
    if not (value is None and is_optional) and not (type(value) is int and value >= 1):
        raise UsageError(f"{name} is {value!r}; it is a whole number above 0{', or None' if is_optional else ''}", argument=name)


def _check_amount(name: str, value: object, unit: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise UsageError(f"{name} is {value!r}; it is a number of {unit} above 0, or None", argument=name)


class RunLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one run may use; None: no limit.

    Attributes:
        tool_calls: how many calls the model may make in all; those that cannot run count as well, so that this bounds a run by itself.
        calls_per_tool: how many calls of a tool may run, by its name. Further ones do not run, but the run goes on.
        tokens: input and output of all model calls together. It is looked at between model calls, so the last one may go over it.
        cost_usd: what the model calls may cost, in US dollars; looked at as tokens are.
        time_s: how long the run may work, in seconds; the time that it waits for people does not count.

    Raises:
        UsageError: a limit is no number above 0; the error names it.
    """

    tool_calls: int | None = None
    calls_per_tool: dict[str, int] = EMPTY
    tokens: int | None = None
    cost_usd: float | None = None
    time_s: float | None = None

    def __post_init__(self) -> None:
        """Check the values and take a copy of the mapping."""
        _check_count("limits.tool_calls", self.tool_calls)
        _check_count("limits.tokens", self.tokens)
        _check_amount("limits.cost_usd", self.cost_usd, "US dollars")
        _check_amount("limits.time_s", self.time_s, "seconds")
        per_tool: object = self.calls_per_tool
        if not isinstance(per_tool, Mapping):
            raise UsageError(
                f"limits.calls_per_tool is a {type(per_tool).__name__}, not a mapping of tools' names to numbers",
                argument="limits.calls_per_tool",
            )
        for name, limit in self.calls_per_tool.items():
            _check_count(f"limits.calls_per_tool[{name!r}]", limit, is_optional=False)
        msgspec.structs.force_setattr(self, "calls_per_tool", freeze(dict(self.calls_per_tool), "limits.calls_per_tool"))

    @classmethod
    def of(cls, value: RunLimits | Mapping[str, Any] | None) -> RunLimits:
        """Return the value as `RunLimits`; a mapping holds fields of `RunLimits`.

        Raises:
            UsageError: a field is unknown, or no number above 0.
        """
        return from_mapping(cls, value, NO_LIMITS, "limits")


NO_LIMITS: Final = RunLimits()


def limit_words(which: Budget, limit: float | None) -> str:
    """Return a limit as a model and a person read it: `the limit of 3 tool calls`; None: its number is not known."""
    if limit is None:
        return "a limit"
    match which:
        case "rounds":
            return f"the limit of {_counted(limit, 'round')}"
        case "tool_calls":
            return f"the limit of {_counted(limit, 'tool call')}"
        case "tokens":
            return f"the limit of {_counted(limit, 'token')}"
        case "cost":
            return f"the limit of ${limit:g}"
        case "time":
            return f"the limit of {_counted(limit, 'second')}"
        case _:
            assert_never(which)


def _counted(number: float, what: str) -> str:
    return f"{number if isinstance(number, int) else f'{number:g}'} {what}{'' if number == 1 else 's'}"


class Meter:
    """What a run has used so far.

    Attributes:
        rounds: tool rounds.
        tool_calls: calls that the model made.
        calls_of: of these, by the tool's name, those that could run.
        tokens: input and output tokens; an answer that reports none adds nothing.
        cost_usd: what the answers cost; one whose price is not known adds nothing.
        beside_tokens, beside_cost_usd: what of them no message of the run tells: answers that were discarded, summaries, sub-agents.
        unpriced: the models whose price was not known.
        elapsed_s: how long the run has worked, as the driver says.
        tools_spent: the tools of which the last answer was the first to ask for more than their limit.
    """

    def __init__(self, limits: RunLimits, *, max_rounds: int | None = None, price: Price | None = None) -> None:
        """Start with nothing used."""
        self.rounds = 0
        self.tool_calls = 0
        self.calls_of: Counter[str] = Counter()
        self.tokens = 0
        self.cost_usd = 0.0
        self.beside_tokens = 0
        self.beside_cost_usd = 0.0
        self.unpriced: set[str] = set()
        self.elapsed_s = 0.0
        self.tools_spent: tuple[str, ...] = ()
        self._limits = limits
        self._max_rounds = max_rounds
        self._price = price
        self._tools_refused: set[str] = set()

    @property
    def spent(self) -> Budget | None:
        """The budget that is used up, or None."""
        limits = self._limits
        if self._max_rounds and self.rounds >= self._max_rounds:
            return "rounds"
        if limits.tool_calls is not None and self.tool_calls >= limits.tool_calls:
            return "tool_calls"
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return "tokens"
        if limits.cost_usd is not None and self.cost_usd >= limits.cost_usd:
            return "cost"
        return "time" if limits.time_s is not None and self.elapsed_s >= limits.time_s else None

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return self._limits.time_s is not None and self.elapsed_s >= self._limits.time_s

    @property
    def time_left_s(self) -> float | None:
        """How long the run may still work, in seconds; None without such a limit."""
        return None if self._limits.time_s is None else max(0.0, self._limits.time_s - self.elapsed_s)

    @property
    def used_up_tools(self) -> tuple[str, ...]:
        """The tools of which no more calls may run, as named in `calls_per_tool`."""
        return tuple(name for name, limit in self._limits.calls_per_tool.items() if self.calls_of[name] >= limit)

    def limit_of(self, which: Budget) -> int | float | None:
        """Return the number that a budget began with; None: no limit."""
        match which:
            case "rounds":
                return self._max_rounds or None
            case "tool_calls":
                return self._limits.tool_calls
            case "tokens":
                return self._limits.tokens
            case "cost":
                return self._limits.cost_usd
            case "time":
                return self._limits.time_s
            case _:
                assert_never(which)

    def reached(self, which: Budget | None) -> str:
        """Say that a budget is used up; None: one that is not known."""
        return f"{limit_words(which, self.limit_of(which)) if which else 'a limit'} is reached"

    def add_answer(self, message: AssistantMessage) -> None:
        """Count what an answer used."""
        self.tools_spent = ()
        if message.usage is not None:
            self.tokens += max(0, message.usage.total_tokens)  # a server may report nonsense; what is used does not come back
        self.cost_usd += self.cost_of(message)

    def add_beside(self, tokens: int, cost_usd: float = 0.0) -> None:
        """Count what was used beside the messages of the run."""
        self.tokens += max(0, tokens)
        self.beside_tokens += max(0, tokens)
        self.cost_usd += cost_usd
        self.beside_cost_usd += cost_usd

    def cost_of(self, message: AssistantMessage) -> float:
        """Return what an answer cost, in US dollars, where costs count; one without a known price is noted, and free."""
        if self._price is None:
            return 0.0
        cost = self._price(message)
        if cost is not None and math.isfinite(cost) and cost >= 0:
            return cost
        self.unpriced.add(message.model or "a model without a name")
        return 0.0

    def has_room(self, tool: str, asked: Counter[str]) -> bool:
        """Return whether one more call of a tool would run, if the answer on its way has asked for these before it, by the tool's name."""
        limits = self._limits
        if limits.tool_calls is not None and self.tool_calls + asked.total() >= limits.tool_calls:
            return False
        limit = limits.calls_per_tool.get(tool)
        return limit is None or self.calls_of[tool] + asked[tool] < limit

    def add_round(self, calls: Sequence[ToolCallPart]) -> tuple[str, ...]:
        """Count a tool round; return for each of its calls why it is beyond a limit, or ""."""
        self.rounds += 1
        return tuple([self._add_call(call) for call in calls])

    def _add_call(self, call: ToolCallPart) -> str:
        self.tool_calls += 1
        if self._limits.tool_calls is not None and self.tool_calls > self._limits.tool_calls:
            return self.reached("tool_calls")
        limit = self._limits.calls_per_tool.get(call.name)
        if limit is None:
            return ""
        if self.calls_of[call.name] < limit:
            self.calls_of[call.name] += call.runnable
            return ""
        if call.name not in self._tools_refused:
            self._tools_refused.add(call.name)
            self.tools_spent += (call.name,)
        return f"the limit of {_counted(limit, 'call')} of {call.name} is reached; answer with what you have or use other tools"
