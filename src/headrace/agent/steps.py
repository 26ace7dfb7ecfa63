"""What a run may do, and what an agent does next, as values.

The rule of this file: values only; `loop.py` says which step is next.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

import msgspec

from headrace.agent.limits import NO_LIMITS, Price, RunLimits
from headrace.agent.output.outcome import Failed, Invalid, Outcome
from headrace.agent.output.spec import OutputMode, OutputSpec
from headrace.errors import APIError, HeadraceError, UsageError
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart, ToolResultPart


class Wanted(msgspec.Struct, frozen=True):
    """The answer has a type.

    Attributes:
        spec: the type.
        mode: how it is asked for.
    """

    spec: OutputSpec
    mode: OutputMode

    def read(self, message: AssistantMessage) -> Outcome | None:
        """Return what an answer is worth, or None if it is none yet."""
        return self.spec.read(message, self.mode)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may do.

    Attributes:
        tools: the names of the tools that are offered, in order.
        max_rounds: how many tool rounds may run; then comes one forced answer. None or 0: no limit.
        limits: what it may use beside rounds; when one of them is used up comes one forced answer as well.
        price: what an answer cost; needed for a limit on cost.
        max_pauses: how often in a row an answer that paused is asked to go on.
        stop_on_denial: end the run when a person has denied every call of a round.
        wanted: the type of the answer, or None for text.

    Raises:
        UsageError: there is a limit on cost, but no price.
    """

    tools: tuple[str, ...] = ()
    max_rounds: int | None = 25
    limits: RunLimits = NO_LIMITS
    price: Price | None = None
    max_pauses: int = 8
    stop_on_denial: bool = False
    wanted: Wanted | None = None

    def __post_init__(self) -> None:
        """Check that cost can be known."""
        if self.limits.cost_usd is not None and self.price is None:
            raise UsageError("limits.cost_usd needs a price: a function that says what an answer cost", argument="limits.cost_usd")


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
    """The last answer ended with an error, or is not of the type that was asked for: raise.

    Attributes:
        message: the answer.
        outcome: what is wrong with its type; None if it ended with an error.
        tries: how many answers did not fit.
    """

    message: AssistantMessage
    outcome: Invalid | Failed | None = None
    tries: int = 1

    @property
    def error(self) -> HeadraceError:
        """What is raised."""
        match self.outcome:
            case None:
                word = self.message.finish_reason_raw or "error"
                return APIError(f"the model ended its answer with {word!r}", code=word, partial=self.message)
            case Invalid():
                return self.outcome.error(self.message, self.tries)
            case Failed():
                return self.outcome.error(self.message)
            case _:
                assert_never(self.outcome)


Step: TypeAlias = CallModel | RunTools | AddReminder | Finish | Fail
