"""How one message is written as JSON and read again; `Message.to_json` and `messages/codec.py` stand on this.

The rule of this file: what is read and written again is equal JSON. Typed decoding does the work (the fast way); where it
refuses, a way that goes part by part keeps what is unknown and says exactly what is wrong and where. Both give equal messages.

It knows no message class: which class reads which role comes in, since `message.py` is built upon this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import GenericAlias
from typing import Any, Final, Generic, Protocol, Self, TypeVar, Union, cast

import msgspec

from headrace._json import JSON, MAX_DEPTH, JSONError, dumps, freeze, loads, thaw, type_name
from headrace.errors import UsageError
from headrace.messages.checked import located
from headrace.messages.parts import PART_TYPES, OpaquePart, Part, ToolResultPart, part_from_json

ENVELOPE_DEPTH: Final = 8
"""Levels that documents, messages and parts put round the JSON values of the caller, which have `MAX_DEPTH` of their own."""

_REFUSED: Final = (msgspec.MsgspecError, UsageError, TypeError, RecursionError, UnicodeError)


class MessageLike(Protocol):
    """What this file must know of a message."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content."""
        ...

    @classmethod
    def assemble(cls, parts: tuple[Part, ...] = (), **fields: Any) -> Self:
        """Make a message from its stored fields."""
        ...


M = TypeVar("M", bound=MessageLike)


def to_dict(message: MessageLike) -> dict[str, JSON]:
    """Return a message as plain dictionaries and lists, equal to what `to_json` writes; the caller may change them."""
    form: dict[str, Any] = thaw(msgspec.to_builtins(message))
    if has_opaque(message.parts):
        form["parts"] = _put_back(form["parts"], message.parts)
    return form


def to_json(message: MessageLike) -> bytes:
    """Return a message as compact JSON."""
    return dumps(to_dict(message) if has_opaque(message.parts) else message)


def many_to_json(messages: Iterable[MessageLike]) -> bytes:
    """Return messages as a JSON list."""
    return b"[" + b",".join(to_json(message) for message in messages) + b"]"


def has_opaque(parts: Iterable[Part]) -> bool:
    """Return whether a part of an unknown type is among these, or inside one of them."""
    return any(isinstance(part, OpaquePart) or (isinstance(part, ToolResultPart) and has_opaque(part.parts)) for part in parts)


def _put_back(forms: list[JSON], parts: Iterable[Part]) -> list[JSON]:
    written: list[JSON] = []
    for form, part in zip(forms, parts, strict=True):
        if isinstance(part, OpaquePart):
            written.append(thaw(opaque_form(part)))
        elif isinstance(part, ToolResultPart) and part.parts:
            written.append({**form, "parts": _put_back(form["parts"], part.parts)})
        else:
            written.append(form)
    return written


def opaque_form(part: OpaquePart) -> dict[str, Any]:
    """Return how an `OpaquePart` is written: unchanged; wrapped only where it would be read back as something else."""
    return part.raw if part.raw["type"] not in PART_TYPES else {"type": "opaque", "raw": part.raw}


class MessageReader(Generic[M]):
    """Reads messages of the roles that it is given.

    Every method raises `UsageError` with the path, such as `messages[3].parts[0].text`, where the data is no JSON, a role
    is missing or unknown, a type is wrong, or a role may not carry a part. Unknown fields are ignored.
    """

    def __init__(self, roles: Mapping[str, type[M]]) -> None:
        """Take the class of each role."""
        self._roles = dict(roles)
        self._any: Any = cast("Any", Union)[tuple(roles.values())]
        self._one: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self._any)
        self._many: msgspec.json.Decoder[Any] = msgspec.json.Decoder(cast("Any", GenericAlias(tuple, (self._any, ...))))

    def read(self, data: object, path: str = "message") -> M:
        """Read one message from JSON."""
        try:
            return cast("M", self._one.decode(cast("bytes", data)))
        except _REFUSED:
            return self._slowly(parse(data, path), path)

    def read_many(self, data: object, path: str = "messages") -> tuple[M, ...]:
        """Read a JSON list of messages."""
        try:
            return cast("tuple[M, ...]", self._many.decode(cast("bytes", data)))
        except _REFUSED:
            return self.many_from(parse(data, path), path)

    def one_from(self, value: object, path: str = "message") -> M:
        """Read one message from dictionaries and lists."""
        frozen = freeze(value, path, max_depth=MAX_DEPTH + ENVELOPE_DEPTH)
        try:
            return cast("M", msgspec.convert(frozen, type=self._any))
        except _REFUSED:
            return self._slowly(frozen, path)

    def many_from(self, value: object, path: str = "messages") -> tuple[M, ...]:
        """Read messages from a list of dictionaries."""
        if not isinstance(value, (list, tuple)):
            raise UsageError(f"{path} is a {type_name(value)}, not a list", argument=path)
        return tuple(self.one_from(item, f"{path}[{n}]") for n, item in enumerate(cast("list[object]", value)))

    def _slowly(self, value: JSON, path: str) -> M:
        if not isinstance(value, dict):
            raise UsageError(f"{path} is a {type_name(value)}, not a message", argument=path)
        form = cast("dict[str, Any]", value)
        kind = self._kind(form, f"{path}.role")
        listed = form.get("parts", ())
        if not isinstance(listed, (list, tuple)):
            raise UsageError(f"{path}.parts is a {type_name(listed)}, not a list", argument=f"{path}.parts")
        parts = tuple(part_from_json(item, f"{path}.parts[{n}]") for n, item in enumerate(cast("list[JSON]", listed)))
        try:
            fields = msgspec.structs.asdict(msgspec.convert({**form, "parts": ()}, type=cast("Any", kind)))
            return kind.assemble(**(fields | {"parts": parts}))
        except msgspec.ValidationError as error:
            raise located(error, path) from error
        except UsageError as error:
            raise UsageError(f"{path}.{error}", argument=f"{path}.{error.argument}") from error

    def _kind(self, form: dict[str, Any], path: str) -> type[M]:
        roles = ", ".join(self._roles)
        if "role" not in form:
            raise UsageError(f"{path} is missing; the roles are {roles}", argument=path)
        role = form["role"]
        kind = self._roles.get(role) if isinstance(role, str) else None
        if kind is None:
            raise UsageError(f"{path} is {role!r}; the roles are {roles}", argument=path)
        return kind


def parse(data: object, path: str) -> JSON:
    """Parse JSON that we or another of our versions wrote.

    Raises:
        UsageError: it is no JSON.
    """
    if not isinstance(data, (bytes, bytearray, memoryview, str)):
        raise UsageError(f"{path} is a {type(data).__name__}, not JSON text", argument=path)
    try:
        return loads(data if isinstance(data, (bytes, str)) else bytes(cast("bytearray", data)), max_depth=MAX_DEPTH + ENVELOPE_DEPTH)
    except JSONError as error:
        raise UsageError(f"{path} is not JSON: {error}", argument=path) from error
