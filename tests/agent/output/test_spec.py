"""Structured output: every kind of type in every mode, and what is said of answers that do not do."""

from __future__ import annotations

import dataclasses
import enum
import json
from datetime import date
from typing import Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from headrace.agent.output.outcome import MAX_TEXT_CHARS, Failed, Invalid, Valid
from headrace.agent.output.spec import OutputSpec, output_of
from headrace.errors import InvalidStructuredOutputError, OutputValidationError, RefusalError, ToolError, UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from headrace.messages.request import NamedTool, OutputFormat
from headrace.wire.profile import Profile

MODES = ("native", "tool", "prompted")


class City(BaseModel):
    """A city."""

    name: str
    people: int
    founded: date | None = None


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Song(TypedDict):
    title: str


class Ship(msgspec.Struct):
    name: str
    masts: int = 3


class Boat(msgspec.Struct):
    name: str
    oars: int = 2


class Color(enum.Enum):
    red = "red"
    blue = "blue"


class Tree(BaseModel):
    name: str
    branches: list[Tree] = []


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

# a type, what lies in the answer's object, the typed value
KINDS: list[tuple[Any, Any, Any]] = [
    (City, {"name": "Oslo", "people": 7}, City(name="Oslo", people=7)),
    (City, {"name": "Oslo", "people": 7, "founded": "1040-01-01"}, City(name="Oslo", people=7, founded=date(1040, 1, 1))),
    (Point, {"x": 1, "y": 2.5}, Point(1.0, 2.5)),
    (Song, {"title": "Yes"}, {"title": "Yes"}),
    (Ship, {"name": "Fram"}, Ship("Fram")),
    (list[Ship], [{"name": "Fram"}], [Ship("Fram")]),
    (Tree, {"name": "a", "branches": [{"name": "b", "branches": []}]}, Tree(name="a", branches=[Tree(name="b")])),
    (int, 5, 5),
    (bool, False, False),
    (list[int], [1, 2], [1, 2]),
    (tuple[int, str], [1, "a"], (1, "a")),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (date, "2026-01-02", date(2026, 1, 2)),
    (Literal["yes", "no"], "no", "no"),
    (Color, "blue", Color.blue),
    (City | None, {"name": "Oslo", "people": 7}, City(name="Oslo", people=7)),
    (City | None, None, None),
    (int | str, "a", "a"),
    (Any, [1, {"a": None}], [1, {"a": None}]),
    (City | Point, {"x": 1}, Point(1.0)),
    (Ship | Boat, {"name": "Fram", "oars": 4}, Boat("Fram", 4)),
    (Ship | City, {"name": "Oslo", "people": 7}, City(name="Oslo", people=7)),
    (SCHEMA, {"a": 1, "b": [None]}, {"a": 1, "b": [None]}),
    ({"type": "array", "items": {"type": "integer"}}, [1], [1]),
]
IDS = [f"{n}-{getattr(kind, '__name__', kind)}"[:30] for n, (kind, _, _) in enumerate(KINDS)]


def spoken(text: str, **fields: Any) -> AssistantMessage:
    return AssistantMessage(text, **{"finish_reason": "stop", **fields})


def called(*calls: tuple[str, Any], runnable: bool = True, **fields: Any) -> AssistantMessage:
    parts = [
        ToolCallPart(id=f"c{n}", name=name, arguments=json.dumps(arguments), parsed=arguments, runnable=runnable)
        for n, (name, arguments) in enumerate(calls)
    ]
    return AssistantMessage(parts, **{"finish_reason": "tool_calls", **fields})


def object_of(spec: OutputSpec, value: Any) -> Any:
    """Wrap a value as the schema of the whole answer says."""
    key = {"value", "items"} & set(spec.schema.get("properties", ())) if spec._whole.key else ()
    return {next(iter(key)): value} if key else value


@pytest.mark.parametrize(("kind", "value", "typed"), KINDS, ids=IDS)
@pytest.mark.parametrize("mode", MODES)
def test_every_kind_of_type_comes_back_in_every_mode(kind, value, typed, mode):
    spec = OutputSpec.of(kind, mode=mode)
    if mode == "tool":
        outcomes = [
            spec.read(called((name, value if form.key is None else {form.key: value})), "tool") for name, form in spec._tools.items()
        ]
        (outcome, *_) = [one for one in outcomes if isinstance(one, Valid) and one.typed == typed]
        assert outcome.call_id == "c0"
        assert outcome.place == 0
    else:
        outcome = spec.read(spoken(json.dumps(object_of(spec, value))), mode)
        assert isinstance(outcome, Valid)
        assert outcome.call_id is None
    assert outcome.value == value
    assert outcome.typed == typed
    assert type(outcome.typed) is type(typed)
    kept = AssistantMessage("", structured_output=outcome.value).structured_output
    again = OutputSpec.of(kind).typed(kept)
    assert again == typed
    assert type(again) is type(typed)


