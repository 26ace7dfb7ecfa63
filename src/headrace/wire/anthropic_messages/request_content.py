"""What people and tools give, as blocks of the Messages protocol: text, images, documents, results of tools.

The rule of this file: a block is made of what a part holds and of the part's own `provider_data`, so that a marker such as
`cache_control` can stand on it. What the wire or the server has no place for is left out with a note, never with a guess; a text of
nothing but spaces, which servers refuse, is no block.

Source: https://platform.claude.com/docs/en/api/messages.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from headrace._json import JSON, dumps_text
from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, Part, RefusalPart, ResultState, TextPart, ToolResultPart
from headrace.wire.encoding_cache import Note
from headrace.wire.openai_chat.request_results import ENDINGS
from headrace.wire.profile import Profile

CACHE_CONTROL: Final = "cache_control"
_MAGIC: Final = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"RIFF", "image/webp"))
_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})  # blocks that no cache marker may stand on
_NOT_IN_RESULTS: Final = "{}: this provider takes none in a tool's result"

Block = dict[str, Any]


class _Text:
    """Text that stands together, a JSON value on a line of its own."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._is_after_line = False

    def add(self, text: str, *, is_own_line: bool) -> None:
        is_apart = bool(self.pieces) and (is_own_line or self._is_after_line)
        if is_apart and not self.pieces[-1].endswith("\n") and not text.startswith("\n"):
            self.pieces.append("\n")
        self.pieces.append(text)
        self._is_after_line = is_own_line


class Blocks:
    """Collects the blocks of one message, in order; texts that stand next to each other are one."""

    def __init__(self) -> None:
        """Start empty."""
        self._items: list[Any] = []

    def add_text(self, text: str, *, is_own_line: bool = False) -> None:
        """Add text to the text before it; an empty one adds nothing."""
        if not text:
            return
        if not self._items or not isinstance(self._items[-1], _Text):
            self._items.append(_Text())
        self._items[-1].add(text, is_own_line=is_own_line)

    def add(self, block: Any) -> None:
        """Add a block that is no plain text."""
        self._items.append(block)

    def take(self) -> list[Any]:
        """Return the blocks: dictionaries, or encoded JSON where a block has to go back as it came."""
        blocks = [_text_block("".join(item.pieces)) if isinstance(item, _Text) else item for item in self._items]
        return [block for block in blocks if block is not None]


def _text_block(text: str) -> Block | None:
    return {"type": "text", "text": text} if text.strip() else None


def marked(blocks: list[Any], metadata: dict[str, Any]) -> list[Any]:
    """Return the blocks with the message's own cache marker on the last one that may have one."""
    marker = metadata.get(CACHE_CONTROL)
    if isinstance(marker, dict):
        for n in range(len(blocks) - 1, -1, -1):
            if isinstance(blocks[n], dict) and blocks[n]["type"] not in _UNMARKED:
                return [*blocks[:n], {**blocks[n], CACHE_CONTROL: marker}, *blocks[n + 1 :]]
    return blocks


def content(parts: Sequence[Part], profile: Profile, notes: list[Note], *, where: str = "") -> list[Any]:
    """Return what a person or a tool gave as blocks.

    Args:
        parts: the parts.
        profile: what the server takes.
        notes: takes what was left out.
        where: what stands behind a note; in a tool's result a word stands in for what is left out.
    """
    blocks = Blocks()
    for n, part in enumerate(parts):
        match part:
            case TextPart() if part.provider_data and part.text.strip():
                blocks.add({"type": "text", "text": part.text, **part.provider_data})
            case TextPart() | RefusalPart():
                blocks.add_text(part.text)
            case JsonPart():
                blocks.add_text(dumps_text(part.value), is_own_line=True)
            case MediaPart():
                block = media_block(part, profile) if not where or profile.supports_images_in_results else _NOT_IN_RESULTS.format(part.kind)
                if isinstance(block, str):
                    notes.append(Note(n, block + where))
                    if where:
                        blocks.add_text(f"[{part.kind}, which could not be passed on]", is_own_line=True)
                else:
                    blocks.add(block)
            case OpaquePart():
                notes.append(Note(n, f"a part of the type {part.raw['type']!r}{where}"))
            case _:
                notes.append(Note(n, f"a {type(part).__name__}{where}"))
    return blocks.take()


def media_block(part: MediaPart, profile: Profile) -> Block | str:
    """Return an image or a document as a block, or why there is no place for it."""
    is_supported = (part.kind == "image" and profile.supports_images) or (part.kind == "document" and profile.supports_files)
    if not is_supported:
        return f"{part.kind}: this provider takes none"
    rest = {key: value for key, value in part.provider_data.items() if key not in ("type", "source")}
    title = {"title": part.name} if part.kind == "document" and part.name else {}
    return {"type": part.kind, "source": _source(part), **title, **rest}


def _source(part: MediaPart) -> Block:
    if part.file_id is not None:
        return {"type": "file", "file_id": part.file_id}
    if part.data is not None:
        return _inline(part, part.data, part.media_type)
    url = part.url or ""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        media_type = part.media_type or head.removeprefix("data:").partition(";")[0] or None
        return {"type": "base64", "media_type": media_type or _usual(part), "data": data}
    return {"type": "url", "url": url}


def _inline(part: MediaPart, data: bytes, media_type: str | None) -> Block:
    if part.kind == "document" and (media_type or "").startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": data.decode("utf-8", "replace")}
    known = media_type or next((kind for magic, kind in _MAGIC if data.startswith(magic)), None) or _usual(part)
    return {"type": "base64", "media_type": known, "data": base64.b64encode(data).decode("ascii")}


def _usual(part: MediaPart) -> str:
    return "image/png" if part.kind == "image" else "application/pdf"


def result_block(result: ToolResultPart, wire_id: str, name: str, profile: Profile, notes: list[Note]) -> Block:
    """Return what a tool gave for one call: text, images and documents; how it ended is said by a flag, and where that says too little in words."""
    blocks = content(result.parts, profile, notes, where=f" (in the result of {name})")
    block: Block = {"type": "tool_result", "tool_use_id": wire_id}
    value = _with_ending(blocks, result.state)
    if value:
        block["content"] = value
    if result.state != "success":
        block["is_error"] = True
    marker = result.metadata.get(CACHE_CONTROL)
    return {**block, CACHE_CONTROL: marker} if isinstance(marker, dict) else block


def _with_ending(blocks: list[Any], state: ResultState) -> JSON:
    plain = blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"type", "text"} else None
    if state == "success":
        return plain if plain is not None else blocks
    before, alone = ENDINGS[state]
    if not blocks:
        return alone
    if state == "error":  # the flag says that already
        return plain if plain is not None else blocks
    return before + plain if plain is not None else [{"type": "text", "text": before.rstrip()}, *blocks]
