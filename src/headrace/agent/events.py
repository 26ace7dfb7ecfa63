"""Events: what happens in a run, as it happens; frozen, told apart by `type`, the same live, stored and replayed.

The rule of this file: events are values that say what happened, in order: `seq` counts from 1 and only grows. What is in the
messages of a run can be built again from its events (`fold.py`), so an event says what a reader needs and nothing is said in
two ways that could differ: where a final value (`tool_call_ended`) and the pieces before it disagree, the final value counts.

A block (`text`, `reasoning`, a tool call) that starts ends, also on error and cancel. Blocks may interleave; they end when the
model's answer ends, in the order of the message, since until then any of them may go on.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias, cast

import msgspec

from headrace.agent.approval import Pending, Reply
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import Part, ToolResultPart
from headrace.messages.usage import Usage

TextKind: TypeAlias = Literal["text", "refusal"]
AnyMessage: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class BaseEvent(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    """What all events have.

    Attributes:
        seq: its number in the run, from 1; of a batch of deltas the last one's.
        run_id: the run.
        round: the round, from 1; 0 before the first.
        at: when, in UTC.
    """

    seq: int
    run_id: str
    round: int
    at: datetime

    @property
    def type(self) -> str:
        """Which event it is, as in JSON (`run_started`, `text_delta`)."""
        return cast("str", self.__struct_config__.tag)


class RunStarted(BaseEvent, frozen=True, gc=False, tag="run_started"):
    """The run begins; `input` is what it was given, as the messages that it adds to the conversation."""

    input: tuple[AnyMessage, ...]


class RoundStarted(BaseEvent, frozen=True, gc=False, tag="round_started"):
    """A model is about to be called."""

    model: str


class TextStarted(BaseEvent, frozen=True, gc=False, tag="text_started"):
    """A part of text begins; `kind` says whether the model answers or refuses."""

    message_id: str
    part: int
    kind: TextKind = "text"


class TextDelta(BaseEvent, frozen=True, gc=False, tag="text_delta"):
    """More of it."""

    message_id: str
    part: int
    text: str
    kind: TextKind = "text"


class TextEnded(BaseEvent, frozen=True, gc=False, tag="text_ended"):
    """It is whole, or nothing more comes."""

    message_id: str
    part: int
    kind: TextKind = "text"


class ReasoningStarted(BaseEvent, frozen=True, gc=False, tag="reasoning_started"):
    """A part of reasoning begins."""

    message_id: str
    part: int


class ReasoningDelta(BaseEvent, frozen=True, gc=False, tag="reasoning_delta"):
    """More of it."""

    message_id: str
    part: int
    text: str


class ReasoningEnded(BaseEvent, frozen=True, gc=False, tag="reasoning_ended"):
    """It is whole, or nothing more comes; with the provider's proof of it, if there is one."""

    message_id: str
    part: int
    signature: str | None = None


class ToolCallStarted(BaseEvent, frozen=True, gc=False, tag="tool_call_started"):
    """The model begins to call a tool.

    It comes once a name is known; a call that never gets one starts when the answer ends, with an empty name. Name and id may
    still change: `tool_call_ended` has the final ones.
    """

    call_key: str
    call_id: str
    name: str


class ToolCallArguments(BaseEvent, frozen=True, gc=False, tag="tool_call_arguments"):
    """More of the call's arguments, as raw text."""

    call_key: str
    text: str


class ToolCallEnded(BaseEvent, frozen=True, gc=False, tag="tool_call_ended"):
    """The call as it finally is; it overrides what came before. Those of one answer come in the order of the message."""

    call_key: str
    call_id: str
    name: str
    arguments: str
    parsed: dict[str, Any] | None
    runnable: bool


class ToolStarted(BaseEvent, frozen=True, gc=False, tag="tool_started"):
    """The tool is about to run; from here on it may have done something."""

    call_key: str


class ToolOutput(BaseEvent, frozen=True, gc=False, tag="tool_output"):
    """A piece of what the tool gives out, while it runs."""

    call_key: str
    output: Part


