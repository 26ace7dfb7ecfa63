"""What is cut keeps its beginning and its end, says what is gone, and fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.context.estimate import estimate_tokens
from headrace.agent.context.shorten import common_cap, cut_text, shortened_message, shortened_result, text_of
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, TextPart, ToolResultPart
from message_strategies import result_parts, tool_messages

IMAGE = MediaPart(kind="image", url="https://example.org/a.png")


@given(st.text(st.sampled_from("ab 文\U0001f600\n"), max_size=600), st.integers(20, 200))
def test_a_cut_text_fits_and_keeps_both_ends(text, limit):
    short = cut_text(text, limit)
    assert estimate_tokens(short) <= limit
    if short != text:
        head, _, tail = short.partition("\n[… ")
        assert text.startswith(head)
        assert text.endswith(tail.partition("…]\n")[2])
        assert "characters left out" in short


def test_the_note_says_how_much_is_gone_and_from_where():
    said = []
    short = cut_text("x" * 4_000, 100, lambda left_out, at: said.append((left_out, at)) or "|")
    head, tail = short.split("|")
    assert said[-1] == (4_000 - len(head) - len(tail), len(head))
    assert len(head) == pytest.approx(2 * len(tail), abs=3)


def test_a_limit_below_the_note_gives_the_note_alone():
    assert cut_text("x" * 400, 0) == "\n[… 400 characters left out here …]\n"


def test_a_result_that_is_short_enough_is_the_very_same():
    result = ToolResultPart(call_id="c", parts="short")
    assert shortened_result(result, 100) is result
    message = ToolMessage([result])
    assert shortened_message(message, 100) is message


def test_of_a_long_result_text_and_json_are_cut_and_media_stay():
    result = ToolResultPart(call_id="c", name="f", state="error", parts=[TextPart("a" * 4_000), IMAGE, JsonPart({"b": "c" * 4_000})])
    short = shortened_result(result, 1_500)
    assert (short.call_id, short.name, short.state) == ("c", "f", "error")
    assert [type(part) for part in short.parts] == [TextPart, MediaPart]
    assert short.parts[1] is IMAGE
    assert short.text.startswith("aaa")
    assert short.text.endswith('cc"}')
    assert estimate_tokens(short) <= 1_500


def test_media_alone_cannot_be_cut():
    result = ToolResultPart(call_id="c", parts=[IMAGE, IMAGE])
    assert shortened_result(result, 100) is result
    question = UserMessage([IMAGE])
    assert shortened_message(question, 10) is question


@given(tool_messages, st.integers(0, 60))
def test_cutting_never_makes_longer_and_keeps_the_calls(message, limit):
    short = shortened_message(message, limit)
    assert estimate_tokens(short) <= estimate_tokens(message)
    assert [result.call_id for result in short.results] == [result.call_id for result in message.results]
    assert shortened_message(message, limit) == short


@given(result_parts)
def test_the_text_of_a_result_is_its_text_and_its_json(result):
    assert isinstance(text_of(result.parts), str)


def test_the_text_of_parts_has_each_on_its_lines():
    parts = (TextPart("a"), IMAGE, JsonPart({"b": 1}), JsonPart("c"), OpaquePart({"type": "new"}))
    assert text_of(parts) == 'a\n{"b":1}\nc\n{"type":"new"}'


@given(st.lists(st.integers(0, 100), max_size=8), st.integers(-5, 500))
def test_the_common_cap_is_the_largest_that_fits(sizes, room):
    cap = common_cap(sizes, room)
    assert sum(min(size, cap) for size in sizes) <= max(room, 0)
    if any(size > cap for size in sizes):
        assert sum(min(size, cap + 1) for size in sizes) > room
