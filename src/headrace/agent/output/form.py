"""The shapes that an answer may have: a type, the object that holds a value of it, and the tool by which it may come.

The rule of this file: what a model writes is always a JSON object; a type whose values are none lies in one, and is taken out again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from headrace._json import JSON, freeze
from headrace.agent.output.codec import Codec, MisfitError, codec_of, members_of, name_of
from headrace.agent.output.schema import closed, is_object, strict, wrapped

_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_MAX_NAME: Final = 60


def plain_name(output_type: object) -> str:
    """Return the type's name as providers take names; "" if nothing of it is left."""
    return _NO_NAME.sub("_", name_of(output_type)).strip("_")[:_MAX_NAME]


class Form:
    """One shape of an answer.

    Attributes:
        name: the tool's.
        codec: the type.
        key: under which a value that is no object lies, or None.
        description: the type's own.
        schema: the JSON Schema of the object, frozen.
        is_strict: whether a provider can be held to it to the letter.
    """

    def __init__(self, name: str, output_type: object, codec: Codec) -> None:
        """Work out the schema."""
        self.name = name
        self.codec = codec
        self.key: str | None = None
        schema = codec.schema
        if not is_object(schema):
            self.key = "items" if schema.get("type") == "array" else "value"
            schema = wrapped(schema, self.key)
        self.description = str(codec.schema.get("description", ""))
        # A schema written by hand says what its author means: there, closing objects would change it.
        closed_schema = schema if isinstance(output_type, Mapping) else closed(schema)
        strict_schema = strict(closed_schema)
        self.is_strict = strict_schema is not None
        self.schema: dict[str, Any] = freeze(strict_schema or closed_schema, "output_type")

    def read(self, value: JSON, *, may_be_bare: bool) -> tuple[JSON, Any]:
        """Return the value without its wrapping, and as its type; a bare one has none to begin with.

        Raises:
            MisfitError: it does not fit.
        """
        if self.key is None:
            return value, self.codec.decode(value)
        if isinstance(value, dict) and self.key in value:
            others = [name for name in cast("dict[str, JSON]", value) if name != self.key]
            if others:
                raise MisfitError(*(f"{name}: there is no such property; the answer stands in {self.key}" for name in others))
            value = value[self.key]  # pyright: ignore[reportUnknownVariableType]
        elif not may_be_bare:
            raise MisfitError(f"{self.key}: is required, but missing")
        return value, self.codec.decode(value)  # pyright: ignore[reportUnknownVariableType]


def tool_forms(whole: Form, output_type: object) -> dict[str, Form]:
    """Return the tools by name: one, or one for each object type of a union that has several; what else it has is one more."""
    objects: list[tuple[Any, Codec]] = []
    others: list[Any] = []
    for member in members_of(output_type):
        codec = codec_of(member)
        if is_object(codec.schema):
            objects.append((member, codec))
        else:
            others.append(member)
    if len(objects) < 2:
        return {whole.name: whole}
    forms: dict[str, Form] = {}
    for member, codec in objects:
        name = _free_name(whole.name, plain_name(member), forms)
        forms[name] = Form(name, member, codec)
    if others:
        rest = others[0]
        for member in others[1:]:
            rest = rest | member
        name = _free_name(whole.name, "other", forms)
        forms[name] = Form(name, rest, codec_of(rest))
    return forms


def _free_name(base: str, member: str, taken: Mapping[str, object]) -> str:
    name = f"{base}_{member}"[:_MAX_NAME]
    return name if name not in taken else f"{name}_{len(taken) + 1}"
