"""Members of a client's generateContent request under one name each, and the bytes of its parts.

The rule of this file: the wire takes each member as `camelCase` and as `snake_case`; here it is `camelCase`. What stands inside arguments,
results and schemas is a client's own and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from headrace.wire.request_fields import Fields

_HUMP: Final = re.compile(r"(?<=[a-z0-9])_([a-z])")
_REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


class _Content(msgspec.Struct):
    parts: list[msgspec.Raw] = []


class _Body(msgspec.Struct):
    contents: list[_Content] = []


class _Call(msgspec.Struct, frozen=True):
    args: msgspec.Raw = msgspec.Raw(b"")


class _Part(msgspec.Struct, rename="camel"):
    function_call: _Call = _Call()


_body: Final = msgspec.json.Decoder(_Body).decode
_part: Final = msgspec.json.Decoder(_Part).decode


def camel(fields: Fields) -> Fields:
    """Return the same members by their names here."""
    return Fields({_HUMP.sub(lambda match: match[1].upper(), name): value for name, value in fields.values().items()}, fields.path)


def inner(fields: Fields, name: str) -> Fields | None:
    """Return the members of an object by their names here, or None if there is none."""
    found = fields.object(name)
    return None if found is None else camel(found)


def each(fields: Fields, name: str) -> Iterator[Fields]:
    """Give the members of each object of a list, or of the one object that stands for a list."""
    value: Any = fields.values().get(name)
    if isinstance(value, dict):
        found = inner(fields, name)
        if found is not None:
            yield found
        return
    for item in fields.objects(name):
        yield camel(item)


def raw_parts(body: bytes) -> list[list[bytes]]:
    """Return the bytes of each part of each content; none if they cannot be told apart."""
    try:
        return [[bytes(raw) for raw in content.parts] for content in _body(body).contents]
    except _REFUSED:
        return []


def raw_arguments(part: bytes) -> str:
    """Return the text of a call's arguments, "" if it has none or is written otherwise."""
    try:
        return bytes(_part(part).function_call.args).decode("utf-8")
    except _REFUSED:
        return ""
