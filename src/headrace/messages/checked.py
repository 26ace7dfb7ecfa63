"""How values are checked when people make them, and how an error says where.

The rule of this file: a value that a person makes has the types that its fields promise, or there is a `UsageError`
that names the field. Decoding checks types by itself, and machines (`make`, `assemble`) are checked by the type
checkers, so neither pays for this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar, cast

import msgspec

from headrace.errors import UsageError

T = TypeVar("T")

_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$(?P<place>[^`]*)`$")
_MISSING: Final = re.compile(r"^Object missing required field `(?P<field>\w+)`$")
_QUOTED: Final = re.compile(r"'(\w+)'$")


class CheckedMeta(msgspec.StructMeta):
    """Checks the types of what people make; a class may offer `_prepare` to take friendlier arguments than its fields."""

    def __call__(cls: type[T], *args: Any, **fields: Any) -> T:  # noqa: N805 - a metaclass, which ruff cannot see
        """Make a value from what a person wrote.

        Raises:
            UsageError: an argument is missing, unknown or of a wrong type; the error names it.
        """
        kind: Any = cls
        prepare = getattr(kind, "_prepare", None)
        if prepare is not None:
            fields = prepare(*args, **fields)
            args = ()
        try:
            value: Any = msgspec.StructMeta.__call__(kind, *args, **fields)
        except TypeError as error:
            named = _QUOTED.search(str(error))
            place = f"{kind.__name__}.{named[1]}" if named else kind.__name__
            raise UsageError(f"{place}: {error}", argument=place) from error
        return convert_checked(msgspec.structs.asdict(value), cls, kind.__name__)


def convert_checked(fields: dict[str, Any], kind: type[T], root: str) -> T:
    """Make a Struct from fields, each of exactly the type that it promises (lists become tuples).

    Raises:
        UsageError: a field has a wrong type; the error says `root` and the field.
    """
    try:
        # Named as built in, bytes and times are taken as they are and never read from text.
        return msgspec.convert(fields, type=kind, builtin_types=(bytes, datetime))
    except msgspec.ValidationError as error:
        raise located(error, root) from error


def from_mapping(kind: type[T], value: object, default: T, what: str) -> T:
    """Return what a caller gave as a Struct: itself, the default for None, or a mapping of its fields.

    Raises:
        UsageError: it is something else, or a field is unknown; the error names it below `what`. What the Struct checks comes on top.
    """
    if value is None:
        return default
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise UsageError(f"{what} is a {type(value).__name__}, not a {kind.__name__} or a mapping of its fields", argument=what)
    given = cast("Mapping[str, Any]", value)
    fields: tuple[str, ...] = cast("Any", kind).__struct_fields__
    for name in given:
        if name not in fields:
            raise UsageError(f"{what} has no field {name!r}; its fields are {', '.join(fields)}", argument=f"{what}.{name}")
    return kind(**given)


def located(error: msgspec.ValidationError, root: str) -> UsageError:
    """Return msgspec's error as ours, its place written as a path that begins with `root`."""
    text = str(error)
    match = _PLACE.search(text)
    place = root + (match["place"] if match else "")
    what = text[: match.start()] if match else text
    missing = _MISSING.match(what)
    if missing:
        return UsageError(f"{place}.{missing['field']} is missing", argument=f"{place}.{missing['field']}")
    return UsageError(f"{place}: {what}", argument=place)


def moved(error: UsageError, old: str, new: str) -> UsageError:
    """Return an error about `old…` as one about `new…`, for a value that turns out to lie inside another."""
    argument = error.argument or old
    place = new + argument.removeprefix(old)
    text = str(error)
    return UsageError(place + text.removeprefix(argument) if text.startswith(argument) else f"{place}: {text}", argument=place)
