"""Makes texts and results shorter, to a number of tokens: the beginning and the end stay, the middle goes, and that is said.

The rule of this file: the same input gives the same output, so what was shortened is stored as a number and made again. Only text and JSON
are cut; media cannot be, and stay whole. What is short enough comes back as the very same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from headrace._json import dumps_text, replace_surrogates
from headrace.agent.context.estimate import MESSAGE_TOKENS, estimate_tokens
from headrace.messages.message import Message, ToolMessage
from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, Part, ProviderItem, TextPart, ToolResultPart

MIN_RESULT_TOKENS: Final = 100
"""No result is made shorter than this: less would say nothing."""

Note: TypeAlias = Callable[[int, int], str]
"""What stands where something was left out, from how many characters that are and at which character they begin."""
M = TypeVar("M", bound=Message)


def plain_note(left_out: int, _at: int) -> str:
    """Say that something was left out, and how much."""
    return f"\n[… {left_out} characters left out here …]\n"


def cut_text(text: str, limit_tokens: int, note: Note = plain_note) -> str:
    """Return a text of at most so many tokens: two thirds of it from its beginning, one third from its end, a note between.

    A limit below the note's own length gives the note alone.
    """
    total = estimate_tokens(text)
    if total <= limit_tokens:
        return text
    share = max(limit_tokens - estimate_tokens(note(len(text), len(text))), 0) / total
    while True:
        kept = int(len(text) * share)
        end = kept // 3
        head = kept - end
        short = text[:head] + note(len(text) - kept, head) + text[len(text) - end :]
        if not kept or estimate_tokens(short) <= limit_tokens:
            return short
        share *= 0.8  # the ends are heavier than the middle


def text_of(parts: Iterable[Part]) -> str:
    """Return the text and JSON among parts as one text: parts on lines of their own, media left out."""
    return "\n".join(_written(part) for part in parts if not stays(part))


def _written(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, JsonPart):
        return part.value if isinstance(part.value, str) else dumps_text(part.value)
    return dumps_text(part.raw) if isinstance(part, OpaquePart) else ""


def stays(part: Part) -> bool:
    """Return whether a part cannot be cut: media, and what only its provider understands."""
    return isinstance(part, (MediaPart, ProviderItem))


def shortened_parts(parts: Sequence[Part], limit_tokens: int, note: Note = plain_note) -> tuple[Part, ...]:
    """Return the text and JSON among parts as one shorter text, then the media as they are."""
    rest = tuple(part for part in parts if stays(part))
    room = max(limit_tokens - estimate_tokens(rest), 0)
    return (TextPart(replace_surrogates(cut_text(text_of(parts), room, note))), *rest)


def shortened_result(result: ToolResultPart, limit_tokens: int, note: Note = plain_note) -> ToolResultPart:
    """Return a result of about so many tokens, or the very same one if it is no longer; call, name and state stay."""
    if estimate_tokens(result) <= limit_tokens or all(map(stays, result.parts)):
        return result
    frame = estimate_tokens(msgspec.structs.replace(result, parts=()))
    parts = shortened_parts(result.parts, limit_tokens - frame, note)
    short = msgspec.structs.replace(result, parts=parts)
    return short if estimate_tokens(short) < estimate_tokens(result) else result


def shortened_message(message: M, limit_tokens: int) -> M:
    """Return a message in which each result, or else the content as a whole, is no longer than so many tokens."""
    if isinstance(message, ToolMessage):
        parts: tuple[Any, ...] = tuple(
            shortened_result(part, limit_tokens) if isinstance(part, ToolResultPart) else part for part in message.parts
        )
    elif estimate_tokens(message) <= limit_tokens or all(map(stays, message.parts)):
        return message
    else:
        parts = shortened_parts(message.parts, limit_tokens - MESSAGE_TOKENS)
    is_same = all(new is old for new, old in zip(parts, message.parts, strict=False)) and len(parts) == len(message.parts)
    return message if is_same else msgspec.structs.replace(message, parts=parts)


def common_cap(sizes: Iterable[int], room: int) -> int:
    """Return the largest cap for which sizes, each cut down to it, fit into a room; 0 if nothing fits."""
    ordered = sorted(sizes)
    left = max(room, 0)
    for n, size in enumerate(ordered):
        share = left // (len(ordered) - n)
        if size > share:
            return share
        left -= size
    return ordered[-1] if ordered else 0
