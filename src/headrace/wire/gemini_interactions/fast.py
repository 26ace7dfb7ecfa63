"""The short way for the events that make up nearly all of a stream: one more piece of text.

The rule of this file: it understands an event completely or not at all; an event with anything unexpected is refused and takes the
general way, which keeps everything.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec


class FastDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of text."""

    text: str
    type: Literal["text"]


class FastEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event with a piece of text."""

    index: int
    delta: FastDelta
    event_type: Literal["step.delta"]
    event_id: str | None = None


decode_event: Final = msgspec.json.Decoder(FastEvent).decode
REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
