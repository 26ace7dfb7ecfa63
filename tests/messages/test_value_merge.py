from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from decimal import Decimal
from functools import reduce

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._json import freeze
from headrace.messages.value_merge import as_json, merge_all, merge_values


class Model(pydantic.BaseModel):
    id: str | None = None
    type: str | None = None
    kind: str | None = None
    name: str | None = None
    index: int | None = None
    role: str | None = None
    text: str | None = None
    items: list[int] = []
    inner: Model | None = None


class Open(pydantic.BaseModel, extra="allow"):
    text: str = ""


class Strict(pydantic.BaseModel, frozen=True):
    text: str


class Struct(msgspec.Struct, frozen=True):
    id: str | None = None
    text: str = ""
    count: int = 0


@dataclasses.dataclass(frozen=True)
class Data:
    role: str
    text: str
    seen: bool = False
    length: int = dataclasses.field(init=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "length", len(self.text))


class Picky(msgspec.Struct, frozen=True):
    text: str

    def __post_init__(self):
        if len(self.text) > 3:
            raise ValueError("too long")


class Tally:
    def __init__(self, count):
        self.count = count

    def __add__(self, other):
        return Tally(self.count + other.count)

    def __eq__(self, other):
        return isinstance(other, Tally) and self.count == other.count

    __hash__ = None


class Broken:
    def __add__(self, other):
        raise RuntimeError("no")


class Declines:
    def __add__(self, other):
        return NotImplemented


class Odd:
    def __radd__(self, other):
        return NotImplemented

    def __add__(self, other):
        return self.__class__.__radd__(self, other)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


BROKEN, DECLINES, ODD = Broken(), Declines(), Odd()

