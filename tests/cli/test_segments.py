"""Segments: what reaches a terminal."""

from __future__ import annotations

import pytest

from headrace.cli.segments import Segment, plain, shortened, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "a\u241b[2Jb"),
        ("\x1b]0;title\x07", "\u241b]0;title\u2407"),
        ("over\rwrite", "over\u240dwrite"),
        ("two\r\nlines\tand a tab\n", "two\nlines\tand a tab\n"),
        ("\x7f\x9b31m", "\u2421\ufffd31m"),
        ("abc\u202edef", "abc\ufffddef"),
        ("日本語 ✓ é", "日本語 ✓ é"),
    ],
)
def test_what_could_steer_a_terminal_becomes_a_symbol_and_the_rest_stays(text, shown):
    assert visible(text) == shown


def test_the_plain_text_of_segments_is_their_texts():
    assert plain([Segment("a", "call"), Segment("b\n")]) == "ab\n"


def test_a_short_text_is_not_shortened():
    assert shortened("one\ntwo") == "one\ntwo"


def test_a_long_text_says_how_much_was_left_out():
    assert shortened("x" * 30, max_chars=10) == "x" * 10 + " … (20 more characters)"
    assert shortened("1\n2\n3\n4", max_lines=2) == "1\n2 … (4 more characters)"
