"""JSON in and out: strict, exact, bounded, and deeply immutable where a value is kept.

The rule of this file: whatever a peer sends, the only exception that leaves is `JSONError`; what is
accepted is finite, at most `MAX_DEPTH` levels deep, and can be written again. msgspec does the work;
what it refuses although it is nearly JSON (such as the escape of half a surrogate pair) goes to the standard
library, and the caller is told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias, cast

import jiter
import msgspec

from headrace.errors import UsageError

JSON: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, a list of them, or a dictionary from str to them."""

MAX_DEPTH: Final = 256
"""Levels of nesting that are accepted. Real answers have under twenty."""

MAX_INT_BITS: Final = 14_280
"""The largest whole number, in bits: 4,298 digits. Python itself refuses to read or write more than 4,300."""

_WORD: Final = 2**63  # a whole number between this and its negative is beyond doubt

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


class JSONError(ValueError):
    """The text is not JSON, or holds what JSON cannot (too deep, out of range)."""


def _refusal(value: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError(f"this {type(value).__name__} belongs to a message and cannot be changed; copy it with thaw() or dict()/list()")


_refuse: Final[Any] = _refusal  # it stands in for methods of many signatures


class FrozenDict(dict[str, Any]):
    """A dictionary that cannot be changed; equal to a plain one with the same items."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __deepcopy__(self, _memo: dict[int, Any]) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


class FrozenList(list[Any]):
    """A list that cannot be changed; equal to a plain one with the same items."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __deepcopy__(self, _memo: dict[int, Any]) -> FrozenList:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenList, (list(self),))


EMPTY: Final = FrozenDict()


def freeze(value: object, path: str = "value", *, max_depth: int = MAX_DEPTH) -> JSON:
    """Return a deeply immutable copy of a JSON value; what is frozen already is returned as it is.

    Args:
        value: any value; tuples count as lists.
        path: what to call the value in an error, for example `metadata`.
        max_depth: the levels of nesting that are accepted.

    Raises:
        UsageError: it is no JSON value; the error names the path, such as `metadata.when[0]`.
    """
    kind = type(value)
    if kind is FrozenDict or (kind is dict and not value):
        return value or EMPTY
    return value if kind is FrozenList else _freeze(value, path, max_depth)


def _freeze(value: object, path: str, depth: int) -> JSON:
    # What is frozen already is walked too when it lies inside something new: the depth counts from the outside.
    if value is None or value is True or value is False or (type(value) is int and -_WORD < value < _WORD):
        return value
    if type(value) is dict or type(value) is FrozenDict:  # asking whether something else is a mapping is dear
        return _freeze_items(value, path, depth)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, str):
        return check_text(value, path)
    if isinstance(value, int):
        if value.bit_length() > MAX_INT_BITS:
            raise UsageError(f"{path} is a whole number of {value.bit_length()} bits, which no JSON reader takes", argument=path)
        return int(value)  # an enum member or another subclass becomes plain
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise UsageError(f"{path} is {value!r}, which JSON cannot hold", argument=path)
    if isinstance(value, (list, tuple)):
        _check_levels(path, depth)
        return FrozenList(_freeze(item, f"{path}[{n}]", depth - 1) for n, item in enumerate(cast("Sequence[object]", value)))
    if isinstance(value, Mapping):
        return _freeze_items(cast("Mapping[Any, object]", value), path, depth)
    raise UsageError(f"{path} is a {type(value).__name__}, which is no JSON value", argument=path)


def _freeze_items(value: Mapping[Any, object], path: str, depth: int) -> FrozenDict:
    _check_levels(path, depth)
    items: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise UsageError(f"{path} has the key {key!r}; the keys of JSON objects are text", argument=path)
        items[check_text(key, path)] = _freeze(item, f"{path}.{key}", depth - 1)
    return FrozenDict(items) if items else EMPTY


def _check_levels(path: str, left: int) -> None:
    if left == 0:
        raise UsageError(f"{path} is nested too deep (or holds itself)", argument=path)


