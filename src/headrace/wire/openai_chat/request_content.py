"""Parts as the content of a Chat Completions message: a text where text is all there is, else a list of parts.

The rule of this file: texts stand next to each other as `.text` reads them, joined with nothing; a JSON value has its own
line. What the wire or the server has no place for is left out with a note, never with a guess.

Source: https://platform.openai.com/docs/api-reference/chat/create; `video_url` is a custom of several servers.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from headrace._json import JSON, dumps_text
from headrace.messages.parts import JsonPart, MediaKind, MediaPart, Part, RefusalPart, TextPart
from headrace.wire.encoding_cache import Note
from headrace.wire.profile import Profile

_MAGIC: Final = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"RIFF", "image/webp"))
_USUAL: Final[dict[MediaKind, str]] = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf"}
_AUDIO_FORMATS: Final = {"x-wav": "wav", "wave": "wav", "vnd.wave": "wav", "mpeg": "mp3", "mpeg3": "mp3", "x-m4a": "m4a", "l16": "pcm16"}


class Left(msgspec.Struct, frozen=True):
    """Why something is left out."""

    why: str


class _Text:
    """Text that stands together, a JSON value on a line of its own."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._is_after_line = False

    def add(self, text: str, *, is_own_line: bool = False) -> None:
        if (
            text
            and self.pieces
            and (is_own_line or self._is_after_line)
            and not self.pieces[-1].endswith("\n")
            and not text.startswith("\n")
        ):
            self.pieces.append("\n")
        self.pieces.append(text)
        self._is_after_line = is_own_line


class Content:
    """Collects the content of one message, in order."""

    def __init__(self) -> None:
        """Start empty."""
        self._items: list[_Text | JSON] = []

    def add_text(self, text: str, *, is_own_line: bool = False) -> None:
        """Add text to the text before it; an empty one adds nothing."""
        if not text:
            return
        if not self._items or not isinstance(self._items[-1], _Text):
            self._items.append(_Text())
        self._items[-1].add(text, is_own_line=is_own_line)

    def add_item(self, item: JSON) -> None:
        """Add a content part that is no text."""
        self._items.append(item)

    def add_part(self, part: Part) -> bool:
        """Add a part that is text on this wire; return whether it is."""
        match part:
            case TextPart() | RefusalPart():
                self.add_text(part.text)
            case JsonPart():
                self.add_text(dumps_text(part.value), is_own_line=True)
            case _:
                return False
        return True

    def add_given(self, part: Part, profile: Profile) -> bool:
        """Add what a person or a tool gave; a text with data of its own is an item of its own. Return whether it is text on this wire."""
        if isinstance(part, TextPart) and part.provider_data and profile.sends_provider_data:
            self.add_item({"type": "text", "text": part.text} | part.provider_data)
            return True
        return self.add_part(part)

    def value(self) -> str | list[JSON]:
        """Return a text if there is nothing but text ("" if there is nothing), else the list of parts."""
        if all(isinstance(item, _Text) for item in self._items):
            return "".join(piece for item in self._items for piece in item.pieces)
        return [{"type": "text", "text": "".join(item.pieces)} if isinstance(item, _Text) else item for item in self._items]


def user_content(parts: Sequence[Part], profile: Profile, notes: list[Note]) -> str | list[JSON]:
    """Return the content of a user message."""
    content = Content()
    for n, part in enumerate(parts):
        if content.add_given(part, profile):
            continue
        item = media_item(part, profile) if isinstance(part, MediaPart) else Left("a part of a type that this version does not know")
        if isinstance(item, Left):
            notes.append(Note(n, item.why))
        else:
            content.add_item(item)
    return content.value()


def media_item(part: MediaPart, profile: Profile) -> dict[str, Any] | Left:
    """Return a medium as a content part, or why there is no place for it."""
    is_supported = {
        "image": profile.supports_images,
        "audio": profile.supports_audio,
        "video": profile.supports_video,
        "document": profile.supports_files,
    }[part.kind]
    if not is_supported:
        return Left(f"{part.kind}: this provider takes none")
    return _ENCODERS[part.kind](part, profile)


def _image(part: MediaPart, _profile: Profile) -> dict[str, Any] | Left:
    return _by_address(part, "image_url")


def _video(part: MediaPart, _profile: Profile) -> dict[str, Any] | Left:
    return _by_address(part, "video_url")


def _by_address(part: MediaPart, kind: str) -> dict[str, Any] | Left:
    url = part.url if part.url is not None else _data_url(part)
    if url is None:
        return Left(f"{part.kind}: an uploaded file ({part.file_id}) has no place on this wire")
    return {"type": kind, kind: {"url": url} | _rest(part, "url")}


def _audio(part: MediaPart, _profile: Profile) -> dict[str, Any] | Left:
    media_type, data = part.media_type, None
    if part.data is not None:
        data = base64.b64encode(part.data).decode("ascii")
    elif part.url is not None:
        media_type, data = _split_data_url(part.url)
    if data is None:
        return Left("audio: only the sound itself has a place on this wire, not its address")
    subtype = (part.media_type or media_type or _USUAL["audio"]).partition(";")[0].rpartition("/")[2].lower()
    body = {"data": data, "format": _AUDIO_FORMATS.get(subtype, subtype)}
    return {"type": "input_audio", "input_audio": body | _rest(part, *body)}


def _document(part: MediaPart, profile: Profile) -> dict[str, Any] | Left:
    if part.file_id is not None:
        return {"type": "file", "file": {"file_id": part.file_id} | _rest(part, "file_id")}
    address = part.url if part.url is not None and (profile.supports_file_urls or part.url.startswith("data:")) else _data_url(part)
    if address is None:
        return Left("document: only the document itself has a place on this wire, not its address")
    body = {"filename": part.name or "document", "file_data": address}
    return {"type": "file", "file": body | _rest(part, *body)}


_ENCODERS: Final[dict[MediaKind, Callable[[MediaPart, Profile], dict[str, Any] | Left]]] = {
    "image": _image,
    "audio": _audio,
    "video": _video,
    "document": _document,
}


def _rest(part: MediaPart, *own: str) -> dict[str, Any]:
    """Return what the part carries beside our own members, such as an image's `detail`."""
    return {key: value for key, value in part.provider_data.items() if key not in own}


def _data_url(part: MediaPart) -> str | None:
    if part.data is None:
        return None
    data = part.data
    media_type = part.media_type or next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
    return f"data:{media_type or _USUAL[part.kind]};base64,{base64.b64encode(data).decode('ascii')}"


def _split_data_url(url: str) -> tuple[str | None, str | None]:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None, None
    return head.removeprefix("data:").partition(";")[0] or None, data
