"""What a tool of an MCP server gave back, as parts.

The rule of this file: every block of the result is kept, as the part that says most about it; one that we do not understand
stays as JSON. What was said twice, as text and as structured content, is said once. Bounds on bytes are the tool's own.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote, urlsplit

from headrace._json import JSONError, dumps_text, freeze, loads
from headrace.agent.mcp.streams import KEPT
from headrace.errors import UsageError
from headrace.messages.parts import JsonPart, MediaKind, MediaPart, Part, TextPart

if TYPE_CHECKING:
    from mcp.types import CallToolResult

MAX_BLOCKS: Final = 1_000
"""How many blocks of one result are kept."""
MAX_DETAIL_CHARS: Final = 2_000
"""How much of the details of an error is told."""
_MEDIA: Final[dict[str, MediaKind]] = {"image": "image", "audio": "audio", "video": "video"}


def parts_of_result(result: CallToolResult) -> list[Part]:
    """Return the content of a result as parts, structured content first.

    Text becomes a `TextPart`; images, sounds and binary resources a `MediaPart`; a text resource a `TextPart` under its address; a
    link to a resource, what cannot be decoded and kinds of content that we do not know a `JsonPart`. Structured content is a
    `JsonPart`, and the texts that only repeat it are left out; one that merely wraps a plain text (`{"result": text}`) is that text.
    """
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content[:MAX_BLOCKS]]
    structured: Any = result.structured_content
    texts = [block for block in blocks if block.get("type") == "text" and KEPT not in block.get("_meta", {})]
    parts: list[Part] = []
    if structured is not None and not _is_plain_text(structured, texts):
        parts.append(JsonPart(structured))
        if _repeats([str(block.get("text", "")) for block in texts], structured):
            blocks = [block for block in blocks if block not in texts]
    for block in blocks:
        part = _part(block)
        if isinstance(part, TextPart) and parts and isinstance(parts[-1], TextPart) and not parts[-1].text.endswith("\n"):
            part = TextPart(f"\n{part.text}")  # neighbouring texts are joined with nothing, and these are two
        parts += [] if part is None else [part]
    if len(result.content) > MAX_BLOCKS:
        parts.append(TextPart(f"\n[cut here: {len(result.content) - MAX_BLOCKS} more blocks of content were left out]"))
    return parts


def error_text(result: CallToolResult) -> str:
    """Return what a failed call said, as one text for the model."""
    said: list[str] = []
    for part in parts_of_result(result):
        if isinstance(part, TextPart):
            said.append(part.text)
        elif isinstance(part, JsonPart):
            said.append(dumps_text(part.value))
        elif isinstance(part, MediaPart):
            said.append(f"[{part.media_type or part.kind}]")
    return "\n".join(said).strip() or "the tool failed, and did not say why"


def refusal_text(message: str, data: object) -> str:
    """Return a protocol error as a text for the model, with the details that the server gave."""
    if data is None or data == "":
        return message or "the server refused the call"
    try:
        details = data if isinstance(data, str) else dumps_text(freeze(data))
    except (UsageError, JSONError):
        return message
    return f"{message}: {details[:MAX_DETAIL_CHARS]}"


def _unwrapped(structured: Any) -> Any:
    """Return what stands in `{"result": …}`, the usual wrapping of a value that is no object."""
    fields = cast("dict[str, Any]", structured) if isinstance(structured, dict) else {}
    return fields["result"] if set(fields) == {"result"} else cast("Any", structured)


def _is_plain_text(structured: Any, texts: Sequence[dict[str, Any]]) -> bool:
    value = _unwrapped(structured)
    return isinstance(value, str) and len(texts) == 1 and texts[0].get("text") == value


def _repeats(texts: Sequence[str], structured: Any) -> bool:
    """Return whether texts only write the structured content down: as a whole, unwrapped, or one text for each item."""
    value = _unwrapped(structured)
    if len(texts) == 1 and any(_is_written(texts[0], one) for one in (structured, value)):
        return True
    items = cast("list[object]", value) if isinstance(value, list) else []
    return len(items) == len(texts) > 0 and all(_is_written(text, item) for text, item in zip(texts, items, strict=True))


def _is_written(text: str, value: object) -> bool:
    if isinstance(value, str) and text == value:
        return True
    try:
        return bool(loads(text) == value)
    except JSONError:
        return False


def _part(block: dict[str, Any]) -> Part | None:
    kept = block.get("_meta", {}).get(KEPT)
    if kept is not None:
        return JsonPart(kept)
    match block.get("type"):
        case "text":
            return TextPart(block["text"]) if block["text"] else None
        case "image" | "audio":
            return _media(block["data"], block.get("mimeType"), None) or JsonPart(block)
        case "resource":
            return _resource(block["resource"]) or JsonPart(block)
        case _:
            return JsonPart(block)


def _resource(resource: dict[str, Any]) -> Part | None:
    address = str(resource.get("uri", ""))
    if "text" in resource:
        return TextPart(f"[{address}]\n{resource['text']}\n")
    name = unquote(urlsplit(address).path.rpartition("/")[2]) or None
    return _media(resource.get("blob", ""), resource.get("mimeType"), name)


def _media(data: str, media_type: str | None, name: str | None) -> MediaPart | None:
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = _MEDIA.get((media_type or "").partition("/")[0], "document")
    return MediaPart(kind=kind, data=decoded, media_type=media_type, name=name)
