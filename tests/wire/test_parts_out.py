"""Whatever deltas come in whatever order, what leaves is a stream that its protocol's own decoder finds nothing odd about, and no call that
nobody made.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers_out import chunk, writer
from headrace.decoding import decode_stream
from headrace.messages.accumulator import Accumulator
from headrace.messages.deltas import (
    CitationDelta,
    Ended,
    FinishDelta,
    LogprobsDelta,
    MediaDelta,
    MessageStart,
    PartDataDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    StreamError,
    TextDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
)
from headrace.messages.parts import JsonPart, MediaPart, ProviderItem, TextPart, ToolCallPart, make
from headrace.messages.usage import Usage
from headrace.wire.parts_writer import OUT_CODES
from headrace.wire.protocols import WIRES

SERVED = [name for name, wire in WIRES.items() if wire.serves]
PART = st.sampled_from([None, None, 0, 1, 2])
CALL_PART = st.sampled_from([None, None, None, 3, 4])
CHOICE = st.sampled_from([0, 0, 0, 0, 1])
WHOLE_PARTS = st.sampled_from(
    [
        TextPart("w"),
        ToolCallPart(id="q", name="h", arguments={"q": 1}),
        make(ProviderItem, provider="", protocol="anthropic-messages", raw=b'{"type":"x"}'),
        make(JsonPart, value=None),
        MediaPart(kind="image", url="https://x"),
    ]
)
FRAGMENTS = st.builds(
    ToolCallFragment,
    id=st.sampled_from([None, "", "a", "b", "c"]),
    name=st.sampled_from([None, "f", "g"]),
    arguments=st.sampled_from([None, '{"x":', "1}", "{}", "{", '"}"', {"a": 1}, "null", '{"x":1}']),
    index=st.sampled_from([None, 0, 1, 2]),
    kind=st.sampled_from([None, None, None, "custom"]),
    part=CALL_PART,
    choice=CHOICE,
    is_id_optional=st.booleans(),
    provider_data=st.sampled_from([{}, {"k": 1}]),
)
SETTLED = st.builds(
    ToolCallSettled, st.sampled_from([3, 4]), st.sampled_from([None, "z"]), st.sampled_from([None, '{"x":1}']), choice=CHOICE
)
CONTENT = st.one_of(
    st.builds(TextDelta, st.sampled_from(["a", "b ", "\ud83d", ""]), PART, CHOICE),
    st.builds(ReasoningDelta, st.sampled_from(["h", ""]), PART, CHOICE, st.sampled_from([None, "s"]), st.sampled_from([None, "e"])),
    st.builds(RefusalDelta, st.just("no"), PART, CHOICE),
    st.builds(CitationDelta, st.sampled_from([{"type": "char_location"}, {"url_citation": {}}, 5]), PART, CHOICE),
    st.builds(PartDelta, WHOLE_PARTS, PART, CHOICE),
    st.builds(
        ProviderToolFragment,
        id=st.sampled_from([None, "s"]),
        name=st.sampled_from([None, "w"]),
        result=st.sampled_from([None, [1]]),
        part=PART,
        choice=CHOICE,
        provider_data=st.sampled_from([{}, {"type": "server_tool_use", "result": {"type": "r"}}]),
    ),
    st.builds(MediaDelta, st.sampled_from(["audio", "image"]), st.just(b"x"), st.sampled_from(["", "t"]), part=PART, choice=CHOICE),
)
OTHER = st.one_of(
    st.builds(FinishDelta, st.sampled_from(["stop", "tool_calls", "length", "error", "content_filter"]), CHOICE),
    st.sampled_from([UsageDelta(Usage(input_tokens=1)), MessageStart("m", "x"), LogprobsDelta({"content": []}), LogprobsDelta([1])]),
    st.sampled_from([Restarted(), PartDataDelta({"a": 1})]),
)
ENDS = st.sampled_from([Ended(None, is_terminated=True)] * 4 + [Ended(StreamError("provider_error", "x")), None])
CHUNKS = st.lists(st.lists(FRAGMENTS | FRAGMENTS | SETTLED | CONTENT | OTHER, min_size=1, max_size=3), max_size=8)
STAY = {"truncated_tool_arguments", "lenient_json", "arguments_not_object"}
"""What may still be odd: what the model said."""


def meaning(call):
    return call.arguments if call.kind == "custom" else json.dumps(call.parsed, sort_keys=True)


def carried(call):
    """What a call that has left may stand for: on a wire without free text that is an object around it."""
    return {meaning(call), call.parsed.get("input") if call.parsed else None}


@pytest.mark.parametrize("protocol", SERVED)
@given(st.lists(CONTENT | CONTENT | FRAGMENTS | OTHER, max_size=12))
def test_what_comes_alone_and_what_comes_together_is_the_same(protocol, deltas):
    """A piece of text that comes alone takes a shorter way."""
    alone, together = writer(protocol), writer(protocol)
    bodies = [
        b"".join(alone.feed(chunk(delta)) for delta in deltas) + alone.close(),
        b"".join([together.feed(chunk(*deltas))] if deltas else []) + together.close(),
    ]
    first, second = (decode_stream(body, protocol=protocol) for body in bodies)
    assert [message.text for message in first.choices] == [message.text for message in second.choices]
    assert [message.parts for message in alone._parts.fold.messages()] == [message.parts for message in together._parts.fold.messages()]
    assert Counter(map(repr, alone.repairs)) == Counter(map(repr, together.repairs))


@pytest.mark.parametrize("protocol", SERVED)
@given(CHUNKS, ENDS)
def test_whatever_comes_a_clean_stream_leaves_in_which_nothing_is_made_up(protocol, deltas, end):
    chunks = [chunk(*some) for some in deltas] + ([chunk(end)] if end else [])
    out = writer(protocol)
    body = b"".join(out.feed(item) for item in chunks) + out.close()
    assert out.is_over
    assert out.feed(chunk(TextDelta("more"))) == out.close() == b""
    fold = Accumulator(is_from_wire=True)
    for item in chunks:
        fold.extend(item.deltas)
    before, after = fold.messages(), decode_stream(body, protocol=protocol)
    meant = {meaning(call) for message in before for call in message.tool_calls if call.runnable}
    for message in after.choices:
        for call in message.tool_calls:
            assert not call.runnable or carried(call) & meant, "a call that nobody made"
    if after.error is not None:
        return
    assert fold.ended is not None
    assert fold.ended.error is None
    is_length = any(message.finish_reason == "length" for message in after.choices)
    if not is_length:
        count = [sum(call.runnable for call in message.tool_calls) for message in (fold.message(choice=0), after.message)]
        assert count[0] == count[1], "a call was lost"
        assert {warning.code for warning in after.warnings} <= STAY


@pytest.mark.parametrize("protocol", SERVED)
@given(CHUNKS)
def test_every_repair_of_our_own_has_a_code_that_is_known(protocol, deltas):
    out = writer(protocol)
    for some in deltas:
        out.feed(chunk(*some))
    out.close()
    fold = Accumulator(is_from_wire=True)
    for some in deltas:
        fold.extend(some)
    fold.add(Ended(StreamError("stream_truncated")))
    theirs = {warning.code for message in fold.messages() for warning in message.warnings}
    assert {warning.code for warning in out.repairs} <= theirs | OUT_CODES
