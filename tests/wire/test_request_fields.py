"""A client's JSON is read member by member, and what is wrong is said with its path and what would be right."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.wire.request_fields import Fields, read_body


def test_members_are_read_by_their_type_and_null_is_absent():
    fields = Fields({"a": "x", "n": 1, "f": 0.5, "b": True, "l": ["x"], "o": {"k": 1}, "z": None}, "")
    assert (fields.text("a"), fields.integer("n"), fields.number("n"), fields.number("f"), fields.boolean("b")) == ("x", 1, 1.0, 0.5, True)
    assert (fields.texts("l"), fields.object("o").values(), fields.text("z"), fields.text("none")) == (("x",), {"k": 1}, None, None)
    assert ("a" in fields, "z" in fields) == (True, False)


def test_what_nobody_asked_for_is_the_rest():
    fields = Fields({"a": "x", "b": 1, "c": None, "d": [1]}, "")
    fields.text("a")
    assert fields.rest() == {"b": 1, "d": [1]}


@pytest.mark.parametrize(
    ("read", "place", "words"),
    [
        (lambda f: f.text("n"), "at.n", "at.n is a whole number, not text"),
        (lambda f: f.integer("b"), "at.b", "at.b is true or false, not a whole number"),
        (lambda f: f.number("a"), "at.a", "at.a is text, not a number"),
        (lambda f: f.boolean("n"), "at.n", "at.n is a whole number, not true or false"),
        (lambda f: f.object("a"), "at.a", "at.a is text, not an object"),
        (lambda f: f.required_text("none"), "at.none", "at.none is missing"),
        (lambda f: f.required_object("none"), "at.none", "at.none is missing"),
        (lambda f: f.texts("l"), "at.l[1]", "at.l[1] is a whole number, not text"),
        (lambda f: list(f.objects("l")), "at.l[0]", "at.l[0] is text, not an object"),
        (lambda f: f.number("big"), "at.big", "at.big is out of range"),
    ],
)
def test_a_wrong_type_is_said_with_its_path(read, place, words):
    fields = Fields({"a": "x", "n": 1, "b": True, "l": ["x", 1], "big": 10**30}, "at")
    with pytest.raises(UsageError, match=r".") as caught:
        read(fields)
    assert (caught.value.argument, str(caught.value)) == (place, words)


@pytest.mark.parametrize(
    ("body", "words"), [(b"", "no JSON"), (b"[1]", "the body is a list"), (b"nul", "no JSON"), (b"null", "the body is null")]
)
def test_a_body_that_is_no_object_is_refused(body, words):
    with pytest.raises(UsageError, match=words) as caught:
        read_body(body)
    assert caught.value.argument == "body"
