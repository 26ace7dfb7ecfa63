"""What parts and results are to a client that knows neither: texts, JSON values, addresses, and seals.

The rule of this file: nothing is lost that has to go back to a provider. What a client cannot read (signatures, encrypted thinking, a
provider's own fields) is sealed into one text, which it keeps and gives back; read again, it is the same part.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from headrace._json import EMPTY, JSON, dumps_text, loads, thaw
from headrace.messages.parts import (
    JsonPart,
    MediaKind,
    MediaPart,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)

_MARK: Final = "headrace-1:"
_DATA_URL: Final = re.compile(r"data:(?P<type>[^;,]*)(?:;[^;,]*)*;base64,(?P<data>.*)", re.DOTALL)
_KINDS: Final[dict[str, MediaKind]] = {"image": "image", "audio": "audio", "video": "video"}


# ---------------------------------------------------------------------------------------------- what tools give


def text_of(parts: Sequence[Part]) -> str:
    """Return parts as one text: texts as they are, values as JSON, media by their names."""
    return "".join(map(_text, parts))


def value_of(parts: Sequence[Part]) -> JSON:
    """Return parts as one JSON value: a text, a value, or, where there are several or media, a list of objects with a `type`."""
    if all(isinstance(part, TextPart) for part in parts):
        return text_of(parts)
    if len(parts) == 1 and isinstance(parts[0], JsonPart):
        return thaw(parts[0].value)
    return [_form(part) for part in parts]


def is_failure(result: ToolResultPart) -> bool:
    """Return whether a result says that the call came to nothing."""
    return result.state != "success"


def _text(part: Part) -> str:
    match part:
        case TextPart():
            return part.text
        case JsonPart():
            return dumps_text(part.value)
        case MediaPart():
            return f"[{part.kind}{f' {part.name}' if part.name else ''}]"
        case OpaquePart():
            return dumps_text(part.raw)
        case _:
            return ""


def _form(part: Part) -> JSON:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case JsonPart():
            return {"type": "json", "value": thaw(part.value)}
        case MediaPart():
            form: dict[str, Any] = {"type": part.kind, "mediaType": part.media_type or usual_type(part.kind)}
            return form | ({"fileId": part.file_id} if part.file_id is not None else {"url": url_of(part)})
        case OpaquePart():
            return thaw(part.raw)
        case _:
            return msgspec.to_builtins(part)


# ---------------------------------------------------------------------------------------------- media


def usual_type(kind: MediaKind) -> str:
    """Return a media type for a medium of which only the kind is known."""
    return {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": "application/octet-stream"}[kind]


def url_of(part: MediaPart) -> str:
    """Return the address of a medium; bytes become a data URL, a provider's file a URN."""
    if part.url is not None:
        return part.url
    if part.data is not None:
        return f"data:{part.media_type or usual_type(part.kind)};base64,{base64.b64encode(part.data).decode('ascii')}"
    return f"urn:file:{part.file_id}"


def medium(url: str, media_type: str | None, *, name: str | None = None, kind: MediaKind | None = None) -> MediaPart:
    """Return a medium by its address; a data URL becomes the bytes that it holds.

    Args:
        url: the address.
        media_type: what the client says that it is.
        name: a file name.
        kind: of the medium; by default what the media type says.
    """
    found = _DATA_URL.fullmatch(url)
    said = media_type or (found["type"] if found is not None else "") or None
    what = kind or _KINDS.get((said or "").partition("/")[0], "document")
    if found is not None:
        try:
            data = base64.b64decode(found["data"], validate=True)
        except (binascii.Error, ValueError):
            pass
        else:
            return MediaPart(kind=what, data=data, media_type=said, name=name)
    return MediaPart(kind=what, url=url, media_type=said, name=name)


# ---------------------------------------------------------------------------------------------- seals


def seal(part: ReasoningPart | ToolCallPart, provider: str | None) -> str | None:
    """Return what of a part only its provider can read, as one text; None if there is nothing.

    Args:
        part: thinking, or a call.
        provider: who made it: it is no use to others.
    """
    fields: dict[str, Any] = {}
    if isinstance(part, ReasoningPart):
        fields = {"signature": part.signature, "encrypted": part.encrypted, "details": thaw(list(part.details))}
    fields["provider_data"] = thaw(part.provider_data)
    held = {name: value for name, value in fields.items() if value}
    return _MARK + dumps_text({"provider": provider, **held}) if held else None


def unseal(text: str) -> tuple[dict[str, Any], str | None]:
    """Return the fields of a part that a seal holds, and its provider; a text that is no seal of ours is encrypted thinking."""
    if not text.startswith(_MARK):
        return {"encrypted": text}, None
    try:
        form = loads(text.removeprefix(_MARK))
    except ValueError:
        return {}, None
    held = cast("dict[str, Any]", form) if isinstance(form, dict) else {}
    fields: dict[str, Any] = {name: held[name] for name in ("signature", "encrypted") if isinstance(held.get(name), str)}
    if isinstance(held.get("details"), list):
        fields["details"] = tuple(held["details"])
    if isinstance(held.get("provider_data"), dict):
        fields["provider_data"] = held["provider_data"]
    provider = held.get("provider")
    return fields, provider if isinstance(provider, str) else None


def reasoning(text: str, sealed: str | None) -> tuple[ReasoningPart, str | None]:
    """Return thinking as a client gives it back, and its provider if that is known."""
    fields, provider = unseal(sealed) if sealed else ({}, None)
    return ReasoningPart(text, **fields), provider


def call(identifier: str, name: str, arguments: str | Mapping[str, Any], sealed: str | None = None) -> tuple[ToolCallPart, str | None]:
    """Return a call as a client gives it back, and its provider if that is known."""
    fields, provider = unseal(sealed) if sealed else ({}, None)
    return ToolCallPart(id=identifier, name=name, arguments=arguments, provider_data=fields.get("provider_data", EMPTY)), provider


def result(identifier: str, name: str, parts: Sequence[Part], *, is_error: bool = False) -> ToolResultPart:
    """Return a result as a client gives it back."""
    return make(ToolResultPart, call_id=identifier, name=name, parts=tuple(parts), state="error" if is_error else "success")


def said_value(text: str) -> JSON:
    """Return what a program says as text: the value that it is the JSON of, or the text."""
    try:
        return loads(text)
    except ValueError:
        return text