# Row by row: None gives the other; texts, lists; mappings by key; models field by field; what can be added; else right.
ROWS = {
    "None and None": (None, None, None),
    "None and a value": (None, 1, 1),
    "a value and None": ([1], None, [1]),
    "texts": ("a", "b", "ab"),
    "lists": ([1], [2], [1, 2]),
    "lists are joined, their items are not merged": ([{"a": "x"}], [{"a": "y"}], [{"a": "x"}, {"a": "y"}]),
    "mappings by key": ({"a": "x", "b": 1}, {"a": "y", "c": 2}, {"a": "xy", "b": 1, "c": 2}),
    "mappings at every depth": ({"a": {"b": [{"c": 1}]}}, {"a": {"b": [2]}}, {"a": {"b": [{"c": 1}, 2]}}),
    "None in a mapping, on the right": ({"a": 1}, {"a": None}, {"a": 1}),
    "None in a mapping, on the left": ({"a": None}, {"a": 1}, {"a": 1}),
    "None in a mapping, alone": ({"a": None}, {}, {"a": None}),
    "the keys of mappings are no identity fields": ({"id": "a", "name": "b"}, {"id": "c", "name": "d"}, {"id": "ac", "name": "bd"}),
    "keys that are no texts": ({1: "a"}, {1: "b"}, {1: "ab"}),
    "frozen values are merged as plain ones": (freeze({"a": [1]}), {"a": [2]}, {"a": [1, 2]}),
    "integers: right": (1, 2, 2),
    "zero is a value": (5, 0, 0),
    "booleans: right": (True, False, False),
    "floats: right": (1.5, 2.5, 2.5),
    "decimals are numbers: right": (Decimal(1), Decimal(2), Decimal(2)),
    "a number and a boolean: right": (1, True, True),
    "text and list: right": ("a", [1], [1]),
    "mapping and text: right": ({"a": 1}, "b", "b"),
    "enum members: right": (Colour.RED, Colour.BLUE, Colour.BLUE),
    "tuples are added": ((1,), (2,), (1, 2)),
    "bytes are added": (b"a", b"b", b"ab"),
    "two of a class that can be added": (Tally(1), Tally(2), Tally(3)),
    "an exception there: right": (BROKEN, DECLINES, DECLINES),
    "an exception in adding: right": (Broken(), BROKEN, BROKEN),
    "declined: right": (Declines(), DECLINES, DECLINES),
    "an odd class that returns NotImplemented: right": (Odd(), ODD, ODD),
    "models field by field": (
        Model(id="i", type="t", kind="k", name="n", index=0, role="r", text="a", items=[1]),
        Model(id="j", type="u", kind="l", name="m", index=1, role="s", text="b", items=[2]),
        Model(id="i", type="t", kind="k", name="n", index=0, role="r", text="ab", items=[1, 2]),
    ),
    "identity fields: the first non-empty": (Model(id="", index=None), Model(id="j", index=3), Model(id="j", index=3)),
    "models inside models": (
        Model(inner=Model(id="x", text="a")),
        Model(inner=Model(id="y", text="b")),
        Model(inner=Model(id="x", text="ab")),
    ),
    "models inside mappings and lists": ({"m": Model(text="a")}, {"m": Model(text="b")}, {"m": Model(text="ab")}),
    "a model's extra fields": (Open(text="a", more="x"), Open(text="b", more="y", other=1), Open(text="ab", more="xy", other=1)),
    "structs": (Struct("a", "x", 1), Struct("b", "y", 2), Struct("a", "xy", 2)),
    "dataclasses": (Data("user", "ab"), Data("tool", "c", seen=True), Data("user", "abc", seen=True)),
    "frozen models": (Strict(text="a"), Strict(text="b"), Strict(text="ab")),
    "two classes: right": (Struct("a"), Strict(text="b"), Strict(text="b")),
    "a model and a mapping: right": (Strict(text="a"), {"text": "b"}, {"text": "b"}),
    "a class that refuses the result: right": (Picky("ab"), Picky("cd"), Picky("cd")),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_rows_of_the_rule(row):
    left, right, expected = ROWS[row]
    merged = merge_values(left, right)
    assert merged == expected
    assert type(merged) is type(expected) or isinstance(expected, (dict, list))


def test_a_computed_field_of_a_dataclass_is_computed_again():
    assert merge_values(Data("user", "ab"), Data("user", "c")).length == 3


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
VALUES = JSON_VALUES | st.sampled_from([(1,), (2, 3), Struct("a", "x"), Struct("b", "y"), Tally(1), Tally(2)])


@given(st.lists(VALUES, max_size=5))
def test_merging_many_is_the_left_fold_of_merging_two(values):
    assert merge_all(values) == reduce(merge_values, values, None)


@given(JSON_VALUES, JSON_VALUES)
def test_nothing_that_goes_in_is_changed_or_shared(left, right):
    before = freeze(left), freeze(right)
    merged = merge_values(left, right)
    _scribble(merged)
    assert (freeze(left), freeze(right)) == before


def _scribble(value):
    if isinstance(value, dict):
        for item in list(value.values()):
            _scribble(item)
        value["scribbled"] = True
    elif isinstance(value, list):
        for item in list(value):
            _scribble(item)
        value.append("scribbled")


@given(JSON_VALUES)
def test_none_and_an_empty_value_of_its_kind_add_nothing(value):
    assert merge_values(None, value) == merge_values(value, None) == value
    if isinstance(value, (str, list, dict)):
        assert merge_values(value, type(value)()) == merge_values(type(value)(), value) == value


def test_merging_many_texts_takes_linear_time():
    assert merge_all({"a": "x"} for _ in range(100_000)) == {"a": "x" * 100_000}


AS_JSON = {
    "nothing": (None, None),
    "a text": ("a", "a"),
    "a number": (1.5, 1.5),
    "a struct": (Struct("a", "x", 1), {"id": "a", "text": "x", "count": 1}),
    "a model": (Strict(text="a"), {"text": "a"}),
    "a model in a list": ([Strict(text="a")], [{"text": "a"}]),
    "a dataclass": (Data("user", "ab"), {"role": "user", "text": "ab", "seen": False, "length": 2}),
    "a time": ({"at": dt.datetime(2030, 1, 2, tzinfo=dt.UTC)}, {"at": "2030-01-02T00:00:00Z"}),
    "keys that are no texts": ({1: "a"}, {"1": "a"}),
}


@pytest.mark.parametrize("case", AS_JSON)
def test_values_as_json(case):
    value, expected = AS_JSON[case]
    assert as_json(value) == expected


def test_what_cannot_be_json_stays_as_it_is():
    value = [Tally(1)]
    assert as_json(value) is value
