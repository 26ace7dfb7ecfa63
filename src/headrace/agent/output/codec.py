"""Types of an answer as JSON Schema, and JSON read as such a type: by pydantic, else by msgspec, else by a schema written by hand.

The rule of this file: what the schema shows is what decoding takes, and what does not fit is said place by place, in words that help a
model to do better. A value is decoded as the JSON that it came as, so a date takes its text also where types are strict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Union, cast, get_args, get_origin

import msgspec

from headrace._json import JSON, dumps, freeze, thaw
from headrace.agent.output.check import mistakes_of, place_of, shown
from headrace.errors import UsageError
from headrace.tools.schema import without_titles

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


class MisfitError(ValueError):
    """JSON does not fit a type.

    Attributes:
        mistakes: what is wrong and where, one line each.
    """

    def __init__(self, *mistakes: str) -> None:
        """Say what is wrong."""
        super().__init__("; ".join(mistakes))
        self.mistakes = mistakes


class Codec(Protocol):
    """A type, compiled.

    Attributes:
        schema: its JSON Schema, without titles; a root that was only a reference is spelled out.
    """

    schema: dict[str, Any]

    def decode(self, value: JSON) -> Any:
        """Return the value as the type.

        Raises:
            MisfitError: it does not fit.
        """
        ...


def codec_of(output_type: object) -> Codec:
    """Compile a type; a mapping is a JSON Schema written by hand.

    Raises:
        UsageError: it is no type that JSON converts to; the error names it.
    """
    if isinstance(output_type, Mapping):
        return SchemaCodec(cast("Mapping[str, JSON]", output_type))
    if not _is_type(output_type):
        raise UsageError(f"output_type is {output_type!r}, which is no type; give a type, or a JSON Schema", argument="output_type")
    try:
        return PydanticCodec(output_type)
    except (UsageError, TypeError, NameError) as first:
        try:
            return StructCodec(output_type)
        except TypeError:
            members = members_of(output_type)
            if not members:
                reason = str(first.__cause__ or first).strip().split("\n", 1)[0]
                raise UsageError(f"output_type: {name_of(output_type)} has no JSON Schema: {reason}", argument="output_type") from first
    return EitherCodec(tuple(codec_of(member) for member in members))


def _is_type(value: object) -> bool:
    """Return whether the value is a type of some kind; pydantic would take a function for one."""
    return isinstance(value, type) or get_origin(value) is not None or type(value).__module__ in ("typing", "typing_extensions")


def members_of(output_type: object) -> tuple[Any, ...]:
    """Return the members of a union, or nothing if it is none."""
    inner = get_args(output_type)[0] if get_origin(output_type) is Annotated else output_type
    return get_args(inner) if get_origin(inner) in (Union, UnionType) else ()


def name_of(output_type: object) -> str:
    """Return what a person calls the type."""
    if isinstance(output_type, Mapping):
        return str(cast("Mapping[str, object]", output_type).get("title") or "answer")
    if isinstance(output_type, type) and not get_args(output_type):
        return output_type.__name__
    return str(output_type).replace("typing.", "")


class PydanticCodec:
    """What pydantic takes: its models, dataclasses, TypedDicts, plain types, unions of those."""

    def __init__(self, output_type: Any) -> None:
        """Compile the type.

        Raises:
            UsageError: pydantic does not take it.
        """
        # pydantic costs half of the import budget and is needed only here, so it loads when an agent has an output type.
        from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415
        from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415

        class Generator(GenerateJsonSchema):
            # A default that JSON cannot hold is left out of the schema; the type still has it.
            ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(output_type)
            self.schema = _spelled_out(self._adapter.json_schema(schema_generator=Generator))
        except PydanticUserError as error:
            raise UsageError(str(error)) from error

    def decode(self, value: JSON) -> Any:
        """Return the value as the type."""
        from pydantic import ValidationError  # noqa: PLC0415 - see above

        try:
            return self._adapter.validate_json(dumps(value))
        except ValidationError as error:
            raise MisfitError(*_lines(error)) from error


class StructCodec:
    """What msgspec takes: its Structs, and types made of them."""

    def __init__(self, output_type: Any) -> None:
        """Compile the type.

        Raises:
            TypeError: msgspec does not take it.
        """
        self._type = output_type
        self.schema = _spelled_out(msgspec.json.schema(output_type))

    def decode(self, value: JSON) -> Any:
        """Return the value as the type."""
        try:
            return msgspec.convert(thaw(value), type=self._type)
        except msgspec.ValidationError as error:
            what, _, place = str(error).partition(" - at `$")
            raise MisfitError(f"{place.rstrip('`').removeprefix('.') or 'answer'}: {what}") from error


class SchemaCodec:
    """A JSON Schema written by hand: the value itself is what comes out."""

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        """Take the schema as it is.

        Raises:
            UsageError: it is empty, or no JSON.
        """
        if not schema:
            raise UsageError("output_type is an empty JSON Schema", argument="output_type")
        self.schema: dict[str, Any] = thaw(freeze(schema, "output_type"))

    def decode(self, value: JSON) -> JSON:
        """Return the value, in a copy."""
        found = mistakes_of(value, self.schema)
        if found:
            raise MisfitError(*found)
        return thaw(value)


class EitherCodec:
    """A union whose members no single library takes, such as two Structs.

    A member that knows every property that is there comes before one that would leave some out.
    """

    def __init__(self, members: Sequence[Codec]) -> None:
        """Join the members.

        Raises:
            UsageError: two different types of one name lie inside.
        """
        self._members = members
        choices: list[dict[str, Any]] = []
        definitions: dict[str, Any] = {}
        for member in members:
            choices.append({key: value for key, value in member.schema.items() if key != "$defs"})
            for name, definition in member.schema.get("$defs", {}).items():
                if definitions.setdefault(name, definition) != definition:
                    raise UsageError(f"output_type: two different types are called {name}", argument="output_type")
        self.schema: dict[str, Any] = {"anyOf": choices} | ({"$defs": definitions} if definitions else {})

    def decode(self, value: JSON) -> Any:
        """Return the value as the first member that fits best."""
        fitting: list[Any] = []
        mistakes: list[str] = []
        for member in self._members:
            try:
                fitting.append(member.decode(value))
            except MisfitError as error:
                mistakes += error.mistakes
                continue
            if not isinstance(value, dict) or set(cast("dict[str, JSON]", value)) <= set(member.schema.get("properties", ())):
                return fitting[-1]
        if fitting:
            return fitting[0]
        raise MisfitError(*mistakes)


def _spelled_out(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without titles, and with its root in place of a reference to it: a recursive type's is one."""
    plain: dict[str, Any] = without_titles(schema)
    name: str = plain.get("$ref", "").removeprefix("#/$defs/")
    definitions: dict[str, dict[str, Any]] = plain.get("$defs", {})
    if name not in definitions:
        return plain
    root = {key: value for key, value in plain.items() if key not in ("$ref", "$defs")}
    is_recursive = f'"#/$defs/{name}"'.encode() in dumps(definitions)
    kept = definitions if is_recursive else {key: value for key, value in definitions.items() if key != name}
    return definitions[name] | root | ({"$defs": kept} if kept else {})


def _lines(error: ValidationError) -> list[str]:
    found = error.errors(include_url=False)
    return [f"{place_of(mistake['loc'])}: {_what(mistake)}" for mistake in found]


def _what(mistake: Any) -> str:
    if mistake["type"] == "missing":
        return "is required, but missing"
    if mistake["type"] == "extra_forbidden":
        return "there is no such property"
    return f"{mistake['msg']} (got {shown(mistake['input'])})"
