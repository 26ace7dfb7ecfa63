"""The short way for the events that make up nearly all of a stream: one piece of text or of thinking.

The rule of this file: it understands an event completely or not at all. The Structs forbid unknown fields, so an event with anything
unexpected is refused and takes the general way, which keeps everything; both ways give the same deltas (a test holds them together).
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec


class FastPart(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A part that is text and carries nothing else."""

    text: str
    thought: bool = False


class FastContent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The content of a candidate."""

    parts: list[FastPart]
    role: Literal["model"] | None = None


class FastCandidate(msgspec.Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    """A candidate that has not finished; its safety ratings are understood only where they are the same bytes as before."""

    content: FastContent
    index: int = 0
    finish_reason: None = None
    safety_ratings: msgspec.Raw = msgspec.Raw()


class FastEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    """An event."""

    candidates: list[FastCandidate]
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None


decode_event: Final = msgspec.json.Decoder(FastEvent).decode
REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


class _RawContent(msgspec.Struct):
    parts: list[msgspec.Raw]


class _RawCandidate(msgspec.Struct):
    content: _RawContent


class _RawEvent(msgspec.Struct):
    candidates: list[_RawCandidate]


_decode_raw: Final = msgspec.json.Decoder(_RawEvent).decode


def raw_part(data: bytes, candidate: int, part: int) -> bytes | None:
    """Return the bytes of a part of an event as they came; None where the data is not one such event."""
    try:
        return bytes(_decode_raw(data).candidates[candidate].content.parts[part])
    except (*REFUSED, IndexError, TypeError):
        return None
