"""Deltas: each one increment of one thing that a wire event added.

A closed union, told apart by `type` in JSON. The rule of this file: deltas say what came, not what it means; meaning is the
one left fold in `accumulator.py`.

Content deltas carry `choice` and `part`. `part` is a sort key: deltas with equal keys belong to one part, and parts are ordered
by key. None leaves the place to the fold: the delta continues the part that was opened last if it is of the same kind, else it
opens a new one at the end. A wire that numbers its parts gives keys; Chat Completions and chunks made by hand give None.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from headrace._json import EMPTY, JSON
from headrace.messages.finish import FinishReason
from headrace.messages.parts import CallKind, MediaKind, Part, ResultState
from headrace.messages.usage import Usage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

ErrorKind: TypeAlias = Literal[
    "stream_truncated", "provider_error", "invalid_event", "not_event_stream", "malformed_function_call", "limit_exceeded"
]


class StreamError(msgspec.Struct, frozen=True, gc=False):
    """Why the stream as a whole failed.

    Attributes:
        kind: one of `ErrorKind`.
        message: the provider's words, or ours.
        code: the provider's code, as text, or None.
        retryable: whether the same request may succeed later.
        which: for `limit_exceeded`: the limit's name.
    """

    kind: ErrorKind
    message: str = ""
    code: str | None = None
    retryable: bool = False
    which: str | None = None


class DeltaBase(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    """What all deltas have: a type."""

    @property
    def type(self) -> str:
        """Which delta it is, as in JSON: `text` or `tool_call`."""
        return str(self.__struct_config__.tag)


class MessageStart(DeltaBase, frozen=True, gc=False, tag="message_start"):
    """What is known of the message itself; each field: the first non-empty one counts."""

    id: str | None = None
    model: str | None = None
    created_at: datetime | None = None
    name: str | None = None
    provider: str | None = None


class Restarted(DeltaBase, frozen=True, gc=False, tag="restarted"):
    """The peer began the message anew: what came before it is void, but for the warnings, which say what was seen."""


class TextDelta(DeltaBase, frozen=True, gc=False, tag="text"):
    """More text."""

    text: str
    part: int | None = None
    choice: int = 0


class ReasoningDelta(DeltaBase, frozen=True, gc=False, tag="reasoning"):
    """More reasoning: text, pieces of a signature or of encrypted data (joined), and a provider's details (listed)."""

    text: str = ""
    part: int | None = None
    choice: int = 0
    signature: str | None = None
    encrypted: str | None = None
    details: tuple[JSON, ...] = ()


class RefusalDelta(DeltaBase, frozen=True, gc=False, tag="refusal"):
    """More of a refusal."""

    text: str
    part: int | None = None
    choice: int = 0


class ToolCallFragment(DeltaBase, frozen=True, gc=False, tag="tool_call"):
    """A piece of a tool call.

    Attributes:
        id, name: as the wire gave them; None and "" say nothing.
        arguments: a piece of the raw text; a dictionary where a wire sends objects.
        index: the wire's index; None or below 0 says nothing.
        kind: `function`, `custom` or `provider`; None says nothing.
        part, choice: where it belongs; with a `part` the call is the one of that part, without one the identity rule decides.
        is_id_optional: the protocol allows calls without id here, so a missing one is no fault.
        event, offset: where in the stream it came.
        provider_data: opaque data of the call; merged by key, the last value counts.
    """

    id: str | None = None
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    index: int | None = None
    kind: CallKind | None = None
    part: int | None = None
    choice: int = 0
    is_id_optional: bool = False
    event: int | None = None
    offset: int | None = None
    provider_data: dict[str, Any] = EMPTY


class ToolCallSettled(DeltaBase, frozen=True, gc=False, tag="tool_call_settled"):
    """The wire says that a call is whole: a late id, the final arguments (they fill a gap, they never add)."""

    part: int
    id: str | None = None
    arguments: str | None = None
    choice: int = 0


class ToolResultDelta(DeltaBase, frozen=True, gc=False, tag="tool_result"):
    """What is known of a tool's result: whose it is and how it ended; the content comes as text and parts."""

    call_id: str | None = None
    name: str | None = None
    state: ResultState | None = None


