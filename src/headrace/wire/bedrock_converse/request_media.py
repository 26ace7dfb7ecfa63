"""Media as blocks of Converse.

The rule of this file: the wire takes the bytes themselves, or an object in S3; a medium elsewhere, or of a format that the wire has no
word for, is left out with its reason, never with a guess.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
"""

# Parts and metadata hold JSON of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import re
from typing import Any, Final

from headrace.messages.parts import MediaKind, MediaPart
from headrace.wire.bedrock_converse.media_types import format_of
from headrace.wire.profile import Profile

Block = dict[str, Any]
_MAGIC: Final = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
    (b"%PDF", "application/pdf"),
)
_USUAL: Final[dict[MediaKind, str]] = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf"}
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9\s\-()\[\]]+")
_MAX_NAME: Final = 200
_DOCUMENT: Final = "document"


def media_block(part: MediaPart, profile: Profile) -> Block | str:
    """Return a medium as a block, or why there is no place for it."""
    kind = part.kind
    is_supported = {
        "image": profile.supports_images,
        "audio": profile.supports_audio,
        "video": profile.supports_video,
        "document": profile.supports_files,
    }[kind]
    if not is_supported:
        return f"{kind}: this provider takes none"
    source, media_type = _source(part)
    if source is None:
        return f"{kind}: only the {kind} itself or its place in S3 can be sent on this wire"
    known = part.media_type or media_type or _USUAL[kind]
    name = format_of(kind, known)
    if name is None:
        return f"{kind}: the wire has no word for the format {known}"
    rest = {key: value for key, value in part.provider_data.items() if key not in ("format", "source", "name", *CACHE_MARKS)}
    title = {"name": document_name(part.name)} if kind == _DOCUMENT else {}
    return {kind: {"format": name, **title, "source": source, **rest}}


def document_name(name: str | None) -> str:
    """Return a document's name in the letters that the wire allows, without its ending; a neutral word where none is left."""
    stem = (name or "").rpartition(".")[0] or name or ""
    return " ".join(_NOT_IN_NAMES.sub(" ", stem).split())[:_MAX_NAME].strip() or _DOCUMENT


CACHE_MARKS: Final = ("cachePoint", "cache_control")
"""What a caller puts into `provider_data` or `metadata` to have everything up to there kept in the prompt cache, in two spellings."""


def cache_point(marks: dict[str, Any]) -> Block | None:
    """Return the block that ends what is to be cached, or None if nobody asked for one."""
    own, other = (marks.get(name) for name in CACHE_MARKS)
    mark = own if isinstance(own, dict) else other if isinstance(other, dict) else None
    if mark is None:
        return None
    ttl = {"ttl": mark["ttl"]} if isinstance(mark.get("ttl"), str) else {}
    return {"cachePoint": {"type": "default", **ttl}}


def _source(part: MediaPart) -> tuple[Block | None, str | None]:
    """Return where a medium is, and the media type that its data say."""
    if part.data is not None:
        data = part.data
        return {"bytes": base64.b64encode(data).decode("ascii")}, next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
    url = part.url or ""
    if url.startswith("s3://"):
        return {"s3Location": {"uri": url}}, None
    head, comma, data_text = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return {"bytes": data_text}, head.removeprefix("data:").partition(";")[0] or None
    return None, None
