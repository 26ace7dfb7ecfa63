"""A function's parameters as JSON Schema, and a model's arguments checked against them: both by one pydantic model.

The rule of this file: what the schema shows is what validation takes. Arguments are checked as the JSON that they
came as (so a strict date still takes a text), and what is wrong with them is said so that a model can do better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, cast, get_args, get_origin

from headrace._json import JSON, dumps
from headrace.errors import ArgumentsError, UsageError
from headrace.tools import docstring
from headrace.tools.signature import Function, annotation_of, docstring_of, is_context, parameters_of

if TYPE_CHECKING:
    from inspect import Parameter

    from pydantic import BaseModel, ValidationError

MAX_MISTAKES: Final = 20
"""How many mistakes an error lists; the rest is counted."""
_MAX_SHOWN_CHARS: Final = 80
_HEADING: Final = "The arguments do not fit:"
_ORDER: Final = ("type", "properties", "required", "additionalProperties", "$defs")
_MAPS_OF_SCHEMAS: Final = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
_SCHEMAS: Final = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"}
    | {"anyOf", "oneOf", "allOf", "prefixItems"}
)


class Arguments:
    """The parameters of one function, compiled: their schema, and how to turn a model's arguments into Python's.

    Attributes:
        description: what the function's docstring says that it does.
        schema: the JSON Schema of the arguments: an object that takes nothing else.
        context_names: the parameters that take the context.
    """

    def __init__(self, function: Function, tool_name: str) -> None:
        """Read the signature and the docstring.

        Raises:
            UsageError: an annotation cannot be read or has no JSON form; the error names the parameter.
        """
        text = docstring.read(docstring_of(function))
        fields: dict[str, Any] = {}
        names: list[str] = []
        context_names: list[str] = []
        self._with_default: set[str] = set()
        for name, parameter in parameters_of(function, tool_name).items():
            annotation = annotation_of(function, parameter, tool_name)
            if is_context(annotation):
                context_names.append(name)
                continue
            # Fields get names of ours and the parameters as aliases: pydantic refuses `_x`, `schema`, `model_…` as fields.
            fields[f"p{len(names)}"] = self._field(parameter, annotation, text.parameters.get(name))
            names.append(name)
        self.description = text.description
        self.context_names = tuple(context_names)
        self._names = dict(zip(fields, names, strict=True))
        self._model = _compile(fields, self._names, tool_name)
        self.schema = _schema(self._model, tool_name)

    def _field(self, parameter: Parameter, annotation: Any, description: str | None) -> tuple[Any, Any]:
        # pydantic costs half of the import budget, so it loads when a tool is really used.
        from pydantic import Field  # noqa: PLC0415
        from pydantic.fields import FieldInfo  # noqa: PLC0415

        inner, *own = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        # The author's own Field comes later and wins over the docstring.
        annotated: Any = Annotated[(inner, Field(alias=parameter.name, description=description), *own)]
        if parameter.default is parameter.empty:
            return annotated, ...
        if not isinstance(parameter.default, FieldInfo):
            self._with_default.add(parameter.name)
        return annotated, parameter.default

    def validate(self, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the arguments as the function takes them, by keyword; what is left to Python's own default is left out.

        Raises:
            ArgumentsError: they do not fit; the error lists what is wrong and where.
        """
        from pydantic import ValidationError  # noqa: PLC0415 - see above

        try:
            model = self._model.model_validate_json(dumps(arguments))
        except ValidationError as error:
            names = list(self.schema["properties"])
            raise ArgumentsError(mistakes_text(error, _HEADING, root="arguments", names=names)) from error
        given = model.model_fields_set
        return {name: getattr(model, field) for field, name in self._names.items() if field in given or name not in self._with_default}


def _compile(fields: dict[str, Any], names: dict[str, str], tool_name: str) -> type[BaseModel]:
    from pydantic import ConfigDict, PydanticUserError, create_model  # noqa: PLC0415 - see above

    def model(some: dict[str, Any]) -> type[BaseModel] | Exception:
        try:
            return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **some)
        except (PydanticUserError, TypeError, NameError) as error:
            return error

    whole = model(fields)
    if not isinstance(whole, Exception):
        return whole
    # One at a time, to name the one that is wrong.
    culprit = next((name for field, name in names.items() if isinstance(model({field: fields[field]}), Exception)), tool_name)
    raise UsageError(f"tool {tool_name}: parameter {culprit}: {_first_line(whole)}", argument=culprit) from whole


def _schema(model: type[BaseModel], tool_name: str) -> dict[str, Any]:
    from pydantic.errors import PydanticInvalidForJsonSchema  # noqa: PLC0415 - see above
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415

    class Generator(GenerateJsonSchema):
        # A default that JSON cannot hold is left out of the schema; the function still has it.
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    try:
        full = without_titles(model.model_json_schema(schema_generator=Generator))
    except PydanticInvalidForJsonSchema as error:
        raise UsageError(f"tool {tool_name}: a parameter has no JSON form: {_first_line(error)}", argument=tool_name) from error
    full.setdefault("properties", {})
    return {key: full[key] for key in _ORDER if key in full}


def without_titles(schema: JSON) -> JSON:
    """Return a JSON Schema without its titles, which pydantic makes from names; properties called `title` stay."""
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():  # pyright: ignore[reportUnknownVariableType]
        if key in _MAPS_OF_SCHEMAS:
            kept[key] = {name: without_titles(inner) for name, inner in cast("dict[str, JSON]", value).items()}
        elif key in _SCHEMAS:
            kept[key] = [without_titles(inner) for inner in value] if isinstance(value, list) else without_titles(value)  # pyright: ignore[reportUnknownVariableType]
        elif key != "title":
            kept[key] = value
    return kept


def mistakes_text(error: ValidationError, heading: str, *, root: str, names: Sequence[str] | None = None) -> str:
    """List what is wrong with a value, a line each, and where.

    Args:
        error: pydantic's.
        heading: the first line.
        root: what the whole value is called.
        names: the fields that there are, if the value is a dictionary of these.
    """
    found = error.errors(include_url=False)
    lines = [heading, *(f"- {_place(mistake['loc']) or root}: {_what(mistake, names)}" for mistake in found[:MAX_MISTAKES])]
    if len(found) > MAX_MISTAKES:
        lines.append(f"- and {len(found) - MAX_MISTAKES} more")
    return "\n".join(lines)


def _what(mistake: Any, names: Sequence[str] | None) -> str:
    if mistake["type"] == "missing":
        return "is required, but missing"
    if mistake["type"] == "extra_forbidden" and len(mistake["loc"]) == 1 and names is not None:
        return f"there is no such parameter; the parameters are: {', '.join(names) or 'none'}"
    shown = repr(mistake["input"])
    if len(shown) > _MAX_SHOWN_CHARS:
        shown = f"{shown[:_MAX_SHOWN_CHARS]}…"
    return f"{mistake['msg']} (got {shown})"


def _place(location: Sequence[str | int]) -> str:
    """Write a place in the arguments as one would in code: `items[0].name`."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def check_required(arguments: Mapping[str, JSON], schema: Mapping[str, Any]) -> None:
    """Check arguments against a schema written by hand, as far as that goes here: the required names are there.

    Raises:
        ArgumentsError: one is missing.
    """
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        raise ArgumentsError("\n".join([_HEADING, *(f"- {name}: is required, but missing" for name in missing)]))
