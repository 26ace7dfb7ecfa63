"""The short way for the lines that make up nearly all of a stream: a piece of text or of thinking.

The rule of this file: it understands a line completely or not at all. The Structs forbid unknown fields, so a line with anything
unexpected is refused and takes the general way, which keeps everything; both ways give the same deltas (a test holds them together).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec


class FastMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The message of a line of `/api/chat`."""

    content: str = ""
    thinking: str = ""
    role: Literal["assistant"] = "assistant"


class FastLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line that is not the last; of `/api/chat` it has a message, of `/api/generate` a response. None of that repeats what came."""

    model: str
    message: FastMessage | None = None
    response: str = ""
    thinking: str = ""
    created_at: str = ""
    done: bool = False


decode_line: Final = msgspec.json.Decoder(FastLine).decode
REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
