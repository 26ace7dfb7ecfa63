"""Calls taken out of text: every way, however it is cut; what is none stays as it is; what was cut never runs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.inline_calls import InlineCalls
from headrace.wire.inline_families import FAMILY_NAMES, InlineCall
from inline_samples import BAR, NO_CALLS, NOTHING, OSLO, SAMPLES, TOOLS
from slicing import slicings

SAMPLE_TEXTS = [text for _, text, _ in SAMPLES]


def run(pieces, verdict="calls", *, families=None, offered=TOOLS):
    """The text and the calls that come out."""
    machine = InlineCalls(families, offered)
    out = [piece for text in pieces for piece in machine.feed(text)] + machine.settle(verdict)
    assert machine.settle("calls") == []
    calls = [(piece.name, json.loads(piece.arguments)) for piece in out if isinstance(piece, InlineCall)]
    return "".join(piece[1] for piece in out if not isinstance(piece, InlineCall)), calls


@pytest.mark.parametrize(("family", "text", "calls"), SAMPLES)
def test_each_way_becomes_its_calls(family, text, calls):
    assert run([text]) == ("", calls)
    assert run(text) == ("", calls)
    assert run([text], families=[family]) == ("", calls)
    assert run([text], offered=None) == ("", calls)
    assert run([f"Let me see.\n{text}\n"]) == ("Let me see.\n", calls)


@pytest.mark.parametrize(("family", "text", "calls"), SAMPLES)
def test_a_way_that_was_not_asked_for_is_text(family, text, calls):
    others = [name for name in FAMILY_NAMES if name not in {family, "function-tag"}]  # which may stand inside of another one
    assert run([text], families=others) == (text, [])
    assert run([text], families=[]) == (text, [])
    assert run(text, offered={}) == (text, [])


@pytest.mark.parametrize("text", NO_CALLS)
def test_what_is_no_call_is_text_to_the_letter(text):
    assert run([text]) == (text, [])
    assert run(text) == (text, [])


@pytest.mark.parametrize("text", SAMPLE_TEXTS)
def test_where_the_verdict_is_text_all_of_it_is_text(text):
    assert run([text], "text") == (text, [])
    assert run(f"a {text} b", "text") == (f"a {text} b", [])


@pytest.mark.parametrize("text", SAMPLE_TEXTS)
def test_a_call_that_was_cut_is_text_and_nothing_else_is_made_of_it(text):
    """Cut at every place: what comes out are whole calls of the uncut text, and the rest of the letters."""
    whole = run([text])[1]
    for cut in range(len(text)):
        for verdict in ("calls", "whole"):
            rest, calls = run([text[:cut]], verdict)
            assert calls == whole[: len(calls)]
            assert text[:cut].endswith(rest)
            assert bool(calls) or rest == text[:cut]


words = st.sampled_from([*SAMPLE_TEXTS, *NO_CALLS, "<", "<tool", "_call>", "[", "\n", " a ", "{", "}", '"', "</tool_call>", f"<{BAR}"])


@given(st.lists(words, max_size=5).map("".join), st.sampled_from(["calls", "whole", "text"]), st.data())
def test_any_slicing_gives_the_same(text, verdict, data):
    whole = run([text], verdict)
    assert run(data.draw(slicings(text)), verdict) == whole
    assert run(text, verdict) == whole
    if verdict == "text":
        assert whole == (text, [])


def test_only_a_tail_that_could_begin_a_block_is_held_back():
    machine = InlineCalls()
    assert machine.feed("a <tool") == [("text", "a ")]
    assert machine.feed("box <") == [("text", "<toolbox ")]
    assert machine.feed("tool_call> is a") == [("text", "<tool_call>"), ("text", " is a")]
    assert machine.feed("[TOOL_CALLS]name") == []
    assert machine.feed(" of") == [("text", "[TOOL_CALLS]"), ("text", "name of")]
    assert machine.settle("calls") == []


def test_behind_a_whole_block_everything_waits_and_comes_out_in_order():
    machine = InlineCalls()
    text = '<tool_call>{"name": "w"}</tool_call>\n'
    assert machine.feed(text + "So. ") == []
    assert machine.other(("reasoning", "hm")) == []
    assert machine.feed(text) == []
    assert machine.settle("calls") == [
        InlineCall("w", "{}"),
        ("text", "So. "),
        ("reasoning", "hm"),
        InlineCall("w", "{}"),
    ]


def test_a_piece_of_another_kind_ends_what_was_held():
    machine = InlineCalls()
    assert machine.feed("a <tool") == [("text", "a ")]
    assert machine.other(("reasoning", "hm")) == [("text", "<tool"), ("reasoning", "hm")]
    assert machine.feed('<tool_call>{"name": ') == []
    assert machine.other(("reasoning", "hm")) == [("text", '<tool_call>{"name": '), ("reasoning", "hm")]
    assert machine.feed('<tool_call>{"name": "w"}') == []
    assert machine.other(("reasoning", "hm")) == []
    assert machine.settle("text") == [("text", '<tool_call>{"name": "w"}'), ("reasoning", "hm")]


def test_a_last_block_without_its_end_mark_is_a_call_only_where_the_answer_was_not_cut():
    text = '<tool_call>{"name": "w", "arguments": {"city": "Oslo"}}'
    assert run([text], "calls") == ("", [OSLO])
    assert run([text], "whole") == (text, [])
    assert run(["<|python_tag|>" + text.removeprefix("<tool_call>")], "whole") == ("", [OSLO])
    assert run([text + "\nThere it is."], "whole") == ("There it is.", [OSLO])


def test_all_names_may_be_called_where_none_were_said():
    assert run(['<tool_call>{"name": "anything"}</tool_call>'], offered=None) == ("", [("anything", {})])
    assert run([SAMPLES[0][1] + SAMPLES[1][1]]) == ("", [OSLO, OSLO, NOTHING])


def test_a_long_block_is_read_once():
    """In pieces of one size, ten times the block is ten times the calls of the scanners, and no joining in between."""
    machine = InlineCalls()
    machine.feed('<tool_call>{"name": "w", "arguments": {"city": "')
    for _ in range(1000):
        machine.feed("x" * 10)
    block = machine._block
    assert machine._held == ""
    assert len(block._raw) == 1002
