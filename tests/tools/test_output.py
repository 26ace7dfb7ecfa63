"""What a tool gives back, as parts; bounded."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import uuid

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import UsageError
from headrace.messages.parts import JsonPart, MediaPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from headrace.tools.output import Output, parts_from, with_note


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()


@dataclasses.dataclass
class Point:
    x: object
    y: object = 0


class Struct(msgspec.Struct):
    x: object


class Model(pydantic.BaseModel):
    day: dt.date


class NotJson:
    pass


IMAGE = MediaPart(kind="image", data=b"\x89PNG", media_type="image/png")
DAY = dt.date(2026, 1, 2)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (None, ()),
        ("", ()),
        ("hello", (TextPart("hello"),)),
        (Text("hello"), (TextPart("hello"),)),
        ("half \ud83d", (TextPart("half \ufffd"),)),
        (IMAGE, (IMAGE,)),
        ([TextPart("a"), IMAGE], (TextPart("a"), IMAGE)),
        (("a", IMAGE, {"b": 1}, None), (TextPart("a"), IMAGE, JsonPart({"b": 1}))),
    ],
)
def test_text_and_parts_stay_what_they_are(value, parts):
    assert parts_from(value) == parts


@pytest.mark.parametrize(
    ("value", "json"),
    [
        *[(value, value) for value in (0, 1.5, True, False, [], {}, [1, "a", None], {"a": {"b": [1]}}, 10**30)],
        ({"type": "sedan"}, {"type": "sedan"}),
        ({"type": "text", "text": "not a part"}, {"type": "text", "text": "not a part"}),
        ({1: "a"}, {"1": "a"}),
        ((1, 2), [1, 2]),
        ({3}, [3]),
        (Colour.RED, "red"),
        (DAY, "2026-01-02"),
        (decimal.Decimal("1.50"), "1.50"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("/etc"), "/etc"),
        (Point(1, [DAY]), {"x": 1, "y": ["2026-01-02"]}),
        (Struct(DAY), {"x": "2026-01-02"}),
        (Model(day=DAY), {"day": "2026-01-02"}),
        ([Model(day=DAY)], [{"day": "2026-01-02"}]),
        (Point(Model(day=DAY)), {"x": {"day": "2026-01-02"}, "y": 0}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        ([Text("a")], ["a"]),
        (["half \udc00"], ["half \ufffd"]),
        ({"half \udc00": 1}, {"half \ufffd": 1}),
    ],
)
def test_every_other_json_value_is_one_json_part(value, json):
    (part,) = parts_from(value)
    assert part == JsonPart(json)


def test_what_was_given_out_does_not_change_with_the_value():
    value = {"a": [1]}
    (part,) = parts_from(value)
    value["a"].append(2)
    assert part.value == {"a": [1]}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"x", "return MediaPart"),
        (bytearray(b"x"), "return MediaPart"),
        ({"a": b"x"}, r"output\.a is a bytes"),
        (NotJson(), "a NotJson has no JSON form"),
        ([{"a": NotJson()}], "a NotJson has no JSON form"),
        (NotJson, "the class NotJson has no JSON form"),
        (Model, "the class Model has no JSON form"),
        ((n for n in ()), "a generator has no JSON form"),
        (float("nan"), "output is nan"),
        ({"a": [float("inf")]}, r"output\.a\[0\] is inf"),
        ({(1, 2): 3}, "no JSON value"),
        (ToolResultPart(call_id="1"), "the output is a ToolResultPart"),
        ([ToolCallPart(id="1", name="f")], "the output is a ToolCallPart"),
    ],
)
def test_what_is_no_json_is_refused_with_its_type_and_place(value, words):
    with pytest.raises(UsageError, match=words):
        parts_from(value)


def test_a_value_that_holds_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(UsageError, match="holds itself"):
        parts_from(loop)


class TestOutput:
    def test_neighbouring_texts_are_one_part(self):
        output = Output(1_000)
        assert output.add("a") == (TextPart("a"),)
        for value in ("b", IMAGE, "c", None, "d", {"x": 1}):
            output.add(value)
        assert output.parts == (TextPart("ab"), IMAGE, TextPart("cd"), JsonPart({"x": 1}))
        assert (output.kept_bytes, output.cut_bytes) == (11, 0)

    def test_a_text_with_citations_stays_a_part_of_its_own(self):
        cited = TextPart("b", citations=({"url": "x"},))
        output = Output(1_000)
        for value in ("a", cited, "c"):
            output.add(value)
        assert output.parts == (TextPart("a"), cited, TextPart("c"))

    def test_it_is_cut_between_characters_and_the_cut_is_said(self):
        output = Output(4)
        assert output.add("aä€z") == (TextPart("aä"),)
        assert output.parts == (TextPart("aä"), TextPart("\n[cut here: 4 more bytes of output were left out]"))
        assert (output.kept_bytes, output.cut_bytes) == (3, 4)

    def test_nothing_is_kept_after_a_cut(self):
        output = Output(4)
        output.add("abcdef")
        assert output.add("") == output.add("g") == output.add({"a": 1}) == ()
        assert output.cut_bytes == 2 + 1 + 7

    def test_json_that_is_too_long_becomes_the_beginning_of_its_text(self):
        output = Output(5)
        assert output.add([1, 2, 3]) == (TextPart("[1,2,"),)
        assert output.cut_bytes == 2

    def test_other_parts_are_left_out_whole(self):
        output = Output(5)
        assert output.add(ReasoningPart("long enough")) == ()
        assert output.cut_bytes > 5

    def test_exactly_full_is_not_cut(self):
        output = Output(4)
        assert output.add("ab") + output.add("cd") == (TextPart("ab"), TextPart("cd"))
        assert output.parts == (TextPart("abcd"),)

    def test_media_have_a_bound_of_their_own(self):
        output = Output(4, max_media_bytes=6)
        assert output.add(IMAGE) == (IMAGE,)
        assert output.add(IMAGE) == ()
        assert output.cut_bytes == 4

    @given(st.lists(st.text(max_size=20)), st.integers(1, 60))
    def test_what_is_kept_is_the_beginning_however_it_came_in_pieces(self, pieces, limit):
        output = Output(limit)
        shown = "".join(part.text for piece in pieces for part in output.add(piece))
        whole = "".join(pieces)
        assert whole.startswith(shown)
        assert output.kept_bytes == len(shown.encode()) <= limit
        assert output.kept_bytes + output.cut_bytes == len(whole.encode())
        assert output.kept_bytes > limit - 4 or not output.cut_bytes


def test_a_note_stands_on_a_line_of_its_own():
    assert with_note((), "n") == (TextPart("n"),)
    assert with_note((TextPart("a"),), "n") == (TextPart("a"), TextPart("\nn"))
    assert with_note((TextPart("a\n"),), "n") == (TextPart("a\n"), TextPart("n"))
    assert with_note((IMAGE,), "n") == (IMAGE, TextPart("n"))
