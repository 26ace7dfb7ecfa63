"""The words and small values that messages are described with, and the fields that their constructors take.

The rule of this file: what a field may hold. What a constructor does with it stands in `message.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Literal, TypeAlias, TypedDict

import msgspec

from headrace.errors import UsageError
from headrace.messages.checked import CheckedMeta
from headrace.messages.finish import FinishReason
from headrace.messages.parts import Part, ResultState
from headrace.messages.usage import Usage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Origin: TypeAlias = Literal["user", "model", "tool", "framework"]
GenerateReason: TypeAlias = Literal[
    "completed", "tool_calls", "structured_output", "awaiting_approval", "awaiting_external", "all_denied", "interrupted",
    "max_rounds", "limit", "stopped", "length", "content_filter", "error",
]  # fmt: skip
Content: TypeAlias = str | Part | Mapping[str, Any] | Sequence[Any] | int | float | None
"""What a person may give as content: a text, a part, a part's dictionary, any JSON value, or a list of these."""


class Timing(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, metaclass=CheckedMeta):
    """How long a model call took, in seconds from sending the request.

    Attributes:
        first_chunk_s: until the first chunk, or None if none came.
        total_s: until the end, or None if unknown.
    """

    first_chunk_s: float | None = None
    total_s: float | None = None

    def __post_init__(self) -> None:
        """Check that both can be written as JSON."""
        for name, value in (("first_chunk_s", self.first_chunk_s), ("total_s", self.total_s)):
            if isinstance(value, float) and not isfinite(value):
                raise UsageError(f"timing.{name} is {value!r}, which JSON cannot hold", argument=f"timing.{name}")


class MessageFields(TypedDict, total=False):
    """What every message takes by keyword; the attributes are described at `Message`."""

    parts: Content
    id: str | None
    name: str | None
    created_at: datetime | None
    metadata: Mapping[str, Any] | None
    origin: Origin
    reminder_kind: str | None


class AssistantFields(MessageFields, total=False):
    """What an assistant message takes by keyword; the attributes are described at `AssistantMessage`."""

    model: str | None
    provider: str | None
    run_id: str | None
    usage: Usage | Mapping[str, Any] | None
    timing: Timing | Mapping[str, float | None] | None
    finish_reason: FinishReason | None
    finish_reason_raw: str | None
    generate_reason: GenerateReason | None
    structured_output: Any
    parsed: Any
    warnings: Sequence[Warning]
    logprobs: Any
    prompt_token_ids: Sequence[int] | None
    completion_token_ids: Sequence[int] | None


class ToolFields(MessageFields, total=False):
    """What a tool message takes by keyword: with `call_id`, its content becomes one result."""

    call_id: str
    state: ResultState


def utc(at: object) -> datetime:
    """Return a time as a plain one in UTC.

    Raises:
        UsageError: it is no time, or has no time zone.
    """
    if not isinstance(at, datetime):
        raise UsageError(f"created_at is a {type(at).__name__}, not a datetime", argument="created_at")
    if at.tzinfo is UTC and type(at) is datetime:
        return at
    if at.utcoffset() is None:
        raise UsageError(f"created_at is {at!r} without a time zone; give one in UTC", argument="created_at")
    try:
        moved = at.astimezone(UTC)
    except OverflowError as error:
        raise UsageError(f"created_at is {at!r}, which lies outside of UTC's calendar", argument="created_at") from error
    return datetime.combine(moved.date(), moved.timetz())  # a subclass becomes plain, since only plain ones can be written
