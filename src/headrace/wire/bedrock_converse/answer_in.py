"""Blocks of an answer that was not streamed, read as the stream that they would have been.

The rule of this file: it only spells a whole block as its pieces, so that both ways of asking give the same message; what has no
spelling is kept as the item that it is.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import JSON
from headrace.messages.deltas import PartDelta
from headrace.messages.parts import MediaKind, MediaPart, Part, make
from headrace.wire.bedrock_converse.block_in import BlockReader
from headrace.wire.bedrock_converse.media_types import media_type_of
from headrace.wire.bedrock_converse.payload import decoded_base64, word

_MEDIA: Final[dict[str, MediaKind]] = {"image": "image", "video": "video", "audio": "audio", "document": "document"}


def read_block(blocks: BlockReader, index: int, block: Mapping[str, Any]) -> list[PartDelta]:
    """Read a whole block.

    Returns:
        The parts that are no pieces of anything: media, and items that are not understood.
    """
    pieces = _pieces(block)
    if pieces is None:
        medium = _media_of(block)
        return [blocks.item(block, index) if medium is None else PartDelta(medium, index)]
    start, deltas = pieces
    if start:
        blocks.start(index, start)
    for delta in deltas:
        blocks.delta(index, delta, is_whole=True)
    blocks.stop(index)
    return []


def _pieces(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    """Return the start of a block and its deltas, or None if it has none."""
    if len(block) != 1:
        return None
    ((name, value),) = block.items()
    if name == "text" and isinstance(value, str):
        return {}, [{"text": value}]
    if not isinstance(value, dict):
        return None
    match name:
        case "toolUse":
            return {name: _without(value, "input")}, [{name: {"input": {} if value.get("input") is None else value["input"]}}]
        case "toolResult":
            return {name: _without(value, "content")}, [{name: value.get("content") or []}]
        case "reasoningContent":
            inner = value.get("reasoningText")
            return {}, [{name: {**(inner if isinstance(inner, dict) else {}), **_without(value, "reasoningText")}}]
        case "citationsContent":
            texts = [piece for piece in _list(value.get("content")) if isinstance(piece, dict)]
            return {}, [*texts, *({"citation": citation} for citation in _list(value.get("citations")))]
        case _:
            return None


def _media_of(block: Mapping[str, Any]) -> Part | None:
    name, value = next(iter(block.items()), ("", None))
    kind = _MEDIA.get(name)
    source = value.get("source") if isinstance(value, dict) else None
    data = source.get("bytes") if isinstance(source, dict) else None
    held = decoded_base64(data) if isinstance(data, str) else None
    if kind is None or held is None or len(block) != 1 or not isinstance(value, dict):
        return None
    return make(MediaPart, kind=kind, data=held, media_type=media_type_of(kind, word(value.get("format"))), name=word(value.get("name")))


def _without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != name}


def _list(value: JSON) -> list[Any]:
    return value if isinstance(value, list) else []
