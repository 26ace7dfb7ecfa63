"""What people and tools give, as blocks of Converse.

The rule of this file: a text of nothing but spaces, which servers refuse, is no block; what the wire has no place for is left out with a
note. How a tool's call ended stands in its status, and where that says too little in words.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html
"""

# Parts and metadata hold JSON of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace._json import dumps_text
from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, Part, RefusalPart, ResultState, TextPart, ToolResultPart
from headrace.wire.bedrock_converse.request_media import Block, cache_point, media_block
from headrace.wire.encoding_cache import Note
from headrace.wire.openai_chat.request_results import ENDINGS
from headrace.wire.profile import Profile

_IN_RESULTS: Final = frozenset({"image", "document", "video"})
_NOTHING: Final = "(no output)"


def text_block(text: str) -> list[Block]:
    """Return a text as a block, nothing for one that says nothing."""
    return [{"text": text}] if text.strip() else []


def content(parts: Sequence[Part], profile: Profile, notes: list[Note]) -> list[Block]:
    """Return what a person gave as blocks, with the cache points that its parts ask for."""
    blocks: list[Block] = []
    for n, part in enumerate(parts):
        match part:
            case TextPart() | RefusalPart():
                blocks += text_block(part.text)
            case JsonPart():
                blocks += text_block(dumps_text(part.value))
            case MediaPart():
                blocks += _media(n, part, profile, notes)
            case OpaquePart():
                notes.append(Note(n, f"a part of the type {part.raw['type']!r}"))
                continue
            case _:
                notes.append(Note(n, f"a {type(part).__name__}"))
                continue
        point = cache_point(part.provider_data)
        blocks += [point] if point and blocks else []
    return blocks


def _media(n: int, part: MediaPart, profile: Profile, notes: list[Note]) -> list[Block]:
    block = media_block(part, profile)
    if isinstance(block, str):
        notes.append(Note(n, block))
        return []
    return [block]


def result_blocks(result: ToolResultPart, wire_id: str, name: str, profile: Profile, notes: list[Note]) -> list[Block]:
    """Return what a tool gave for one call as a `toolResult` block, behind it a cache point if the result asks for one.

    Args:
        result: the result.
        wire_id: the id that its call goes by.
        name: the tool's name, for notes.
        profile: what the server takes.
        notes: takes what was left out.
    """
    inner: list[Block] = []
    for n, part in enumerate(result.parts):
        match part:
            case TextPart():
                inner += text_block(part.text)
            case JsonPart():
                inner += [{"json": part.value}] if isinstance(part.value, dict) else text_block(dumps_text(part.value))
            case MediaPart():
                inner += _result_media(n, part, name, profile, notes)
            case _:
                notes.append(Note(n, f"a {type(part).__name__} in the result of {name}"))
    is_success = result.state == "success"
    body: dict[str, Any] = {
        "toolUseId": wire_id,
        "content": _with_ending(inner, result.state),
        "status": "success" if is_success else "error",
    }
    point = cache_point(result.metadata)
    return [{"toolResult": body}, point] if point else [{"toolResult": body}]


def _result_media(n: int, part: MediaPart, name: str, profile: Profile, notes: list[Note]) -> list[Block]:
    is_possible = part.kind in _IN_RESULTS and profile.supports_images_in_results
    block = media_block(part, profile) if is_possible else f"{part.kind}: a result holds none on this wire"
    if isinstance(block, str):
        notes.append(Note(n, f"{block} (in the result of {name})"))
        return [{"text": f"[{part.kind}, which could not be passed on]"}]
    return [block]


def _with_ending(inner: list[Block], state: ResultState) -> list[Block]:
    if state == "success":
        return inner or [{"text": _NOTHING}]
    before, alone = ENDINGS[state]
    if not inner:
        return [{"text": alone}]
    return inner if state == "error" else [{"text": before.rstrip()}, *inner]