@pytest.mark.parametrize("kind", [kind for kind, _, _ in KINDS], ids=IDS)
def test_a_schema_is_always_an_object_without_made_up_titles(kind):
    spec = OutputSpec.of(kind)
    assert spec.schema["type"] == "object"
    assert '"title":"' not in json.dumps(spec.schema, separators=(",", ":"))
    assert spec.request_parts("native").output == OutputFormat(name=spec.name, schema=spec.schema, is_strict=spec.is_strict)
    for tool in spec.request_parts("tool").tools:
        assert tool.parameters["type"] == "object"


def test_a_type_whose_values_are_no_objects_lies_in_one():
    assert OutputSpec.of(int).schema == {
        "type": "object",
        "properties": {"value": {"type": "integer"}},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert list(OutputSpec.of(list[int]).schema["properties"]) == ["items"]


@pytest.mark.parametrize("nothing", [(lambda value: value), 5, "City", object(), [int], print, {}])
def test_what_is_no_type_is_said_at_construction(nothing):
    with pytest.raises(UsageError, match="output_type"):
        OutputSpec.of(nothing)


def test_a_type_without_schema_is_named():
    class Plain:
        pass

    for kind in (Plain, list[Plain], City | Plain):
        with pytest.raises(UsageError, match="Plain"):
            OutputSpec.of(kind)


@pytest.mark.parametrize(
    "arguments",
    [{"mode": "magic"}, {"retries": -1}, {"retries": True}, {"name": "a b"}, {"name": ""}],
    ids=str,
)
def test_an_argument_that_does_not_fit_is_named(arguments):
    with pytest.raises(UsageError) as caught:
        OutputSpec.of(City, **arguments)
    assert caught.value.argument == next(iter(arguments))


def test_text_needs_no_type():
    assert output_of(None) is None
    assert output_of(str) is None
    with pytest.raises(UsageError, match="str"):
        OutputSpec.of(str)
    spec = OutputSpec.of(City)
    assert output_of(spec) is spec
    made = output_of(City)
    assert made is not None
    assert made.type is City
    assert repr(made) == "OutputSpec(City, mode='auto')"


# ---------------------------------------------------------------------------------------------- choosing and asking


def test_the_strongest_mode_that_the_server_has_is_chosen():
    spec = OutputSpec.of(City)
    assert spec.mode_for(Profile(), has_tools=True) == "native"
    apart = Profile(supports_output_with_tools=False)
    assert spec.mode_for(apart, has_tools=True) == "tool"
    assert spec.mode_for(apart, has_tools=False) == "native"
    assert spec.mode_for(Profile(output_formats=("json_object",)), has_tools=False) == "tool"
    assert spec.mode_for(Profile(output_formats=(), tool_choices=()), has_tools=False) == "prompted"
    assert spec.mode_for(None, has_tools=False) == "tool"
    assert OutputSpec.of(City, mode="prompted").mode_for(Profile(), has_tools=False) == "prompted"


def test_a_prompt_holds_the_schema_and_asks_for_json_where_the_server_has_that():
    spec = OutputSpec.of(City)
    parts = spec.request_parts("prompted", Profile())
    assert parts.output == OutputFormat(name="City", schema=None)
    assert json.loads(parts.instructions.split("\n", 1)[1]) == spec.schema
    assert parts.tools == ()
    for profile, has_tools in ((None, False), (Profile(output_formats=()), False), (Profile(supports_output_with_tools=False), True)):
        assert spec.request_parts("prompted", profile, has_tools=has_tools).output is None


def test_a_tool_is_forced_as_far_as_the_server_can_be_told():
    one, two = OutputSpec.of(City), OutputSpec.of(City | Point)

    def forced(spec, *words):
        return spec.request_parts("tool", Profile(tool_choices=words)).forced_choice

    assert forced(one, "auto", "named", "required") == NamedTool("final_answer")
    assert forced(one, "auto", "required") == NamedTool("final_answer")
    assert forced(one, "auto") == "auto"
    assert forced(two, "auto", "named", "required") == "required"
    assert forced(two, "auto", "named") == "auto"
    assert one.request_parts("tool").forced_choice == "auto"
    assert one.request_parts("native").forced_choice == "none"


def test_strict_arguments_are_asked_for_where_the_server_and_the_schema_can():
    able = Profile(supports_strict_tools=True)
    assert OutputSpec.of(City).request_parts("tool", able).tools[0].is_strict is True
    assert OutputSpec.of(dict[str, int]).request_parts("tool", able).tools[0].is_strict is None
    assert OutputSpec.of(City).request_parts("tool", Profile()).tools[0].is_strict is None


def test_a_union_of_objects_is_a_tool_for_each():
    spec = OutputSpec.of(City | Point | int | None, name="reply")
    parts = spec.request_parts("tool")
    assert [tool.name for tool in parts.tools] == ["reply_City", "reply_Point", "reply_other"] == list(spec.tool_names)
    assert "A city." in parts.tools[0].description
    assert all(name in parts.instructions for name in spec.tool_names)
    assert spec.read(called(("reply_other", {"value": None})), "tool") == Valid(None, None, "c0", 0)
    # In one schema the members stand side by side, in an object, since providers take no union at the top.
    assert len(spec.schema["properties"]["value"]["anyOf"]) == 4


def test_two_members_of_one_name_get_tools_of_two_names():
    first = dataclasses.make_dataclass("Same", [("a", int)])
    second = dataclasses.make_dataclass("Same", [("b", int)])
    spec = OutputSpec.of(first | second)
    assert len(set(spec.tool_names)) == 2
    outcome = spec.read(called((spec.tool_names[1], {"b": 1})), "tool")
    assert isinstance(outcome, Valid)
    assert outcome.typed == second(1)


def test_the_called_tool_says_which_member_is_meant():
    spec = OutputSpec.of(Ship | Boat)
    outcome = spec.read(called(("final_answer_Boat", {"name": "Fram"})), "tool")
    assert isinstance(outcome, Valid)
    assert outcome.typed == Boat("Fram")


# ---------------------------------------------------------------------------------------------- what does not do


@pytest.mark.parametrize("mode", MODES)
def test_what_does_not_fit_is_said_with_its_place(mode):
    spec = OutputSpec.of(City)
    wrong = {"name": 5, "founded": "soon"}
    outcome = spec.read(called(("final_answer", wrong)) if mode == "tool" else spoken(json.dumps(wrong)), mode)
    assert isinstance(outcome, Invalid)
    assert "- name: " in outcome.text
    assert "- people: is required, but missing" in outcome.text
    assert "- founded: " in outcome.text
    assert outcome.call_id == ("c0" if mode == "tool" else None)
    error = outcome.error(spoken(""), 3)
    assert isinstance(error, OutputValidationError)
    assert "3 tries" in str(error)


def test_many_mistakes_are_counted_and_long_ones_cut():
    outcome = OutputSpec.of(list[int], mode="native").read(spoken(json.dumps({"items": ["x" * 9999] * 100})), "native")
    assert isinstance(outcome, Invalid)
    assert "- and 80 more" in outcome.text
    assert len(outcome.text) <= MAX_TEXT_CHARS


def test_a_struct_says_its_mistakes_too():
    outcome = OutputSpec.of(list[Ship]).read(spoken('{"items":[{"name":"a","masts":"two"}]}'), "native")
    assert isinstance(outcome, Invalid)
    assert "- [0].masts: Expected `int`, got `str`" in outcome.text


@pytest.mark.parametrize(
    ("value", "said"),
    [({"value": 1, "note": "x"}, "note: there is no such property"), ({"answer": 1}, "value: is required"), ({}, "value: is required")],
)
def test_a_wrapping_that_is_not_the_asked_one_is_said(value, said):
    outcome = OutputSpec.of(int).read(called(("final_answer", value)), "tool")
    assert isinstance(outcome, Invalid)
    assert said in outcome.text


def test_a_bare_value_counts_only_where_nothing_but_words_asked_for_the_wrapping():
    spec = OutputSpec.of(list[int])
    assert spec.read(spoken("[1, 2]"), "prompted") == Valid([1, 2], [1, 2])
    assert isinstance(spec.read(spoken("[1, 2]"), "native"), Invalid)
    assert isinstance(spec.read(spoken('{"a": 1}'), "prompted"), Invalid)


def test_text_is_no_answer_where_a_tool_was_offered():
    outcome = OutputSpec.of(City).read(spoken('{"name": "Oslo", "people": 7}'), "tool")
    assert isinstance(outcome, Invalid)
    assert "final_answer" in outcome.text


def test_prose_is_answered_with_what_is_wanted():
    outcome = OutputSpec.of(City).read(spoken("Oslo, of course."), "prompted")
    assert isinstance(outcome, Invalid)
    assert "one whole JSON object" in outcome.text


def test_a_call_that_must_not_run_is_no_answer():
    call = ToolCallPart(id="c", name="final_answer", arguments='{"name": "Os', parsed=None, runnable=False)
    outcome = OutputSpec.of(City).read(AssistantMessage([call], finish_reason="tool_calls"), "tool")
    assert isinstance(outcome, Invalid)
    assert outcome.call_id == "c"
    assert "not JSON" in outcome.text
    whole = called(("final_answer", {"name": "Oslo", "people": 7}), runnable=False)
    assert isinstance(OutputSpec.of(City).read(whole, "tool"), Invalid)


def test_an_answer_that_was_cut_off_is_not_asked_for_again():
    spec = OutputSpec.of(City)
    cut = spec.read(spoken('{"name": "Os', finish_reason="length"), "native")
    assert isinstance(cut, Failed)
    assert cut.reason == "length"
    assert "max_tokens" in str(cut.error(spoken("")))
    whole = spec.read(spoken('{"name": "Oslo", "people": 7}', finish_reason="length"), "native")
    assert isinstance(whole, Valid)


def test_a_refusal_is_a_refusal():
    message = AssistantMessage([RefusalPart("I will not.")], finish_reason="stop")
    outcome = OutputSpec.of(City).read(message, "native")
    assert outcome == Failed("refusal", "I will not.")
    error = outcome.error(message)
    assert isinstance(error, RefusalError)
    assert error.partial is message
    filtered = OutputSpec.of(City).read(spoken("{}", finish_reason="content_filter"), "native")
    assert isinstance(filtered, Failed)
    assert filtered.reason == "content_filter"


@pytest.mark.parametrize(
    "message",
    [
        called(("clock", {})),
        spoken("  \n"),
        AssistantMessage([ReasoningPart("hm")], finish_reason="stop"),
        spoken("{}", finish_reason="pause"),
        spoken("{}", finish_reason="error"),
        spoken("{}", generate_reason="interrupted"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_what_is_no_answer_yet_is_none(message, mode):
    assert OutputSpec.of(City).read(message, mode) is None


def test_the_answers_call_counts_beside_others_and_the_first_that_fits():
    spec = OutputSpec.of(int)
    message = called(("clock", {}), ("final_answer", {}), ("final_answer", {"value": 2}), ("final_answer", {"value": 3}))
    assert spec.read(message, "tool") == Valid(2, 2, "c2", 2)
    wrong = spec.read(called(("clock", {}), ("final_answer", {}), ("final_answer", {"value": "x"})), "tool")
    assert isinstance(wrong, Invalid)
    assert wrong.place == 1


@pytest.mark.parametrize("error", [ValueError("too small"), ToolError("too small")])
def test_a_validate_function_speaks_to_the_model(error):
    def validate(city: City) -> None:
        if city.people < 10:
            raise error

    spec = OutputSpec.of(City, validate=validate)
    outcome = spec.read(spoken('{"name": "Oslo", "people": 7}'), "native")
    assert isinstance(outcome, Invalid)
    assert "too small" in outcome.text
    assert isinstance(spec.read(spoken('{"name": "Oslo", "people": 70}'), "native"), Valid)
    assert spec.typed({"name": "Oslo", "people": 7}) == City(name="Oslo", people=7)


def test_a_validate_functions_own_fault_is_not_put_on_the_model():
    def validate(city: City) -> None:
        raise KeyError(city.name)

    with pytest.raises(KeyError):
        OutputSpec.of(City, validate=validate).read(spoken('{"name": "Oslo", "people": 7}'), "native")


def test_a_kept_value_that_no_longer_fits_is_said():
    with pytest.raises(InvalidStructuredOutputError, match="City"):
        OutputSpec.of(City).typed({"name": "Oslo"})


def test_the_parts_of_a_text_are_one_answer():
    message = AssistantMessage([TextPart('{"name": "Os'), ReasoningPart("hm"), TextPart('lo", "people": 7}')], finish_reason="stop")
    outcome = OutputSpec.of(City).read(message, "native")
    assert isinstance(outcome, Valid)
    assert outcome.typed.name == "Oslo"


def test_a_description_and_a_bound_reach_the_model():
    class Rating(BaseModel):
        stars: int = Field(description="how good", ge=1, le=5)

    spec = OutputSpec.of(Rating)
    assert spec.schema["properties"]["stars"] == {"type": "integer", "description": "how good", "minimum": 1, "maximum": 5}
    assert spec.is_strict
