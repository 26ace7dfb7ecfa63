"""What a text should not hold is said once a choice, and left where it is."""

from __future__ import annotations

import pytest

from headrace.messages.accumulator import Accumulator
from headrace.messages.deltas import PartDelta, ReasoningDelta, TextDelta, ToolCallFragment
from headrace.messages.parts import TextPart
from headrace.wire.marks import marks_of
from inline_samples import SAMPLES, mark


def marks(*deltas):
    fold = Accumulator(is_from_wire=True)
    fold.extend(deltas)
    return list(marks_of(fold))


@pytest.mark.parametrize(("family", "text", "calls"), SAMPLES)
def test_each_way_to_write_a_call_is_seen(family, text, calls):
    assert next(code for _, code, _ in marks(TextDelta(text))) == "possible_inline_tool_call"


@pytest.mark.parametrize("text", ["<|im_end|>", mark("tool sep"), "<\uff5cDSML", mark("end of sentence")])
def test_a_templates_own_token_is_seen(text):
    assert ("leaked_special_tokens", text) in [found[1:] for found in marks(TextDelta(f"a {text} b"))]


@pytest.mark.parametrize("text", ["a < b", "[1]", "<tool>", "<think>", "<|", "a|>"])
def test_honest_text_is_left_alone(text):
    assert marks(TextDelta(text)) == []


def test_marks_are_seen_over_pieces_in_whole_parts_and_in_each_choice():
    deltas = (TextDelta("<tool", None, 1), TextDelta("_call>", None, 1), PartDelta(TextPart("[TOOL_CALLS]"), None, 2))
    assert marks(*deltas) == [(1, "possible_inline_tool_call", "<tool_call>"), (2, "possible_inline_tool_call", "[TOOL_CALLS]")]


def test_where_a_structured_call_came_only_leaked_tokens_are_said():
    deltas = (TextDelta("<tool_call> <|im_end|>"), ToolCallFragment("c", "f", "{}"))
    assert marks(*deltas) == [(0, "leaked_special_tokens", "<|im_end|>")]


def test_thinking_may_hold_marks():
    assert marks(ReasoningDelta("<tool_call>")) == []
