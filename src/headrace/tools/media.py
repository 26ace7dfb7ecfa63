"""A file as a part, for tools that give back images and documents.

The rule of this file: the media type comes from the file's name by a table of our own, the same on every machine.
"""

from __future__ import annotations

import mimetypes
from os import PathLike
from pathlib import Path
from typing import Final

from headrace.errors import UsageError
from headrace.messages.parts import MediaKind, MediaPart
from headrace.tools.output import MAX_MEDIA_BYTES

_TYPES: Final = mimetypes.MimeTypes(filenames=())  # the library's own table, not the system's files
for _suffix, _type in ((".webp", "image/webp"), (".md", "text/markdown"), (".flac", "audio/flac"), (".ogg", "audio/ogg")):
    _TYPES.add_type(_type, _suffix)


def media_file(path: str | PathLike[str], *, media_type: str | None = None, name: str | None = None) -> MediaPart:
    """Read a file into a `MediaPart`: an image, a sound, a video, or else a document.

    Args:
        path: the file.
        media_type: what it is, if its name does not say so.
        name: the name that it is sent under; its own if not given.

    Raises:
        UsageError: its type cannot be told, or it holds more than `MAX_MEDIA_BYTES`; the error says how much.
        OSError: it cannot be read.
    """
    path = Path(path)
    found = media_type or _TYPES.guess_type(path.name)[0]
    if found is None:
        raise UsageError(f"the type of {path.name!r} cannot be told from its name; give media_type=…", argument="media_type")
    with path.open("rb") as file:
        data = file.read(MAX_MEDIA_BYTES + 1)
    if len(data) > MAX_MEDIA_BYTES:
        raise UsageError(f"{path.name!r} holds {path.stat().st_size} bytes; a tool may give back {MAX_MEDIA_BYTES}", argument="path")
    return MediaPart(kind=_kind(found), data=data, media_type=found, name=name or path.name)


def _kind(media_type: str) -> MediaKind:
    match media_type.split("/", 1)[0].lower():
        case "image" | "audio" | "video" as kind:
            return kind
        case _:
            return "document"
