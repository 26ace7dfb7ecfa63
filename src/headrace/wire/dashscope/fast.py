"""The short way for the events that make up nearly all of a stream: a piece of one choice's text or reasoning.

The rule of this file: it understands an event completely or not at all. The Structs forbid unknown fields, so an event with anything
unexpected is refused and takes the general way, which keeps everything; both ways give the same deltas (a test holds them together).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

_NOTHING: Final = msgspec.Raw()


class FastMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A message without calls and media."""

    content: str = ""
    reasoning_content: str = ""
    role: Literal["assistant"] = "assistant"


class FastChoice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A choice that goes on."""

    message: FastMessage
    finish_reason: Literal["null"] | None = None
    index: Literal[0] = 0


class FastOutput(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What an event holds beside its usage."""

    choices: list[FastChoice]


class FastEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event; its usage is read when it is asked for, since the next one replaces it."""

    output: FastOutput
    usage: msgspec.Raw = _NOTHING
    request_id: str = ""


decode_event: Final = msgspec.json.Decoder(FastEvent).decode
REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
