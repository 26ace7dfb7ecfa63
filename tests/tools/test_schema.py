"""Schemas from signatures, and a model's arguments checked against them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest
from pydantic import Field
from typing_extensions import TypedDict  # before Python 3.12 pydantic takes no other

from headrace.errors import ArgumentsError, UsageError
from headrace.messages.parts import ToolCallPart
from headrace.tools.context import Context
from headrace.tools.schema import MAX_MISTAKES, Arguments, check_required, without_titles

MISSING = object()


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Place(pydantic.BaseModel):
    """Where something is."""

    name: str
    at: Point | None = None


class Trip(TypedDict):
    title: str
    days: int


class Node(pydantic.BaseModel):
    children: list[Node] = []


class StrictDay(pydantic.BaseModel, strict=True):
    day: dt.date


class NotJson:
    pass


def nothing(): ...
def plain(city: str, days: int, share: float, is_old: bool): ...
def bare(anything): ...
def defaults(city: str = "Bern", days: int = 3, note: str | None = None): ...
def old_optional(note: Optional[int]): ...  # noqa: UP045 - people write it so
def literal(unit: Literal["c", "f"]): ...
def enumerated(unit: Unit = Unit.C): ...
def containers(names: list[str], ages: dict[str, int], pair: tuple[int, str]): ...
def annotated(days: Annotated[int, Field(ge=1, le=7, description="How long")]): ...
def field_default(days: int = Field(default=2, ge=1, description="How long")): ...
def keyword_only(city: str, *, days: int): ...
def typed_dict(trip: Trip): ...
def dataclass(point: Point): ...
def odd_names(_x: int, schema: str, model_config: str, copy: bool): ...
def unserialisable(a: Any = MISSING): ...
def aliased(from_: Annotated[str, Field(alias="from")]): ...


def obj(properties, required=()):
    return (
        {"type": "object", "properties": properties} | ({"required": list(required)} if required else {}) | {"additionalProperties": False}
    )


INT, STR, NUM, BOOL = {"type": "integer"}, {"type": "string"}, {"type": "number"}, {"type": "boolean"}
SCHEMAS = [
    (nothing, obj({})),
    (plain, obj({"city": STR, "days": INT, "share": NUM, "is_old": BOOL}, ["city", "days", "share", "is_old"])),
    (bare, obj({"anything": {}}, ["anything"])),
    (
        defaults,
        obj(
            {
                "city": {"default": "Bern", "type": "string"},
                "days": {"default": 3, "type": "integer"},
                "note": {"anyOf": [STR, {"type": "null"}], "default": None},
            }
        ),
    ),
    (old_optional, obj({"note": {"anyOf": [INT, {"type": "null"}]}}, ["note"])),
    (literal, obj({"unit": {"enum": ["c", "f"], "type": "string"}}, ["unit"])),
    (
        containers,
        obj(
            {
                "names": {"type": "array", "items": STR},
                "ages": {"type": "object", "additionalProperties": INT},
                "pair": {"type": "array", "prefixItems": [INT, STR], "minItems": 2, "maxItems": 2},
            },
            ["names", "ages", "pair"],
        ),
    ),
    (annotated, obj({"days": {"type": "integer", "minimum": 1, "maximum": 7, "description": "How long"}}, ["days"])),
    (field_default, obj({"days": {"type": "integer", "minimum": 1, "default": 2, "description": "How long"}})),
    (keyword_only, obj({"city": STR, "days": INT}, ["city", "days"])),
    (odd_names, obj({"_x": INT, "schema": STR, "model_config": STR, "copy": BOOL}, ["_x", "schema", "model_config", "copy"])),
    (unserialisable, obj({"a": {}})),
    (aliased, obj({"from": STR}, ["from"])),
]


@pytest.mark.parametrize(("function", "schema"), SCHEMAS, ids=lambda value: getattr(value, "__name__", ""))
def test_the_signature_gives_the_schema(function, schema):
    assert Arguments(function, "t").schema == schema


@pytest.mark.parametrize(
    ("function", "name", "definition"),
    [
        (typed_dict, "Trip", obj({"title": STR, "days": INT}, ["title", "days"])),
        (dataclass, "Point", obj({"x": NUM, "y": {"default": 0.0, "type": "number"}}, ["x"])),
        (enumerated, "Unit", {"type": "string", "enum": ["celsius", "fahrenheit"]}),
    ],
)
def test_named_types_are_definitions_without_titles(function, name, definition):
    schema = Arguments(function, "t").schema
    assert schema["$defs"] == {name: definition}
    (prop,) = schema["properties"].values()
    assert prop["$ref"] == f"#/$defs/{name}"


def test_a_model_keeps_its_docstring_and_may_refer_to_itself():
    def f(place: Place, node: Node): ...

    f.__annotations__ = {"place": Place, "node": Node}
    definitions = Arguments(f, "t").schema["$defs"]
    assert definitions["Place"]["description"] == "Where something is."
    assert definitions["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}


def test_only_titles_that_pydantic_made_go_not_properties_or_data_called_title():
    schema = {
        "title": "A",
        "properties": {"title": {"title": "Title", "type": "string", "default": "t", "examples": [{"title": 1}]}},
        "$defs": {"title": {"title": "T", "anyOf": [{"title": "x", "type": "null"}, True]}},
        "additionalProperties": False,
        "default": {"title": "kept"},
    }
    assert without_titles(schema) == {
        "properties": {"title": {"type": "string", "default": "t", "examples": [{"title": 1}]}},
        "$defs": {"title": {"anyOf": [{"type": "null"}, True]}},
        "additionalProperties": False,
        "default": {"title": "kept"},
    }


class TestDescriptions:
    def test_they_come_from_the_docstring(self):
        def f(city: str, days: int):
            """Look up the weather.

            Args:
                city: The city.
                days: How many days.
            """

        arguments = Arguments(f, "t")
        assert arguments.description == "Look up the weather."
        assert {name: value["description"] for name, value in arguments.schema["properties"].items()} == {
            "city": "The city.",
            "days": "How many days.",
        }

    def test_a_field_of_the_authors_own_wins_over_the_docstring(self):
        def f(city: Annotated[str, Field(description="mine")], days: int = Field(3, description="mine too")):
            """Look up.

            Args:
                city: theirs
                days: theirs
            """

        assert [value["description"] for value in Arguments(f, "t").schema["properties"].values()] == ["mine", "mine too"]


class TestContext:
    def test_it_is_hidden_and_named_for_injection(self):
        def f(a: int, context: Context, more: Context[dict[str, int]], maybe: Context[int] | None = None): ...

        arguments = Arguments(f, "t")
        assert arguments.schema == obj({"a": INT}, ["a"])
        assert arguments.context_names == ("context", "more", "maybe")

    def test_a_model_cannot_fill_it_in(self):
        def f(context: Context): ...

        with pytest.raises(ArgumentsError, match="there is no such parameter; the parameters are: none"):
            Arguments(f, "t").validate({"context": {"deps": 1}})


class TestValidation:
    @pytest.mark.parametrize(
        ("function", "given", "taken"),
        [
            (plain, {"city": "a", "days": "3", "share": 1, "is_old": True}, {"city": "a", "days": 3, "share": 1.0, "is_old": True}),
            (defaults, {"days": 1}, {"days": 1}),
            (field_default, {}, {"days": 2}),
            (enumerated, {"unit": "fahrenheit"}, {"unit": Unit.F}),
            (containers, {"names": [], "ages": {"a": 1}, "pair": [1, "b"]}, {"names": [], "ages": {"a": 1}, "pair": (1, "b")}),
            (dataclass, {"point": {"x": 1}}, {"point": Point(1.0)}),
            (typed_dict, {"trip": {"title": "t", "days": 2}}, {"trip": {"title": "t", "days": 2}}),
            (aliased, {"from": "a"}, {"from_": "a"}),
            (
                odd_names,
                {"_x": 1, "schema": "s", "model_config": "m", "copy": False},
                {"_x": 1, "schema": "s", "model_config": "m", "copy": False},
            ),
            (bare, {"anything": 12345678901234567890123}, {"anything": 12345678901234567890123}),
            (unserialisable, {}, {}),
        ],
    )
    def test_arguments_become_what_the_function_takes(self, function, given, taken):
        assert Arguments(function, "t").validate(given) == taken

    def test_they_are_read_as_json_so_a_strict_model_takes_a_date_as_text(self):
        def f(day: StrictDay): ...

        assert Arguments(f, "t").validate({"day": {"day": "2026-01-02"}}) == {"day": StrictDay(day=dt.date(2026, 1, 2))}

    def test_the_tool_gets_plain_values_that_it_may_change(self):
        call = ToolCallPart(id="1", name="t", arguments={"anything": {"a": [1]}})
        taken = Arguments(bare, "t").validate(call.parsed)
        taken["anything"]["a"].append(2)
        assert call.parsed == {"anything": {"a": [1]}}

    def test_the_error_says_what_is_wrong_and_where_without_addresses(self):
        def f(city: str, days: int, points: list[Point]): ...

        with pytest.raises(ArgumentsError) as caught:
            Arguments(f, "t").validate({"days": "soon", "points": [{"x": 1}, {"y": 2}], "country": "CH"})
        assert str(caught.value).split("\n") == [
            "The arguments do not fit:",
            "- city: is required, but missing",
            "- days: Input should be a valid integer, unable to parse string as an integer (got 'soon')",
            "- points[1].x: is required, but missing",
            "- country: there is no such parameter; the parameters are: city, days, points",
        ]

    def test_the_error_is_bounded(self):
        def f(numbers: list[int]): ...

        with pytest.raises(ArgumentsError) as caught:
            Arguments(f, "t").validate({"numbers": ["x" * 10_000] * 1_000})
        lines = str(caught.value).split("\n")
        assert len(lines) == MAX_MISTAKES + 2
        assert lines[-1] == f"- and {1_000 - MAX_MISTAKES} more"
        assert max(map(len, lines)) < 250


class TestWrongAnnotations:
    def test_a_type_without_a_schema_is_named_with_its_parameter(self):
        def f(city: str, thing: NotJson): ...

        with pytest.raises(UsageError, match=r"tool t: parameter thing: .*NotJson") as caught:
            Arguments(f, "t")
        assert caught.value.argument == "thing"

    def test_a_type_that_json_has_no_form_for_is_refused(self):
        class Opaque(pydantic.BaseModel, arbitrary_types_allowed=True):
            inner: NotJson

        def f(thing): ...

        f.__annotations__ = {"thing": Opaque}
        with pytest.raises(UsageError, match="tool t: a parameter has no JSON form"):
            Arguments(f, "t")

    def test_a_name_that_means_nothing_is_named_with_its_parameter(self):
        def f(thing: Nowhere): ...  # noqa: F821

        with pytest.raises(UsageError, match=r"annotation 'Nowhere' of parameter thing cannot be read.*run time"):
            Arguments(f, "t")

    def test_what_it_returns_does_not_matter(self):
        def f(a: int) -> Nowhere: ...  # noqa: F821

        assert Arguments(f, "t").schema == obj({"a": INT}, ["a"])


def test_a_schema_written_by_hand_is_checked_for_its_required_names():
    check_required({"a": 1}, {"required": ["a"]})
    check_required({}, {})
    with pytest.raises(ArgumentsError, match=r"fit:\n- b: is required, but missing\Z"):
        check_required({"a": 1}, {"required": ["a", "b"]})
