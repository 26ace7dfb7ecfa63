"""The short way for the events that make up nearly all of a stream: a piece of text, of thinking, or of a call's arguments.

The rule of this file: it understands an event completely or not at all. The Structs forbid unknown fields, so an event with anything
unexpected is refused and takes the general way, which keeps everything; both ways give the same deltas (a test holds them together).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec


class FastText(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="text_delta"):
    """A piece of text."""

    text: str


class FastThinking(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="thinking_delta"):
    """A piece of thinking."""

    thinking: str


class FastArguments(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="input_json_delta"):
    """A piece of arguments."""

    partial_json: str


FastDelta: TypeAlias = FastText | FastThinking | FastArguments


class FastEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A delta of a block."""

    type: Literal["content_block_delta"]
    index: int
    delta: FastDelta


decode_event: Final = msgspec.json.Decoder(FastEvent).decode
NAME: Final = b"content_block_delta"
REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
