"""Content of a client's items, in neutral words: the inverse of `request_content.py`.

The rule of this file: what has a neutral word becomes it, what has none stays as data of the part or as an opaque part.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from headrace.errors import UsageError
from headrace.messages.parts import MediaPart, OpaquePart, Part, RefusalPart, TextPart, make
from headrace.wire.request_fields import Fields
from headrace.wire.server_side import APART

_SOUNDS: Final = {"mp3": "audio/mpeg"}


def read_content(fields: Fields, name: str, data: dict[str, Any]) -> list[Part]:
    """Read content that is a text or a list.

    Args:
        fields: holds it.
        name: its name.
        data: what goes with each text of an assistant's; empty for what a person or a tool gave.

    Raises:
        UsageError: it is no such content; the error names the path.
    """
    content = fields.any(name)
    if content is None:
        return []
    if isinstance(content, str):
        return [make(TextPart, text=content, provider_data=data)] if content else []
    if not isinstance(content, list):
        raise fields.wrong(name, content, str)
    items = (Fields(item, f"{fields.at(name)}[{n}]") for n, item in enumerate(content))
    return list(_parts(items, data))


def read_given(fields: Fields, name: str) -> list[Part]:
    """Read what a person or a tool gave; a text right behind a text stands apart from it.

    Raises:
        UsageError: it is no such content; the error names the path.
    """
    parts: list[Part] = []
    for part in read_content(fields, name, {}):
        is_behind = isinstance(part, TextPart) and bool(parts) and isinstance(parts[-1], TextPart)
        parts.append(make(TextPart, text=part.text, provider_data=APART) if is_behind and isinstance(part, TextPart) else part)
    return parts


def _parts(items: Iterator[Fields], data: dict[str, Any]) -> Iterator[Part]:
    for item in items:
        kind = item.required_text("type")
        reader = _READERS.get(kind)
        yield make(OpaquePart, raw=item.values()) if reader is None else reader(item, data)


def _text(item: Fields, data: dict[str, Any]) -> Part:
    text, citations = item.required_text("text"), item.any("annotations")
    return make(TextPart, text=text, citations=tuple(citations) if isinstance(citations, list) else (), provider_data=data)


def _refusal(item: Fields, data: dict[str, Any]) -> Part:
    return make(RefusalPart, text=item.required_text("refusal"), provider_data=data)


def _image(item: Fields, _data: dict[str, Any]) -> Part:
    url, file_id = item.text("image_url"), item.text("file_id")
    if (url is None) == (file_id is None):
        raise UsageError(f"{item.path} needs one of image_url and file_id", argument=item.path)
    return make(MediaPart, kind="image", url=url, file_id=file_id, provider_data=item.rest())


def _file(item: Fields, _data: dict[str, Any]) -> Part:
    name, url, file_id, data = item.text("filename"), item.text("file_url"), item.text("file_id"), item.text("file_data")
    if data is not None:
        url = data if data.startswith("data:") else f"data:application/octet-stream;base64,{data}"
    if (url is None) == (file_id is None):
        raise UsageError(f"{item.path} needs one of file_data, file_url and file_id", argument=item.path)
    return make(MediaPart, kind="document", url=url, file_id=file_id, name=name, provider_data=item.rest())


def _sound(item: Fields, _data: dict[str, Any]) -> Part:
    body = item.required_object("input_audio")
    data, form = body.required_text("data"), body.text("format") or ""
    media_type = _SOUNDS.get(form, f"audio/{form}") if form else ""
    rest = {**body.rest(), **item.rest()}
    return make(MediaPart, kind="audio", url=f"data:{media_type};base64,{data}", media_type=media_type or None, provider_data=rest)


_READERS: Final[dict[str, Callable[[Fields, dict[str, Any]], Part]]] = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _sound,
}
