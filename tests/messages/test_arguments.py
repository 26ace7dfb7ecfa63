from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.messages.accumulator import Accumulator
from headrace.messages.arguments import parse_arguments
from headrace.messages.deltas import Ended, FinishDelta, StreamError, ToolCallFragment, ToolCallSettled
from headrace.messages.identity import Body


def body_of(*pieces):
    body = Body()
    for piece in pieces:
        body.add(piece)
    return body


def parse(*pieces, is_whole=True, may_be_blank=True):
    return parse_arguments(body_of(*pieces), is_whole=is_whole, may_be_blank=may_be_blank)


def call_of(*deltas):
    accumulator = Accumulator()
    accumulator.extend(deltas)
    (call,) = accumulator.message().tool_calls
    return call


# (pieces, parsed, codes); the raw text is the pieces joined, always.
OUTCOMES = {
    "031 empty text": ([""], {}, ()),
    "031 blank text": ([" \n"], {}, ()),
    "032 never present": ([], {}, ()),
    "034 the word null": (["null"], {}, ("arguments_not_object",)),
    "034 the word null, in pieces and with space": (["nu", "ll "], {}, ("arguments_not_object",)),
    "035 a placeholder, then the real body": (["{}", '{"city":"Oslo"}'], {"city": "Oslo"}, ("placeholder_arguments_dropped",)),
    "035 a placeholder, then a body in pieces": (["{}", '{"city"', ':"Oslo"}'], {"city": "Oslo"}, ("placeholder_arguments_dropped",)),
    "038 the whole body again at the end": (['{"a"', ":1}", '{"a":1}'], {"a": 1}, ("duplicate_arguments_dropped",)),
    "039 a snapshot after a part": (['{"a": 1', ', "n": 7', '{"a": 1, "n": 7}'], {"a": 1, "n": 7}, ("duplicate_arguments_dropped",)),
    "042 markup behind": (['{"a":1}', "</tool_call>"], {"a": 1}, ("trailing_garbage",)),
    "042 a stray brace behind": (['{"a":1}}'], {"a": 1}, ("trailing_garbage",)),
    "042 a template's marker behind": (['{"a":1}<|tool_call_end|>'], {"a": 1}, ("trailing_garbage",)),
    "042 another template's marker behind": (['{"a":1}<｜tool▁call▁end｜>'], {"a": 1}, ("trailing_garbage",)),  # noqa: RUF001 - the marker is written with these
    "042 a fence behind": (['{"a":1}\n```'], {"a": 1}, ("trailing_garbage",)),
    "042 markup behind a body with a raw newline": (['{"a":"x\ny"}', "</tool_call>"], {"a": "x\ny"}, ("trailing_garbage",)),
    "043 raw control characters": (['{"a":"x\n', '\ty"}'], {"a": "x\n\ty"}, ("lenient_json",)),
    "045 a list": (['["Oslo"]'], None, ("arguments_not_object",)),
    "045 a number": (["5"], None, ("arguments_not_object",)),
    "045 a text": (['"Oslo"'], None, ("arguments_not_object",)),
    "045 true": (["true"], None, ("arguments_not_object",)),
    "046 encoded twice": ([json.dumps('{"city":"Oslo"}')], {"city": "Oslo"}, ("lenient_json",)),
    "046 a list encoded twice is no object": ([json.dumps("[1]")], None, ("arguments_not_object",)),
    "046 encoded three times": ([json.dumps(json.dumps('{"a":1}'))], None, ("arguments_not_object",)),
    "048 half a surrogate pair": (['{"t":"a\\ud83d"}'], {"t": "a\ufffd"}, ("lenient_json",)),
    "048 half a pair with markup behind": (['{"t":"a\\ud83d"}</tool_call>'], {"t": "a\ufffd"}, ("trailing_garbage",)),
    "049 an escape cut in two": (['{"p":"a\\', 'nb"}'], {"p": "a\nb"}, ()),
    "a surrogate pair cut in two": (['{"p":"\\ud83d', '\\ude00"}'], {"p": "😀"}, ()),
    "050 integers past 2**53": (['{"id":7300000000000000001}'], {"id": 7300000000000000001}, ()),
    "integers past 64 bits": (['{"id":' + str(2**80) + "}"], {"id": 2**80}, ()),
    "052 cut inside a string": (['{"path":"a","body":"On'], None, ("truncated_tool_arguments",)),
    "053 cut behind a value": (['{"path":"a"'], None, ("truncated_tool_arguments",)),
    "055 a fence in front": (['json\n{"a":1}'], None, ("invalid_tool_arguments",)),
    "056 the brace doubled": (["{", '{"city":"Oslo"}'], {"city": "Oslo"}, ("duplicate_arguments_dropped",)),
    # What is not repaired: two different objects, whichever of them came first, and what only looks like a repeat.
    "two different objects": (['{"a":1}', '{"b":2}'], None, ("invalid_tool_arguments",)),
    "two different objects in one piece": (['{"a":1}{"b":2}'], None, ("invalid_tool_arguments",)),
    "the same object twice in one piece": (['{"a":1}{"a":1}'], None, ("invalid_tool_arguments",)),
    "an object and a longer one that differs": (['{"a":1}', '{"a":2,"b":3}'], None, ("invalid_tool_arguments",)),
    "an object three times": (['{"a":1}', '{"a":1}', '{"a":1}'], None, ("invalid_tool_arguments",)),
    "a placeholder and two objects": (["{}", '{"a":1}', '{"b":2}'], None, ("invalid_tool_arguments",)),
    "an object in a marker": (['{"a":1}<|{"b":2}|>'], None, ("invalid_tool_arguments",)),
    "words behind": (['{"a":1} done'], None, ("invalid_tool_arguments",)),
    "a trailing comma": (['{"a":1,}'], None, ("invalid_tool_arguments",)),
    "single quotes": (["{'a':1}"], None, ("invalid_tool_arguments",)),
    "no quotes": (["{a:1}"], None, ("invalid_tool_arguments",)),
    "NaN": (['{"a":NaN}'], None, ("invalid_tool_arguments",)),
    "a number out of range": (['{"a":1e400}'], None, ("invalid_tool_arguments",)),
    "a number of 5,000 digits with a raw newline": (['{"a":"\n","b":' + "9" * 5000 + "}"], None, ("invalid_tool_arguments",)),
    "a number of 5,000 digits, twice": (['{"b":' + "9" * 5000 + "}"] * 2, None, ("invalid_tool_arguments",)),
    "a no-break space is not JSON's space": (['\xa0{"a":1}'], None, ("invalid_tool_arguments",)),
    "a list that is cut": (["[1"], None, ("truncated_tool_arguments",)),
    # Both readings are possible, a repeat and the beginning of something longer; nothing is guessed.
    "a value that begins like the body, cut": (['{"a":', '{"a":1}'], None, ("truncated_tool_arguments",)),
    "a list item that begins like the body, cut": (['{"a":[', '{"a":[1]}'], None, ("truncated_tool_arguments",)),
    "a key that ends like a repeat, cut": (['{"', '{":":1}'], None, ("truncated_tool_arguments",)),
    # Objects, where a wire sends objects.
    "036 an object": ([{"city": "Oslo"}], {"city": "Oslo"}, ()),
    "037 objects that grow": ([{"input": "a"}, {"input": "ab"}, {"input": "abc", "n": 1}], {"input": "abc", "n": 1}, ()),
    "a placeholder text, then an object": (["{}", {"a": 1}], {"a": 1}, ("placeholder_arguments_dropped",)),
    "a text, then an object": (['{"b":', {"a": 1}], None, ("invalid_tool_arguments",)),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_what_arguments_mean_when_all_have_come(case):
    pieces, parsed, codes = OUTCOMES[case]
    outcome = parse(*pieces)
    assert (outcome.parsed, outcome.codes) == (parsed, codes)
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        assert outcome.raw == "".join(texts), "the raw text is always kept"
    else:
        assert all(text in outcome.raw for text in texts if text != "{}")


@pytest.mark.parametrize("case", [case for case, outcome in OUTCOMES.items() if outcome[1] is None])
def test_a_failed_parse_never_becomes_an_empty_object_and_never_runs(case):
    pieces, _, _ = OUTCOMES[case]
    fragments = [
        ToolCallFragment("a", "f", piece, 0) if n == 0 else ToolCallFragment(arguments=piece, index=0) for n, piece in enumerate(pieces)
    ]
    call = call_of(*fragments, FinishDelta("tool_calls"), Ended(is_terminated=True))
    assert (call.parsed, call.runnable) == (None, False)


@pytest.mark.parametrize("case", OUTCOMES)
def test_a_snapshot_complains_of_nothing_that_may_still_come(case):
    pieces, _, _ = OUTCOMES[case]
    outcome = parse(*pieces, is_whole=False, may_be_blank=False)
    assert not {"truncated_tool_arguments", "invalid_tool_arguments", "arguments_not_object"} & set(outcome.codes)


@pytest.mark.parametrize("text", ["", "  ", "null"])
def test_blank_arguments_mean_nothing_before_the_end_says_so(text):
    outcome = parse(text, may_be_blank=False)
    assert (outcome.raw, outcome.parsed, outcome.codes) == (text, None, ("truncated_tool_arguments",))


# When blank arguments are `{}`: after a terminator or terminal event, or a finish word that itself says tool call; never by `length`.
BLANK = {
    "a terminator": ([Ended(is_terminated=True)], True),
    "a terminator and stop": ([FinishDelta("stop"), Ended(is_terminated=True)], True),
    "the word tool_calls": ([FinishDelta("tool_calls"), Ended()], True),
    "the word tool_calls, by hand": ([FinishDelta("tool_calls")], True),
    "another word of the same meaning": ([FinishDelta("tool_use"), Ended()], True),
    "tool_calls, then a stray stop": ([FinishDelta("tool_calls"), FinishDelta("stop"), Ended()], True),
    "tool_calls, and then another call": ([FinishDelta("tool_calls"), ToolCallFragment("b", "g", "", 1), Ended()], False),
    "stop alone": ([FinishDelta("stop"), Ended()], False),
    "no word at all": ([Ended()], False),
    "nothing": ([], False),
    "length": ([FinishDelta("length"), Ended(is_terminated=True)], False),
    "tool_calls and length": ([FinishDelta("tool_calls"), FinishDelta("length"), Ended(is_terminated=True)], False),
    "filtered": ([FinishDelta("content_filter"), Ended(is_terminated=True)], False),
    "a failed stream": ([FinishDelta("tool_calls"), Ended(StreamError("provider_error"), is_terminated=True)], False),
    "a stream that was cut": ([FinishDelta("tool_calls"), Ended(StreamError("stream_truncated"))], False),
}


@pytest.mark.parametrize("kind", ["function", "custom"])
@pytest.mark.parametrize("ending", BLANK)
def test_when_blank_arguments_are_an_empty_object(ending, kind):
    deltas, is_allowed = BLANK[ending]
    accumulator = Accumulator()
    accumulator.extend([ToolCallFragment("a", "f", "", 0, kind), *deltas])
    call = accumulator.message().tool_calls[0]
    assert (call.arguments, call.runnable) == ("", is_allowed)
    assert call.parsed == ({} if is_allowed and kind == "function" else None)


RUNS = {
    "whole, with a word": ([FinishDelta("stop"), Ended()], True),
    "whole, terminated without a word": ([Ended(is_terminated=True)], True),
    "whole, but cut by length": ([FinishDelta("length"), Ended()], True),  # the agent runs whole calls before a `length`
    "filtered": ([FinishDelta("content_filter"), Ended()], False),
    "an error word": ([FinishDelta("error"), Ended()], False),
    "a failed stream": ([FinishDelta("stop"), Ended(StreamError("provider_error"))], False),
    "a snapshot": ([], False),
}


@pytest.mark.parametrize("ending", RUNS)
def test_which_ends_let_a_whole_call_run(ending):
    deltas, runnable = RUNS[ending]
    call = call_of(ToolCallFragment("a", "f", '{"a":1}', 0), *deltas)
    assert call.parsed == {"a": 1}
    assert call.runnable is runnable


def test_a_custom_call_is_free_text_and_runs_unless_it_may_be_cut():
    head = ToolCallFragment("a", "sql", "select 1", 0, "custom")
    assert call_of(head, FinishDelta("tool_calls"), Ended()).runnable
    assert not call_of(head, FinishDelta("length"), Ended()).runnable
    settled = [ToolCallFragment("a", "sql", "select 1", kind="custom", part=0), ToolCallSettled(0), FinishDelta("length"), Ended()]
    assert call_of(*settled).runnable


BODIES = [
    '{"city":"Oslo","days":[1,2,{"x":null}]}',
    '{"a":{"a":{"a":{"a":1}}}}',
    '{"t":"{\\"t\\":\\"}\\"}","u":"\\ud83d\\ude00 ü ￿"}',
    '{"a":[{"a":[{"a":[]}]}],"b":-1.5e3,"c":true}',
    '{"":"","null":null}',
    "{}",
]
WORDS = ["tool_calls", "stop", "length"]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("body", BODIES)
def test_a_body_cut_at_any_byte_runs_only_if_it_is_whole(body, word):
    for cut in range(len(body)):
        for seam in range(cut + 1):  # the pieces decide which repairs are tried, so every seam is tried too
            pieces = [piece for piece in (body[:seam], body[seam:cut]) if piece]
            first, *rest = pieces or [""]
            fragments = [ToolCallFragment("a", "f", first, 0), *(ToolCallFragment(arguments=piece, index=0) for piece in rest)]
            call = call_of(*fragments, FinishDelta(word), Ended())
            assert call.arguments == body[:cut]
            if cut or word != "tool_calls":  # cut before any argument, `tool_calls` is a legal call without arguments
                assert not call.runnable, (pieces, word)
                assert call.parsed is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@st.composite
def objects_in_pieces(draw):
    value = draw(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    seams = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return value, [text[start:end] for start, end in zip([0, *seams], [*seams, len(text)], strict=True)]


@given(objects_in_pieces())
def test_any_object_split_anyhow_parses_to_the_same_value(case):
    value, pieces = case
    outcome = parse(*pieces)
    assert outcome.parsed == value
    assert outcome.codes == ()
    assert outcome.raw == "".join(pieces)


@given(objects_in_pieces(), st.integers(min_value=0), st.sampled_from(["tool_calls", "stop", "length"]))
def test_any_object_cut_anywhere_never_runs(case, at, word):
    _, pieces = case
    text = "".join(pieces)
    cut = at % len(text.rstrip())
    first, *rest = [piece[: max(0, cut - sum(map(len, pieces[:n])))] for n, piece in enumerate(pieces)]
    fragments = [ToolCallFragment("a", "f", first, 0), *(ToolCallFragment(arguments=piece, index=0) for piece in rest)]
    call = call_of(*fragments, FinishDelta(word), Ended())
    assert call.arguments == text[:cut]
    assert not call.runnable or (word == "tool_calls" and not cut)


@given(st.lists(st.text(alphabet='{}[]":,\\ \n1an<|>/`', max_size=6), max_size=6))
def test_no_text_raises_and_what_is_parsed_was_in_the_text(pieces):
    outcome = parse(*pieces)
    assert outcome.raw == "".join(pieces)
    if outcome.parsed == {}:
        assert outcome.raw.strip() in {"", "null"} or "{" in outcome.raw
    elif outcome.parsed is not None:
        assert all(key in outcome.raw or "\\" in outcome.raw for key in outcome.parsed)


@pytest.mark.parametrize("depth", [300, 5_000, 100_000])
@pytest.mark.parametrize("tail", ["", "</tool_call>", "cut"])
def test_arguments_that_are_nested_too_deep_are_invalid_and_raise_nothing(depth, tail):
    raw = '{"a":' + "[" * depth + ("" if tail == "cut" else "]" * depth + "}" + tail)
    call = call_of(ToolCallFragment("a", "f", raw, 0), FinishDelta("tool_calls"), Ended())
    assert (call.arguments, call.parsed, call.runnable) == (raw, None, False)
    half = len(raw) // 2
    for pieces in ((raw, raw), (raw[:half], raw)):
        fragments = [ToolCallFragment("a", "f", pieces[0], 0), ToolCallFragment(arguments=pieces[1], index=0)]
        assert not call_of(*fragments, FinishDelta("tool_calls"), Ended()).runnable


def test_very_many_markers_behind_a_body_cost_no_more_than_their_length():
    # A marker such as <|x|> can be read in two ways; tried both ways each, forty of them would take for ever.
    begun = time.monotonic()
    outcome = parse('{"a":1}' + "<|x|>" * 20_000 + "!")
    assert outcome.codes == ("invalid_tool_arguments",)
    assert parse('{"a":1}' + "<|x|>" * 20_000).codes == ("trailing_garbage",)
    assert time.monotonic() - begun < 30


def test_a_half_character_in_the_raw_text_is_mended_where_it_must_be_written():
    call = call_of(ToolCallFragment("a", "f", '{"t":"\ud83d', 0), ToolCallFragment(arguments='\ude00"}', index=0), FinishDelta("stop"))
    assert call.arguments == '{"t":"😀"}'
    assert call.parsed == {"t": "😀"}
