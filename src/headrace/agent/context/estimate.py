"""How many tokens something is, about, without a tokeniser.

The rule of this file: one look at each text, and sums add up: the estimate of a list is the sum of its messages' estimates. So whoever
holds the numbers of messages (a `View` does) never counts one twice. The error of the guess is taken out by the caller, with what
providers report (`View.learn`).

Weights: four ASCII letters a token; beyond ASCII three bytes of UTF-8, which is one token for a Chinese character, two for three Cyrillic
letters; three bytes for JSON, whose brackets and quotes are short tokens; a fixed number for media, since no wire says their size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never

from headrace._json import JSON, dumps
from headrace.messages.message import Message
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    Part,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from headrace.messages.request import ToolSpec

ASCII_PER_TOKEN: Final = 4
BYTES_PER_TOKEN: Final = 3
"""Of UTF-8 beyond ASCII, and of JSON."""
MESSAGE_TOKENS: Final = 4
"""What a message costs beside its content: its role and the marks around it."""
CALL_TOKENS: Final = 8
"""What a call or a result costs beside its name and content: the id and the marks."""
TOOL_TOKENS: Final = 12
MEDIA_TOKENS: Final = {"image": 1_200, "audio": 2_000, "video": 8_000, "document": 4_000}

Estimated: TypeAlias = str | Part | Message | ToolSpec


def estimate_tokens(value: Estimated | Iterable[Estimated]) -> int:
    """Return about how many tokens a text, a part, a message, a tool or several of them take in a request.

    Linear in the size of what is given; nothing is remembered. Of a list it is the sum of the items' estimates.
    """
    if isinstance(value, str):
        return math.ceil(_text(value))
    if isinstance(value, Message):
        named = _text(value.name) if value.name else 0
        return math.ceil(MESSAGE_TOKENS + named + sum(map(_part, value.parts)))
    if isinstance(value, ToolSpec):
        return math.ceil(TOOL_TOKENS + _text(value.name) + _text(value.description) + _json(value.parameters))
    if isinstance(value, Part):
        return math.ceil(_part(value))
    return sum(map(estimate_tokens, value))


def _text(text: str) -> float:
    if text.isascii():
        return len(text) / ASCII_PER_TOKEN
    plain = len(text.encode("ascii", "ignore"))
    return plain / ASCII_PER_TOKEN + (len(text.encode("utf-8", "surrogatepass")) - plain) / BYTES_PER_TOKEN


def _json(value: JSON) -> float:
    return len(dumps(value)) / BYTES_PER_TOKEN


def _part(part: Part) -> float:
    match part:
        case TextPart() | RefusalPart():
            return _text(part.text)
        case ReasoningPart():
            # A signature proves and is not read; encrypted thinking is read, and base64 makes it a third longer.
            return _text(part.text) + len(part.encrypted or "") * 3 / 4 / ASCII_PER_TOKEN
        case ToolCallPart():
            return CALL_TOKENS + _text(part.name) + len(part.arguments.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN
        case ToolResultPart():
            return CALL_TOKENS + _text(part.name) + sum(map(_part, part.parts))
        case MediaPart():
            return MEDIA_TOKENS.get(part.kind, max(MEDIA_TOKENS.values())) + _text(part.transcript or "")
        case JsonPart():
            return _json(part.value)
        case ProviderToolPart():
            arguments = len(part.arguments.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN
            return CALL_TOKENS + _text(part.name) + arguments + (0 if part.result is None else _json(part.result))
        case ProviderItem():
            return len(part.raw) / BYTES_PER_TOKEN
        case OpaquePart():
            return _json(part.raw)
        case _:
            assert_never(part)
