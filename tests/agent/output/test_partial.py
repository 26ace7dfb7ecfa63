"""An answer while it streams."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.output.partial import PartialOutput
from headrace.agent.output.spec import OutputSpec

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=8), VALUES, max_size=5)


def read(text, key=None):
    partial = PartialOutput(key)
    partial.feed(text)
    return partial.value


def is_beginning(early, late) -> bool:
    """Whether what was shown is still right: texts and lists have grown, members have come, all else is the same."""
    if isinstance(early, str) and isinstance(late, str):
        return late.startswith(early)
    if isinstance(early, list) and isinstance(late, list):
        return len(early) <= len(late) and all(map(is_beginning, early, late))
    if isinstance(early, dict) and isinstance(late, dict):
        return all(name in late and is_beginning(value, late[name]) for name, value in early.items())
    return early == late and type(early) is type(late)


@given(OBJECTS, st.booleans())
def test_every_beginning_shows_what_stays_true(value, is_ascii):
    text = json.dumps(value, ensure_ascii=is_ascii)
    partial = PartialOutput()
    before = None
    for character in text:
        partial.feed(character)
        shown = partial.value
        assert before is None or is_beginning(before, shown)
        assert is_beginning(shown, value)
        before = shown
    assert partial.value == value
    assert partial.text == text


@given(OBJECTS, st.data())
def test_however_it_is_cut_the_same_is_shown(value, data):
    text = json.dumps(value, indent=data.draw(st.none() | st.just(1)))
    end = data.draw(st.integers(0, len(text)))
    partial = PartialOutput()
    at = 0
    while at < end:
        step = data.draw(st.integers(1, end - at))
        partial.feed(text[at : at + step])
        at += step
        if data.draw(st.booleans()):
            assert partial.value == read(text[:at])
    assert partial.value == read(text[:end])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", None),
        ("Sure", None),
        ("{", {}),
        ('{"na', {}),
        ('{"name"', {}),
        ('{"name": "Os', {"name": "Os"}),
        ('{"n": 12', {}),
        ('{"n": -', {}),
        ('{"n": 1.5e', {}),
        ('{"n": 12,', {"n": 12}),
        ('{"n": [1, 2', {"n": [1]}),
        ('{"n": tru', {}),
        ('{"n": true', {"n": True}),
        ('{"n": "route 66', {"n": "route 66"}),
        ('{"n": "a: 12', {"n": "a: 12"}),
        ('{"n": 1}', {"n": 1}),
        ('```json\n{"n": 1}\n```', {"n": 1}),
        ('It is {"n": 1}. 12', {"n": 1}),
        ('{"n": "\\ud83d', {"n": ""}),
    ],
)
def test_what_is_shown(text, shown):
    assert read(text) == shown


def test_wrapping_is_taken_off():
    partial = OutputSpec.of(list[str]).partial()
    partial.feed('{"it')
    assert partial.value is None
    partial.feed('ems": ["a", "b')
    assert partial.value == ["a", "b"]


def test_of_several_tools_each_has_its_own_wrapping():
    first, second = OutputSpec.of(dict[str, int] | list[int]).partial(), OutputSpec.of(int).partial("final_answer")
    first.feed('{"value": {"a": 1')
    second.feed('{"value": 1}')
    assert first.value == {}
    assert second.value == 1


def test_what_was_shown_stays_when_the_rest_is_broken():
    partial = PartialOutput()
    partial.feed('{"a": "x"')
    assert partial.value == {"a": "x"}
    partial.feed(", oops")
    assert partial.value == {"a": "x"}


def test_looking_when_it_is_due_reads_the_text_about_three_times_in_all():
    partial = PartialOutput()
    partial.feed('{"a": "')
    read_chars = looks = 0
    for _ in range(20_000):
        partial.feed("word ")
        if partial.is_due:
            assert partial.value is not None
            assert not partial.is_due
            looks += 1
            read_chars += len(partial.text)
    assert 10 < looks < 40
    assert read_chars < 3.5 * len(partial.text)


def test_nothing_is_due_before_anything_came():
    assert not PartialOutput().is_due
