"""Types of an answer, compiled by whichever library takes them."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Annotated, Any, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, Field

from headrace.agent.output.codec import EitherCodec, MisfitError, PydanticCodec, SchemaCodec, StructCodec, codec_of, members_of, name_of
from headrace.errors import UsageError


class City(BaseModel):
    name: str


class Ship(msgspec.Struct):
    name: str
    at: datetime | None = None


class Boat(msgspec.Struct):
    name: str
    oars: int = 2


class Plain(TypedDict):
    a: int


@pytest.mark.parametrize(
    ("kind", "codec"),
    [
        (City, PydanticCodec),
        (City | int, PydanticCodec),
        (Ship, StructCodec),
        (list[Ship | None], StructCodec),
        (Ship | Boat, EitherCodec),
        (Ship | City, EitherCodec),
        ({"type": "object"}, SchemaCodec),
    ],
    ids=str,
)
def test_each_type_goes_to_a_library_that_takes_it(kind, codec):
    assert type(codec_of(kind)) is codec


def test_a_typed_dict_of_the_standard_library_is_taken_on_every_python():
    codec = codec_of(Plain)
    assert codec.schema["properties"] == {"a": {"type": "integer"}}
    assert codec.decode({"a": 1}) == {"a": 1}
    with pytest.raises(MisfitError):
        codec.decode({"a": "x"})


def test_a_struct_reads_times_from_text_and_leaves_the_value_alone():
    value = {"name": "Fram", "at": "2026-01-02T03:04:05Z"}
    ship = codec_of(Ship).decode(value)
    assert ship.at.year == 2026
    assert value == {"name": "Fram", "at": "2026-01-02T03:04:05Z"}


def test_what_a_schema_by_hand_gives_out_is_a_copy():
    value: dict[str, Any] = {"a": [1]}
    decoded = codec_of({"type": "object"}).decode(value)
    decoded["a"].append(2)
    assert value == {"a": [1]}


def test_of_two_members_the_one_that_knows_all_properties_comes_first():
    codec = codec_of(Ship | Boat)
    assert codec.decode({"name": "Fram", "oars": 4}) == Boat("Fram", 4)
    assert codec.decode({"name": "Fram"}) == Ship("Fram")
    assert codec.decode({"name": "Fram", "color": "red"}) == Ship("Fram")
    with pytest.raises(MisfitError) as caught:
        codec.decode({"oars": 4})
    assert len(caught.value.mistakes) == 2


def test_two_different_types_of_one_name_inside_a_union_are_refused():
    one = msgspec.defstruct("Deck", [("a", int)])
    other = msgspec.defstruct("Deck", [("b", int)])
    left = msgspec.defstruct("Left", [("deck", one)])
    right = msgspec.defstruct("Right", [("deck", other)])
    with pytest.raises(UsageError, match="Deck"):
        codec_of(left | right)


def test_the_members_of_an_annotated_union_are_its_own():
    assert members_of(Annotated[City | Ship, Field(description="x")]) == (City, Ship)
    assert members_of(City) == ()
    assert members_of(list[int]) == ()


def test_what_a_person_calls_a_type():
    assert [name_of(kind) for kind in (City, list[int], {"title": "Note"}, {"type": "object"})] == ["City", "list[int]", "Note", "answer"]


def test_a_root_that_is_only_a_reference_is_spelled_out_and_kept_only_where_something_needs_it():
    node = dataclasses.make_dataclass("Leaf", [("a", int)])
    assert codec_of(node).schema.get("$defs") is None
    assert codec_of(Ship).schema.get("$defs") is None
    assert codec_of(Ship).schema["type"] == "object"


def test_a_model_that_forbids_more_says_so_of_what_is_too_much():
    class Closed(BaseModel, extra="forbid"):
        a: int

    with pytest.raises(MisfitError) as caught:
        codec_of(Closed).decode({"a": 1, "b": 2})
    assert caught.value.mistakes == ("b: there is no such property",)
