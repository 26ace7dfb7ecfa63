"""Media as parts of a generateContent body.

The rule of this file: bytes go inline, an address or an uploaded file by its name; what the server has no place for is left out with a
note, never with a guess.

Source: https://ai.google.dev/api/caching#Part.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from headrace.messages.parts import MediaKind, MediaPart
from headrace.wire.profile import Profile

_MAGIC: Final = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"RIFF", "image/webp"))
_USUAL: Final[dict[MediaKind, str]] = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf"}


def media_part(part: MediaPart, profile: Profile) -> dict[str, Any] | str:
    """Return a medium as a part of the wire, or why there is no place for it."""
    is_supported = {
        "image": profile.supports_images,
        "audio": profile.supports_audio,
        "video": profile.supports_video,
        "document": profile.supports_files,
    }[part.kind]
    if not is_supported:
        return f"{part.kind}: this provider takes none"
    inline = _inline(part)
    if inline is not None:
        return {"inlineData": inline}
    media_type = {} if part.media_type is None else {"mimeType": part.media_type}
    return {"fileData": {**media_type, "fileUri": part.url if part.url is not None else part.file_id}}


def is_inline(part: MediaPart) -> bool:
    """Return whether the medium itself is there, not only its address."""
    return _inline(part) is not None


def _inline(part: MediaPart) -> dict[str, str] | None:
    if part.data is not None:
        data = part.data
        media_type = part.media_type or next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
        return {"mimeType": media_type or _USUAL[part.kind], "data": base64.b64encode(data).decode("ascii")}
    head, comma, text = (part.url or "").partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    media_type = part.media_type or head.removeprefix("data:").partition(";")[0]
    return {"mimeType": media_type or _USUAL[part.kind], "data": text}