def thaw(value: JSON) -> JSON:
    """Return a copy made of plain dictionaries and lists, free to change."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in cast("dict[str, JSON]", value).items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in cast("Sequence[JSON]", value)]
    return value


def type_name(value: object) -> str:
    """Return what a person calls the type of a value."""
    return "dict" if isinstance(value, FrozenDict) else "list" if isinstance(value, FrozenList) else type(value).__name__


def check_text(text: str, path: str) -> str:
    """Return the text as a plain `str`, or raise `UsageError` if it cannot be written as UTF-8."""
    if not text.isascii() and _LONE_SURROGATE.search(text):
        raise UsageError(f"{path} holds half of a surrogate pair, which no JSON document can hold", argument=path)
    return text if type(text) is str else str.__str__(text)


def dumps(value: JSON) -> bytes:
    """Encode a value made of JSON and msgspec Structs as compact UTF-8."""
    return _encode(value)


def dumps_text(value: JSON) -> str:
    """Like `dumps`, as text."""
    return _encode(value).decode("utf-8")


def loads(data: bytes | str, *, max_depth: int = MAX_DEPTH) -> JSON:
    """Decode strict JSON.

    Raises:
        JSONError: it is not JSON, holds a lone surrogate or invalid UTF-8, is out of range or too deep.
    """
    try:
        value = _decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise JSONError(str(error)) from error
    _check_depth(data, max_depth)
    return value


def loads_lenient(data: bytes | str, *, is_strict_about_controls: bool = True) -> tuple[JSON, bool]:
    """Decode JSON that a peer wrote badly, without guessing at what it meant.

    Tolerated: invalid UTF-8 (each bad byte becomes U+FFFD), lone surrogates (left in the value, for the caller
    to pair or replace), and, if asked, raw control characters inside strings.

    Returns:
        The value, and whether something had to be tolerated.

    Raises:
        JSONError: it is still not JSON, out of range (1e400, NaN) or too deep.
    """
    try:
        return loads(data), False
    except JSONError:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        value = json.loads(text, strict=is_strict_about_controls, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError as error:
        raise JSONError("nested too deep") from error
    except ValueError as error:
        raise JSONError(str(error)) from error
    _check_depth(text, MAX_DEPTH)
    return value, True


def _refuse_constant(name: str) -> NoReturn:
    raise JSONError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JSONError(f"the number {text[:32]} is out of range")
    return number


def _check_depth(data: bytes | str, max_depth: int) -> None:
    """Refuse valid JSON that is nested too deep, at the speed of C: without strings and pairs of brackets, what is left is deep."""
    if len(data) <= max_depth:
        return
    text = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if text.count(b"[") + text.count(b"{") <= max_depth:
        return
    brackets = _STRING.sub(b"", text).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(max_depth):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        raise JSONError(f"nested deeper than {max_depth} levels")


class Scanner:
    """Follows brackets and strings through JSON text that comes in pieces; each character is read once.

    Attributes:
        depth: open brackets so far, outside strings.
        deepest: the largest `depth` seen.
        is_in_string: whether the text so far ends inside a string.
    """

    __slots__ = ("_escaped", "deepest", "depth", "is_in_string")
    _TOKENS: Final = re.compile(r'["\\{}\[\]]')

    def __init__(self) -> None:
        """Start before the first character."""
        self.depth = 0
        self.deepest = 0
        self.is_in_string = False
        self._escaped = False

    def scan(self, piece: str) -> None:
        """Read the next piece."""
        if not piece:
            return
        skip = 0 if self._escaped else -1
        self._escaped = False
        for match in self._TOKENS.finditer(piece):
            at, token = match.start(), match.group()
            if at == skip:
                continue
            if token == '"':
                self.is_in_string = not self.is_in_string
            elif token == "\\":
                if self.is_in_string:
                    skip = at + 1
            elif not self.is_in_string:
                self.depth += 1 if token in "{[" else -1
                self.deepest = max(self.deepest, self.depth)
        self._escaped = skip == len(piece)


def replace_surrogates(value: JSON) -> JSON:
    """Return the value with each lone surrogate in a text as U+FFFD and each pair as one character."""
    if isinstance(value, str):
        return _mend(value)
    if isinstance(value, list):
        return [replace_surrogates(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {_mend(key): replace_surrogates(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value


def _mend(text: str) -> str:
    if text.isascii() or not _LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def has_lone_surrogate(text: str) -> bool:
    """Return whether the text cannot be written as UTF-8."""
    return not text.isascii() and _LONE_SURROGATE.search(text) is not None


def parse_partial(text: str) -> JSON:
    """Read JSON text that is still growing: what is there so far, unfinished strings included.

    For showing arguments while they arrive; never for running anything.

    Returns:
        The value so far, or None if nothing can be read yet.
    """
    try:
        return jiter.from_json(text.encode("utf-8", "replace"), partial_mode="trailing-strings", allow_inf_nan=False)
    except ValueError:
        return None


def first_object(text: str) -> tuple[dict[str, JSON], str] | None:
    """Split text into the JSON object at its start and the rest, or return None if it does not start with one."""
    stripped = text.lstrip()
    try:
        value, end = json.JSONDecoder(strict=False, parse_constant=_refuse_constant, parse_float=_finite).raw_decode(stripped)
    except (ValueError, RecursionError):
        return None
    return (value, stripped[end:]) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def join_objects(objects: Iterable[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Return one dictionary in which the last value of each key wins."""
    joined: dict[str, JSON] = {}
    for item in objects:
        joined.update(item)
    return joined
