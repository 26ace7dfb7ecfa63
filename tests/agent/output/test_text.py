"""The JSON in a model's text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._json import JSONError
from headrace.agent.output.text import json_in

FENCE = "```"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1]}',
        ' \n{"a": [1]}\n',
        f'{FENCE}json\n{{"a": [1]}}\n{FENCE}',
        f'{FENCE}\n{{"a":\n [1]}}\n{FENCE}\n',
        f'Here it is:\n\n{FENCE}json\n{{"a": [1]}}\n{FENCE}\nAnything {{else}}?',
        'Sure: {"a": [1]} - that is all.',
        'With {curly} words, then {"a": [1]}',
        '{"a": [1]}</answer>',
    ],
)
def test_the_json_is_found(text):
    assert json_in(text) == {"a": [1]}


def test_any_json_may_be_the_whole_text():
    assert json_in("[1]") == [1]
    assert json_in(f"{FENCE}json\n3\n{FENCE}") == 3
    assert json_in("null") is None


def test_a_raw_line_break_in_a_string_and_half_a_character_are_tolerated():
    assert json_in('{"a": "x\ny"}') == {"a": "x\ny"}
    assert json_in('see {"a": "x\ny"}') == {"a": "x\ny"}
    assert json_in('{"a": "\\ud800"}') == {"a": "�"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no", "not JSON"),
        ("", "not JSON"),
        ('{"a": {"b": 1}', "not JSON"),  # an object inside of one that was cut off is not the answer
        ('so: {"a": [{"b": 1}, {"c"', "not JSON"),
        ('{"a": "}', "not JSON"),
        ('{"a": 1} or {"a": 2}', "several"),
        ('{"a": 1}{"a": 1}', "several"),
        (f'{FENCE}json\n{{"a": 1,}}\n{FENCE}', "fenced block"),
        ("{'a': 1}", "not JSON"),
        ("[1, 2", "not JSON"),
        ("NaN", "not JSON"),
    ],
)
def test_what_holds_no_answer_is_said(text, said):
    with pytest.raises(JSONError, match=said):
        json_in(text)


def test_two_fenced_blocks_are_several_objects():
    block = f'{FENCE}json\n{{"a": 1}}\n{FENCE}\n'
    with pytest.raises(JSONError, match="several"):
        json_in(block + block)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=8), VALUES, min_size=1, max_size=4)


@given(OBJECTS, st.integers(min_value=1))
def test_an_object_that_was_cut_off_is_never_read(value, cut):
    text = json.dumps(value)
    with pytest.raises(JSONError):
        json_in("The answer: " + text[: -(1 + cut % (len(text) - 1))])


@given(OBJECTS, st.text(alphabet="abc .,:\n", max_size=20), st.text(alphabet="abc .,:\n", max_size=20))
def test_words_around_an_object_do_no_harm(value, before, after):
    assert json_in(before + json.dumps(value) + after) == value


def test_braces_that_hold_no_json_are_skipped_however_many():
    assert json_in("{a} " * 2_000 + '{"a": 1}') == {"a": 1}


def test_a_fenced_block_of_another_language_is_not_the_answer():
    other = f"{FENCE}python\nprint(1)\n{FENCE}\n"
    assert json_in(f'{other}{FENCE}JSON\n{{"a": 1}}\n{FENCE}') == {"a": 1}
    with pytest.raises(JSONError):
        json_in(other)


def test_fences_that_never_close_are_read_once():
    with pytest.raises(JSONError):
        json_in(f"{FENCE}json\nx\n" * 20_000)
