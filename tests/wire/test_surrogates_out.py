"""Half a character in escaped form leaves as U+FFFD, however the text was cut, and nothing else is changed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._json import replace_surrogates
from headrace.wire.surrogates_out import Halves

TEXTS = [
    r'{"t":"a\ud83d"}',
    r'{"t":"\ud83d\ude00 and \\ud83d \"x\" \ude00 \ud83d\ud83d\ude00 \u00e9\n\\"}',
    r'{"a":"\ud83d\n\\\\","b":"\uD83D\uDE00\uDE00"}',
]


def sent(*pieces):
    halves = Halves()
    return "".join([*(halves.feed(piece) for piece in pieces), halves.close()])


@pytest.mark.parametrize("text", TEXTS)
def test_a_lone_half_is_replaced_wherever_the_text_is_cut(text):
    wanted = sent(text)
    assert json.loads(wanted) == replace_surrogates(json.loads(text))
    assert all(sent(text[:one], text[one:two], text[two:]) == wanted for two in range(len(text) + 1) for one in range(two + 1))
    assert sent(*text) == wanted


@given(st.lists(st.sampled_from(["\\", "u", "d", "8", "3", "dc", "00", "\\ud83d", "\\ude00", "\\n", "x"]), max_size=12), st.data())
def test_what_leaves_does_not_depend_on_how_it_came(parts, data):
    text = "".join(parts)
    at = data.draw(st.integers(0, len(text)))
    assert sent(text[:at], text[at:]) == sent(text) == sent(*text)


def test_text_without_an_escape_is_passed_on_as_it_is():
    halves = Halves()
    assert [halves.feed(piece) for piece in ("plain", ' {"a":', "1}")] == ["plain", ' {"a":', "1}"]
    assert halves.close() == ""
