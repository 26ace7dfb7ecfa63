"""Schemas as providers want them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from headrace.agent.output.spec import OutputSpec


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind", description="the pet")]
    best: Cat = Field(description="the best one")
    note: str | None = Field(default=None, description="a note")


def every_object(schema: Any):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from every_object(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from every_object(value)


def test_a_strict_schema_requires_all_and_takes_no_more():
    spec = OutputSpec.of(Owner)
    assert spec.is_strict
    found = list(every_object(spec.schema))
    assert len(found) == 3
    for one in found:
        assert one["required"] == list(one["properties"])
        assert one["additionalProperties"] is False
    text = str(spec.schema)
    assert "oneOf" not in text
    assert "discriminator" not in text
    assert "default" not in text
    assert spec.schema["properties"]["best"] == {"description": "the best one", "anyOf": [{"$ref": "#/$defs/Cat"}]}
    assert spec.schema["properties"]["note"]["description"] == "a note"


def test_what_the_strict_form_takes_is_what_the_type_takes():
    assert (
        OutputSpec.of(Owner).typed({"pet": {"kind": "dog", "good": True}, "best": {"kind": "cat", "lives": 9}, "note": None}).note is None
    )


class WithDefault(BaseModel):
    hours: int = 8


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Long(BaseModel):
    name: str = Field(min_length=3)


class Hole(BaseModel):
    anything: Any


class Pair(BaseModel):
    both: tuple[int, int]


@pytest.mark.parametrize("kind", [WithDefault, Open, Long, Hole, Pair, dict[str, int], list[Any], Any], ids=str)
def test_where_strict_would_change_the_meaning_it_is_left(kind):
    assert not OutputSpec.of(kind).is_strict


def test_objects_are_closed_also_where_the_schema_is_not_strict_unless_they_are_open_by_choice():
    assert OutputSpec.of(WithDefault).schema["additionalProperties"] is False
    assert OutputSpec.of(Open).schema["additionalProperties"] is True


def test_a_schema_by_hand_stays_as_it_was_written():
    by_hand = {"title": "Note", "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    spec = OutputSpec.of(by_hand)
    assert spec.schema == by_hand
    assert spec.name == "Note"
    assert not spec.is_strict
    assert (
        OutputSpec.of({**by_hand, "additionalProperties": False, "title": "x"}).is_strict is False
    )  # a title is no word of strict schemas
    strict = {word: value for word, value in by_hand.items() if word != "title"} | {"additionalProperties": False}
    assert OutputSpec.of(strict).is_strict


def test_a_recursive_type_is_spelled_out_at_the_top():
    class Node(BaseModel):
        next: Node | None

    spec = OutputSpec.of(Node)
    assert spec.is_strict
    assert spec.schema["properties"]["next"]["anyOf"][0] == {"$ref": "#/$defs/Node"}
    assert "Node" in spec.schema["$defs"]
