"""The short way for the events that make up nearly all of a stream: a piece of text, of thinking, of the tool plan, or of arguments.

The rule of this file: it understands an event completely or not at all. The Structs forbid unknown fields, so an event with anything
unexpected is refused and takes the general way, which keeps everything; both ways give the same deltas (a test holds them together).
"""

from __future__ import annotations

from typing import Final

import msgspec


class FastFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`function` of a call's piece: more arguments, nothing else."""

    arguments: str


class FastCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A call's piece."""

    function: FastFunction


class FastContent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of a block."""

    text: str | None = None
    thinking: str | None = None


class FastMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What an event adds to the message."""

    content: FastContent | None = None
    tool_calls: FastCall | None = None
    tool_plan: str | None = None


class FastDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The wrapper around it."""

    message: FastMessage


class FastEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event; which one is compared by the decoder."""

    type: str
    delta: FastDelta
    index: int | None = None


decode_event: Final = msgspec.json.Decoder(FastEvent).decode
REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
