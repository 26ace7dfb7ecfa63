"""Converse's words for formats of media, and the media types that they stand for.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html (ImageBlock, DocumentBlock, VideoBlock, AudioBlock)
"""

from __future__ import annotations

from typing import Final

from headrace.messages.parts import MediaKind

_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
FORMATS: Final[dict[MediaKind, dict[str, str]]] = {
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": f"{_OFFICE}.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "video": {
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "wav": "audio/wav",
        "flac": "audio/flac",
        "ogg": "audio/ogg",
        "opus": "audio/opus",
        "aac": "audio/aac",
        "m4a": "audio/m4a",
        "mp4": "audio/mp4",
        "mpeg": "audio/x-mpeg",
        "mpga": "audio/mpga",
        "mka": "audio/x-matroska",
        "mkv": "audio/mkv",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
        "x-aac": "audio/x-aac",
    },
}
"""For each kind of medium: the wire's word for a format, and its media type."""
_OTHER_NAMES: Final = {"image/jpg": "jpeg", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mp3": "mp3", "text/x-markdown": "md"}


def media_type_of(kind: MediaKind, name: str | None) -> str | None:
    """Return the media type of a format, or None if nobody said one."""
    if name is None:
        return None
    family = "application" if kind == "document" else kind
    return FORMATS[kind].get(name, f"{family}/{name}")


def format_of(kind: MediaKind, media_type: str) -> str | None:
    """Return the wire's word for a media type, or None if it has none."""
    plain = media_type.partition(";")[0].strip().lower()
    found = next((name for name, known in FORMATS[kind].items() if known == plain), None) or _OTHER_NAMES.get(plain)
    return found if found in FORMATS[kind] else None
