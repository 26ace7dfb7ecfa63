"""What leaves of a call's arguments is one JSON object that means what was meant, or the call is known to be broken."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.messages.accumulator import Accumulator
from headrace.messages.deltas import Ended, FinishDelta, ToolCallFragment
from headrace.wire.call_out import CallOut, ObjectScan
from message_strategies import json_objects


def sent(*pieces, word="tool_calls", kind=None, is_numbered=False, is_terminated=True):
    """What leaves for each piece, what leaves at the end, and the call."""
    fold = Accumulator(is_from_wire=True)
    fold.add(ToolCallFragment("a", "f", None, 0, kind))
    call = CallOut(0, 0, fold.choice(0).parts[0].own_call(), is_numbered=is_numbered)
    call.kind = kind or "function"
    out = []
    for piece in pieces:
        fold.add(ToolCallFragment(None, None, piece, 0))
        out.append(call.news())
    fold.add(FinishDelta(word))
    fold.add(Ended(None, is_terminated=is_terminated))
    (part,) = fold.message().tool_calls
    return [*out, call.finish(part)], call, part


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        (['{"x"', ":1}"], ['{"x"', ":1}", ""]),
        (['{"x":1}', "\n"], ['{"x":1}', "", ""]),
        (['{"x":1}</tool_call>'], ['{"x":1}', ""]),
        (['{"x":', "1}</tool", "_call>"], ['{"x":', "1}", "", ""]),
        (['{"x":1}', '{"x":1}'], ['{"x":1}', "", ""]),
        (["{}", '{"x":1}'], ["", '{"x":1}', ""]),
        (["{}"], ["", "{}"]),
        (["{}", "</tool_call>"], ["", "", "{}"]),
        (["", " ", ""], ["", "", "", "{}"]),
        (["null"], ["", "{}"]),
        ([], ["{}"]),
        (['{"t":"a', "\n", 'b\\"', '"}'], ['{"t":"a', "\\n", 'b\\"', '"}', ""]),
        (['{"t":"\\', '"}', '"}'], ['{"t":"', '\\"}', '"}', ""]),
        (['{"n": 7', '{"n": 7}'], ['{"n": 7', "", "}"]),
        (['{"a":', '{"a":1}', "}"], ['{"a":', "", '{"a":1}}', ""]),
        (['{"t":"\\ud83d"}'], ['{"t":"\\ufffd"}', ""]),
        (['{"t":"\\ud8', '3d\\ude00"}'], ['{"t":"', '\\ud83d\\ude00"}', ""]),
        (['"{\\"x\\": 1}"'], ["", '{"x":1}']),
        (['{\n\t"x": 1}'], ['{\n\t"x": 1}', ""]),
        (['{"x":[{}', ",{}]}"], ['{"x":[{}', ",{}]}", ""]),
    ],
)
def test_what_leaves_at_once_and_what_at_the_end(pieces, wanted):
    out, call, part = sent(*pieces)
    assert out == wanted
    assert not call.is_faulty
    assert json.loads("".join(out)) == part.parsed


@pytest.mark.parametrize("pieces", [["[1]"], ["seven"], ['{"x": oops}'], ['{"x":', '{"x":1}'], ['{"x":1}', '{"x":2}'], ['{"x": "on']])
def test_a_call_that_is_broken_is_known_to_be(pieces):
    out, call, part = sent(*pieces)
    assert call.is_faulty
    text = "".join(out)
    assert text == "" or part.arguments.startswith(text)


def test_objects_of_a_wire_without_numbers_wait_since_each_may_be_a_later_state():
    out, call, _ = sent({"a": "x"}, {"a": "xy", "n": 1})
    assert (out, call.is_faulty) == (["", "", '{"a":"xy","n":1}'], False)
    out, call, _ = sent({"a": "x"}, is_numbered=True)
    assert (out, call.has_ended) == (['{"a":"x"}', ""], True)


def test_free_text_leaves_as_it_is():
    out, call, _ = sent("{not", " json", kind="custom")
    assert (out, call.is_faulty) == (["{not", " json", ""], False)


def test_arguments_that_the_bound_cut_leave_as_far_as_they_came():
    out, call, _ = sent('{"x": "on', word="length")
    assert (out, call.is_faulty) == (['{"x": "on', ""], True)


@pytest.mark.parametrize(
    ("piece", "text", "has_ended"), [("{}", "{}", True), ("", "", True), ('"{\\"x\\":1}"', "", False), ('{"x":1}', "", True), ('{"x"', "", False)]
)  # fmt: skip
def test_what_waits_only_for_the_end_of_the_call_leaves_when_its_wire_says_that(piece, text, has_ended):
    fold = Accumulator(is_from_wire=True)
    fold.add(ToolCallFragment("a", "f", piece, 0, None, 0))
    call = CallOut(0, 0, fold.choice(0).parts[0].own_call(), is_numbered=True)
    call.news()
    assert (call.settle(), call.has_ended) == (text, has_ended)


def slices(text, cuts):
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in itertools.pairwise(edges)]


@given(
    json_objects,
    st.lists(st.integers(0, 500), max_size=6),
    st.sampled_from(["", " ", "\n", "</tool_call>", "]", "<|end|>"]),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_any_object_cut_anywhere_leaves_as_itself_whatever_follows_it(value, cuts, tail, indent, is_ascii):
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    out, call, part = sent(*slices(text + tail, cuts))
    assert part.parsed == value
    assert not call.is_faulty
    assert json.loads("".join(out)) == value


@given(st.text(st.sampled_from('{}[]":,\\ab1 \n<')), st.lists(st.integers(0, 60), max_size=5))
def test_whatever_leaves_of_any_text_is_json_or_the_call_is_broken(text, cuts):
    out, call, part = sent(*slices(text, cuts))
    if not call.is_faulty:
        assert json.loads("".join(out)) == part.parsed


@given(json_objects, st.lists(st.integers(0, 500), max_size=6))
def test_the_scan_finds_the_end_of_an_object_wherever_it_is_cut(value, cuts):
    text, scan = json.dumps(value), ObjectScan()
    found = [scan.scan(piece)[0] for piece in slices(text, cuts)]
    assert ("".join(found), scan.is_whole) == (text, True)
