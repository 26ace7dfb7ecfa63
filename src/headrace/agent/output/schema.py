"""Schemas as providers want them for an answer: an object at the top, closed, and strict where that says the same.

The rule of this file: a schema is made strict only if every value that the strict form takes means what it meant before, and everything
that could be said can still be said. A property that may be left out becomes one that must be written only where leaving it out and
writing null are the same.

Sources: https://platform.openai.com/docs/guides/structured-outputs (all properties required, no further ones, which words there are);
https://docs.claude.com/en/docs/build-with-claude/structured-outputs (no further properties).
"""

from __future__ import annotations

from typing import Any, Final, cast

from headrace._json import JSON

_MAPS_OF_SCHEMAS: Final = ("properties", "$defs", "patternProperties")
_SCHEMAS: Final = ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems")
_STRICT_WORDS: Final = frozenset(
    {"type", "enum", "const", "description", "properties", "required", "additionalProperties", "items", "anyOf", "$ref", "$defs"}
    | {"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"}
)
_STRICT_FORMATS: Final = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


def is_object(schema: dict[str, Any]) -> bool:
    """Return whether every value of the schema is an object, as its root says."""
    return schema.get("type") == "object"


def wrapped(schema: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the schema of an object that holds the value under a key."""
    inner = {word: value for word, value in schema.items() if word != "$defs"}
    whole: dict[str, Any] = {"type": "object", "properties": {key: inner}, "required": [key], "additionalProperties": False}
    return whole | ({"$defs": schema["$defs"]} if "$defs" in schema else {})


def closed(schema: JSON) -> JSON:
    """Return the schema in which objects with named properties have no others, unless it says that they may."""
    if not isinstance(schema, dict):
        return schema
    inner = _inside(cast("dict[str, Any]", schema), closed)
    if "properties" in inner and inner.get("type") == "object":
        inner.setdefault("additionalProperties", False)
    return inner


def strict(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the strict form of a closed schema, or None if it has none that means the same."""
    try:
        return cast("dict[str, Any]", _strict(schema))
    except _LooseError:
        return None


class _LooseError(ValueError):
    """The schema has no strict form."""


def _strict(schema: JSON) -> JSON:
    if not isinstance(schema, dict) or not schema:
        raise _LooseError
    words = dict(cast("dict[str, Any]", schema))
    if "oneOf" in words and "discriminator" in words:
        words["anyOf"] = words.pop("oneOf")  # the forms exclude each other by their tag, so "any" and "one" say the same
        del words["discriminator"]
    if "properties" in words or words.get("type") == "object":
        words = _strict_object(words)
    if not words.keys() <= _STRICT_WORDS or not words.keys() & {"type", "enum", "const", "anyOf", "$ref"}:
        raise _LooseError
    if words.get("format", "date") not in _STRICT_FORMATS or (words.get("type") == "array" and "items" not in words):
        raise _LooseError
    inner = _inside(words, _strict)
    if "$ref" in inner and len(inner) > 1 and "$defs" not in inner:  # nothing may stand beside a reference
        return {word: value for word, value in inner.items() if word != "$ref"} | {"anyOf": [{"$ref": inner["$ref"]}]}
    return inner


def _strict_object(words: dict[str, Any]) -> dict[str, Any]:
    if words.get("additionalProperties") is not False:
        raise _LooseError
    required = words.get("required", [])
    properties: dict[str, Any] = {}
    for name, schema in words.get("properties", {}).items():
        if name not in required and not (schema.get("default", ...) is None and _takes_null(schema)):
            raise _LooseError
        properties[name] = {word: value for word, value in schema.items() if word != "default" or value is not None}
    return words | {"properties": properties, "required": list(properties)}


def _takes_null(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type", ())
    return kinds == "null" or "null" in kinds or any(choice.get("type") == "null" for choice in schema.get("anyOf", ()))


def _inside(schema: dict[str, Any], change: Any) -> dict[str, Any]:
    """Return the schema with each schema inside it changed."""
    made: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _MAPS_OF_SCHEMAS:
            made[word] = {name: change(inner) for name, inner in value.items()}
        elif word in _SCHEMAS and isinstance(value, list):
            made[word] = [change(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
        elif word in _SCHEMAS and not isinstance(value, bool):
            made[word] = change(value)
        else:
            made[word] = value
    return made