class ToolProgress(BaseEvent, frozen=True, gc=False, tag="tool_progress"):
    """How far a tool is; no part of its result. `done` of `total`, in units of the tool's own, where it knows."""

    call_key: str
    message: str
    done: float | None = None
    total: float | None = None


class ToolEnded(BaseEvent, frozen=True, gc=False, tag="tool_ended"):
    """The call has its result; without `tool_started` before it, nothing was run."""

    call_key: str
    result: ToolResultPart


class ApprovalRequired(BaseEvent, frozen=True, gc=False, tag="approval_required"):
    """A person has to say yes or no, or what became of a call that may have run before a crash (`pending.kind` is `in_doubt`)."""

    pending: Pending


class ExternalRequired(BaseEvent, frozen=True, gc=False, tag="external_required"):
    """The caller has to run a tool."""

    pending: Pending


class ApprovalGiven(BaseEvent, frozen=True, gc=False, tag="approval_given"):
    """Somebody answered."""

    answer: Reply


class RoundEnded(BaseEvent, frozen=True, gc=False, tag="round_ended"):
    """The model's answer has ended; its tools run after this.

    Attributes:
        message: the answer as it is kept, or None if nothing came of it.
        usage: what it used, if that is known.
        is_final: no further model call follows.
    """

    message: AssistantMessage | None
    usage: Usage | None
    is_final: bool


class AttemptDiscarded(BaseEvent, frozen=True, gc=False, tag="attempt_discarded"):
    """A stream died and the model is asked again: forget the blocks of this message."""

    message_id: str
    attempt: int
    reason: str


class ReminderAdded(BaseEvent, frozen=True, gc=False, tag="reminder_added"):
    """A message was put in before the next model call: a reminder (origin `framework`), or words that steer (origin `user`)."""

    message: UserMessage


class ContextCompacted(BaseEvent, frozen=True, gc=False, tag="context_compacted"):
    """What is sent to the model was made shorter; the history that is kept was not."""

    messages_before: int
    messages_after: int
    detail: str = ""


class ToolsChanged(BaseEvent, frozen=True, gc=False, tag="tools_changed"):
    """Other tools are offered from now on; `detail` says what is wrong with those that are gone."""

    tools: tuple[str, ...]
    detail: str = ""


class LimitReached(BaseEvent, frozen=True, gc=False, tag="limit_reached"):
    """A budget is used up: `rounds`, `tool_calls`, `pauses`, `tokens`, `cost` or `time`; `tool` says if it is one tool's."""

    which: str
    limit: int | float
    tool: str = ""


class SubRun(BaseEvent, frozen=True, gc=False, tag="subrun"):
    """An event of a sub-agent, which the call `call_key` runs."""

    call_key: str
    event: Event


class ErrorRaised(BaseEvent, frozen=True, gc=False, tag="error"):
    """The run failed; `run_ended` follows, then the iterator raises."""

    kind: str
    message: str
    retryable: bool


class RunEnded(BaseEvent, frozen=True, gc=False, tag="run_ended"):
    """The run is over, or pauses.

    Attributes:
        generate_reason: why.
        message: the last assistant message, or None if there is none.
        usage: the sum over the rounds.
        pending: the calls that wait for somebody.
    """

    generate_reason: GenerateReason
    message: AssistantMessage | None
    usage: Usage
    pending: tuple[Pending, ...] = ()


Event: TypeAlias = (
    RunStarted
    | RoundStarted
    | TextStarted
    | TextDelta
    | TextEnded
    | ReasoningStarted
    | ReasoningDelta
    | ReasoningEnded
    | ToolCallStarted
    | ToolCallArguments
    | ToolCallEnded
    | ToolStarted
    | ToolOutput
    | ToolProgress
    | ToolEnded
    | ApprovalRequired
    | ExternalRequired
    | ApprovalGiven
    | RoundEnded
    | AttemptDiscarded
    | ReminderAdded
    | ContextCompacted
    | ToolsChanged
    | LimitReached
    | SubRun
    | ErrorRaised
    | RunEnded
)