class MediaDelta(DeltaBase, frozen=True, gc=False, tag="media"):
    """A piece of media: bytes (already decoded, joined once at the end), a piece of its transcript, or what it is."""

    kind: MediaKind
    data: bytes = b""
    transcript: str = ""
    id: str | None = None
    media_type: str | None = None
    part: int | None = None
    choice: int = 0


class PartDelta(DeltaBase, frozen=True, gc=False, tag="part"):
    """A whole part: it stands by itself, nothing joins it."""

    value: Part
    part: int | None = None
    choice: int = 0


class PartDataDelta(DeltaBase, frozen=True, gc=False, tag="part_data"):
    """Opaque data of a part of text, reasoning or refusal, to go back with it: merged by key, the last value counts; no data says nothing.

    Without `part` it is data of the last part of that kind; where there is none yet, one is opened.
    """

    values: dict[str, Any]
    kind: Literal["text", "reasoning", "refusal"] = "text"
    part: int | None = None
    choice: int = 0


class ProviderToolFragment(DeltaBase, frozen=True, gc=False, tag="provider_tool"):
    """A piece of a tool call that the provider runs itself, or of what it gave.

    Attributes:
        id, name, provider: the first non-empty one counts.
        arguments: a piece of the raw text.
        result: what came out; the last value that is not None counts.
        part, choice: where it belongs; without a `part` it continues the part that was opened last, if that is such a call.
        provider_data: opaque data of the call; merged by key, the last value counts.
    """

    id: str | None = None
    name: str | None = None
    arguments: str | None = None
    result: Any = None
    provider: str | None = None
    part: int | None = None
    choice: int = 0
    provider_data: dict[str, Any] = EMPTY


class CitationDelta(DeltaBase, frozen=True, gc=False, tag="citation"):
    """A citation of the text part; without text one is opened for it."""

    citation: JSON
    part: int | None = None
    choice: int = 0


class UsageDelta(DeltaBase, frozen=True, gc=False, tag="usage"):
    """A report of usage; field by field the last one that is not None counts."""

    usage: Usage


class LogprobsDelta(DeltaBase, frozen=True, gc=False, tag="logprobs"):
    """Log-probabilities: lists are joined, by key where they come in a mapping."""

    logprobs: JSON
    choice: int = 0


class TokenIdsDelta(DeltaBase, frozen=True, gc=False, tag="token_ids"):
    """Token ids: the prompt's (the first non-empty list counts) and the completion's (joined)."""

    prompt: tuple[int, ...] | None = None
    completion: tuple[int, ...] | None = None
    choice: int = 0


class ParsedDelta(DeltaBase, frozen=True, gc=False, tag="parsed"):
    """A piece of an output parser's value, for `merge_values`."""

    value: Any
    choice: int = 0


class FinishDelta(DeltaBase, frozen=True, gc=False, tag="finish"):
    """A provider's word for why it stopped; `reason` where the word alone does not tell."""

    word: str
    choice: int = 0
    reason: FinishReason | None = None
    event: int | None = None
    offset: int | None = None


class MetadataDelta(DeltaBase, frozen=True, gc=False, tag="metadata"):
    """Metadata for `merge_values`; of the keys in `snapshot_keys` the last value counts."""

    values: dict[str, Any]
    snapshot_keys: tuple[str, ...] = ()
    choice: int = 0


class WarningDelta(DeltaBase, frozen=True, gc=False, tag="warning"):
    """A repair that the decoder made or an oddity that it saw."""

    warning: Warning


class Ended(DeltaBase, frozen=True, gc=False, tag="ended"):
    """The last delta of a stream, given by `close()`.

    Attributes:
        error: why the stream failed, or None.
        is_terminated: the wire itself said that the message is whole (a terminator or terminal event).
    """

    error: StreamError | None = None
    is_terminated: bool = False


Delta: TypeAlias = (
    MessageStart
    | Restarted
    | TextDelta
    | ReasoningDelta
    | RefusalDelta
    | ToolCallFragment
    | ToolCallSettled
    | ToolResultDelta
    | MediaDelta
    | PartDelta
    | PartDataDelta
    | ProviderToolFragment
    | CitationDelta
    | UsageDelta
    | LogprobsDelta
    | TokenIdsDelta
    | ParsedDelta
    | FinishDelta
    | MetadataDelta
    | WarningDelta
    | Ended
)
