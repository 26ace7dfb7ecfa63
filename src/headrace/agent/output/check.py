"""JSON checked against a JSON Schema that somebody wrote by hand.

The rule of this file: what it says is wrong is wrong. Words of JSON Schema that stand in no table here are not checked (`format`,
`not`, `if`, `contains`, `patternProperties`, …): the provider may hold the model to them, and a `validate` function can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from headrace._json import JSON

_MAX_SHOWN_CHARS: Final = 80
_MAX_DEPTH: Final = 64  # of references that lead to references
Place = tuple[str | int, ...]


def place_of(place: Sequence[str | int]) -> str:
    """Write a place in an answer as one would in code: `items[0].name`."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text or "answer"


def shown(value: object) -> str:
    """Return a value as text, cut to a bound."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


def mistakes_of(value: JSON, schema: Mapping[str, JSON]) -> list[str]:
    """Return what is wrong with a value and where, one line each; nothing if it fits."""
    return [f"{place_of(place)}: {what}" for place, what in _Check(schema).run(value, schema, ())]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == value // 1,
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
# A word, whom it concerns, and what must hold of the value and the word's own.
_BOUNDS: Final[dict[str, tuple[str, Callable[[Any, Any], bool], str]]] = {
    "minimum": ("number", lambda value, bound: value >= bound, "must be at least {}"),
    "maximum": ("number", lambda value, bound: value <= bound, "must be at most {}"),
    "exclusiveMinimum": ("number", lambda value, bound: value > bound, "must be more than {}"),
    "exclusiveMaximum": ("number", lambda value, bound: value < bound, "must be less than {}"),
    "minLength": ("string", lambda value, bound: len(value) >= bound, "must have at least {} characters"),
    "maxLength": ("string", lambda value, bound: len(value) <= bound, "must have at most {} characters"),
    "pattern": ("string", lambda value, bound: re.search(bound, value) is not None, "must match {}"),
    "minItems": ("array", lambda value, bound: len(value) >= bound, "must have at least {} items"),
    "maxItems": ("array", lambda value, bound: len(value) <= bound, "must have at most {} items"),
    "minProperties": ("object", lambda value, bound: len(value) >= bound, "must have at least {} properties"),
    "maxProperties": ("object", lambda value, bound: len(value) <= bound, "must have at most {} properties"),
}


def _equal(one: JSON, other: JSON) -> bool:
    """Return whether two values are the same JSON: `1` and `true` are not, though Python says so."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


class _Check:
    """One check, with the root that references lead to."""

    def __init__(self, root: Mapping[str, JSON]) -> None:
        self._root = root

    def run(self, value: JSON, schema: JSON, place: Place, depth: int = 0) -> Iterator[tuple[Place, str]]:
        """Give every mistake that the table and the rules below can see."""
        if schema is False:
            yield place, "there may be nothing here"
        if not isinstance(schema, dict):
            return
        rules = cast("dict[str, Any]", schema)
        target = self._target(rules.get("$ref"))
        if target is not None and depth < _MAX_DEPTH:
            yield from self.run(value, target, place, depth + 1)
        kinds = rules.get("type")
        names = [kinds] if isinstance(kinds, str) else kinds or []
        if names and not any(_TYPES.get(name, lambda _: True)(value) for name in names):
            yield place, f"must be {' or '.join(names)} (got {shown(value)})"
            return
        if "const" in rules and not _equal(value, rules["const"]):
            yield place, f"must be {rules['const']!r} (got {shown(value)})"
        if "enum" in rules and not any(_equal(value, one) for one in rules["enum"]):
            yield place, f"must be one of {shown(rules['enum'])} (got {shown(value)})"
        for word, (kind, holds, text) in _BOUNDS.items():
            if word in rules and _TYPES[kind](value) and not holds(value, rules[word]):
                yield place, f"{text.format(rules[word])} (got {shown(value)})"
        yield from self._choices(value, rules, place, depth)
        if isinstance(value, dict):
            yield from self._members(cast("dict[str, JSON]", value), rules, place)
        elif isinstance(value, list):
            yield from self._items(value, rules, place)  # pyright: ignore[reportUnknownArgumentType]

    def _choices(self, value: JSON, rules: dict[str, Any], place: Place, depth: int) -> Iterator[tuple[Place, str]]:
        if depth >= _MAX_DEPTH:
            return
        for inner in rules.get("allOf", ()):
            yield from self.run(value, inner, place, depth + 1)
        for word in ("anyOf", "oneOf"):
            choices = rules.get(word)
            if not choices:
                continue
            found = [list(self.run(value, inner, place, depth + 1)) for inner in choices]
            fitting = sum(not mistakes for mistakes in found)
            if not fitting:
                yield min(found, key=lambda mistakes: (-max(len(at) for at, _ in mistakes), len(mistakes)))[0]
            elif word == "oneOf" and fitting > 1:
                yield place, f"fits {fitting} of the forms that it may have, but must fit one"

    def _members(self, value: dict[str, JSON], rules: dict[str, Any], place: Place) -> Iterator[tuple[Place, str]]:
        properties: dict[str, Any] = rules.get("properties", {})
        for name in rules.get("required", ()):
            if name not in value:
                yield (*place, name), "is required, but missing"
        for name, inner in value.items():
            if name in properties:
                yield from self.run(inner, properties[name], (*place, name))
            elif "patternProperties" not in rules:
                if rules.get("additionalProperties") is False:
                    yield (*place, name), "there is no such property"
                else:
                    yield from self.run(inner, rules.get("additionalProperties"), (*place, name))

    def _items(self, value: list[JSON], rules: dict[str, Any], place: Place) -> Iterator[tuple[Place, str]]:
        first: list[Any] = rules.get("prefixItems", [])
        for n, inner in enumerate(value):
            yield from self.run(inner, first[n] if n < len(first) else rules.get("items"), (*place, n))

    def _target(self, reference: object) -> JSON:
        """Return what a reference inside the document leads to, or None."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        at: Any = self._root
        for step in reference[1:].split("/")[1:]:
            at = at.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(at, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return at  # pyright: ignore[reportUnknownVariableType]
