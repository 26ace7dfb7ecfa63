"""A client's request, read member by member: what has the wrong type is an error with its path, what is not asked for is kept.

The rule of this file: it knows JSON and paths and no protocol. A member that is null counts as absent.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from headrace._json import JSON, JSONError, loads, type_name
from headrace.errors import UsageError

T = TypeVar("T")

_LARGEST: Final = 2**53  # larger whole numbers are no settings, and not every one is a number with a point
_WORDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "dict": "an object",
}


class Fields:
    """The members of one object.

    Attributes:
        path: where it stands, such as `messages[2].content[0]`; "" for the body.
    """

    __slots__ = ("_left", "_values", "path")

    def __init__(self, value: JSON, path: str) -> None:
        """Take an object.

        Raises:
            UsageError: it is none.
        """
        if not isinstance(value, dict):
            raise UsageError(f"{path or 'the body'} is {_word(value)}, not an object", argument=path or "body")
        self.path = path
        self._values: dict[str, Any] = value
        self._left = {name: item for name, item in value.items() if item is not None}

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def at(self, name: str) -> str:
        """Return the path of a member."""
        return f"{self.path}.{name}" if self.path else name

    def any(self, name: str) -> JSON:
        """Return a member of any type, or None."""
        self._left.pop(name, None)
        return self._values.get(name)

    def text(self, name: str) -> str | None:
        """Return a text, or None."""
        return self._typed(name, str)

    def required_text(self, name: str) -> str:
        """Return a text that has to be there."""
        value = self.text(name)
        if value is None:
            raise UsageError(f"{self.at(name)} is missing", argument=self.at(name))
        return value

    def integer(self, name: str) -> int | None:
        """Return a whole number, or None."""
        return self._typed(name, int)

    def number(self, name: str) -> float | None:
        """Return a number, or None."""
        value = self._values.get(name)
        if type(value) is not int:
            return self._typed(name, float)
        if abs(value) > _LARGEST:
            raise UsageError(f"{self.at(name)} is out of range", argument=self.at(name))
        return float(self.any(name))

    def boolean(self, name: str) -> bool | None:
        """Return true or false, or None."""
        return self._typed(name, bool)

    def object(self, name: str) -> Fields | None:
        """Return the members of an object, or None."""
        value = self.any(name)
        return None if value is None else Fields(value, self.at(name))

    def required_object(self, name: str) -> Fields:
        """Return the members of an object that has to be there."""
        found = self.object(name)
        if found is None:
            raise UsageError(f"{self.at(name)} is missing", argument=self.at(name))
        return found

    def objects(self, name: str) -> Iterator[Fields]:
        """Give the members of each object of a list; nothing if there is none."""
        for n, value in enumerate(self._typed(name, list) or ()):
            yield Fields(value, f"{self.at(name)}[{n}]")

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts, or None."""
        values = self._typed(name, list)
        if values is None:
            return None
        for n, value in enumerate(values):
            if not isinstance(value, str):
                raise self.wrong(f"{name}[{n}]", value, str)
        return tuple(values)

    def rest(self) -> dict[str, Any]:
        """Return the members that nobody asked for."""
        return self._left

    def values(self) -> dict[str, Any]:
        """Return all members as they came."""
        return self._values

    def unknown(self, name: str, known: str) -> UsageError:
        """Return the error of a member whose value is none of those that there are."""
        return UsageError(f"{self.at(name)} is {self._values.get(name)!r}; known here: {known}", argument=self.at(name))

    def wrong(self, name: str, value: JSON, kind: type[Any]) -> UsageError:
        """Return the error of a value of a wrong type."""
        return UsageError(f"{self.at(name)} is {_word(value)}, not {_WORDS[kind.__name__]}", argument=self.at(name))

    def _typed(self, name: str, kind: type[T]) -> T | None:
        value = self.any(name)
        if value is not None and type(value) is not kind:
            raise self.wrong(name, value, kind)
        found: T | None = value
        return found


def read_body(body: bytes) -> Fields:
    """Read a body.

    Raises:
        UsageError: it is no JSON object, or nested too deep.
    """
    try:
        value = loads(body)
    except JSONError as error:
        raise UsageError(f"the body is no JSON that can be read: {error}", argument="body") from error
    return Fields(value, "")


def _word(value: JSON) -> str:
    return _WORDS.get(type_name(value), "null")
