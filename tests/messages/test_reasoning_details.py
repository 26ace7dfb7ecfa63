from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.messages.accumulator import Accumulator
from headrace.messages.deltas import ReasoningDelta
from headrace.messages.reasoning_details import join_details


def text(piece, index=0, **more):
    return {"type": "reasoning.text", "index": index, "text": piece, **more}


CASES = {
    "none": ([], ()),
    "pieces of one text": ([text("a"), text("b")], (text("ab"),)),
    "a signature that comes with the last piece": ([text("a", signature=None), text("", signature="sig")], (text("a", signature="sig"),)),
    "a signature that is repeated": ([text("a", signature="sig"), text("b", signature="sig")], (text("ab", signature="sig"),)),
    "a signature in pieces": ([text("a", signature="si"), text("", signature="g")], (text("a", signature="sig"),)),
    "two indexes, interleaved": ([text("a", 0), text("b", 1), text("c", 0)], (text("ac", 0), text("b", 1))),
    "two types at one index": (
        [text("a"), {"type": "reasoning.encrypted", "index": 0, "data": "x"}, {"type": "reasoning.encrypted", "index": 0, "data": "y"}],
        (text("a"), {"type": "reasoning.encrypted", "index": 0, "data": "xy"}),
    ),
    "summaries": (
        [{"type": "reasoning.summary", "index": 2, "summary": "a"}, {"type": "reasoning.summary", "index": 2, "summary": "b"}],
        ({"type": "reasoning.summary", "index": 2, "summary": "ab"},),
    ),
    "other fields: the first non-empty": (
        [text("a", id=None, format="f"), text("b", id="r1", format="g"), text("c", id="r2")],
        (text("abc", id="r1", format="f"),),
    ),
    "a field that is empty everywhere": ([text("a", id=None), text("b", id="")], (text("ab", id=None),)),
    "a running text that is none": ([text(None), text(None)], (text(None),)),
    "a running field of another kind": ([text({"a": 1}), text({"b": 2})], (text({"a": 1}),)),
    "without an index nothing joins": (
        [{"type": "t", "text": "a"}, {"type": "t", "text": "b"}],
        ({"type": "t", "text": "a"}, {"type": "t", "text": "b"}),
    ),
    "an index that is true is none": ([{"type": "t", "index": True}, {"type": "t", "index": True}], ({"type": "t", "index": True},) * 2),
    "what is no mapping stays": (["x", text("a"), 1, text("b")], ("x", text("ab"), 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_pieces_of_details_become_what_the_provider_would_have_sent_whole(case):
    items, expected = CASES[case]
    assert join_details(items) == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.text(max_size=3)), max_size=8))
def test_no_text_is_lost_and_each_index_is_one_detail(pieces):
    details = join_details([text(piece, index) for index, piece in pieces])
    assert [detail["index"] for detail in details] == list(dict.fromkeys(index for index, _ in pieces))
    for detail in details:
        assert (detail["text"] or "") == "".join(piece for index, piece in pieces if index == detail["index"])


def test_details_reach_the_message_and_cannot_be_changed_there():
    accumulator = Accumulator()
    accumulator.extend([ReasoningDelta("a", details=(text("a"),)), ReasoningDelta("b", details=(text("b"),))])
    (part,) = accumulator.message().parts
    assert part.details == (text("ab"),)
    with pytest.raises(TypeError):
        part.details[0]["text"] = "changed"
