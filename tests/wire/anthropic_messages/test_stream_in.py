from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_runs import check_result, decoded, deltas_of
from headrace.decoding import StreamDecoder
from messages_bytes import (
    BROKEN,
    HONEST,
    PING,
    SAMPLES,
    STOP,
    body,
    call,
    delta,
    ended,
    event,
    opened,
    pieces_of,
    start,
    stopped,
    text,
    without_names,
)
from slicing import bytewise, sliced, slicings

PROTOCOL = "anthropic-messages"


def read(pieces, **options):
    return decoded(pieces, protocol=PROTOCOL, **options)


@pytest.fixture(params=SAMPLES)
def sample(request):
    return SAMPLES[request.param]


class TestLaws:
    def test_any_slicing_gives_the_same_chunks_and_the_same_message(self, sample):
        chunks, result = read(sample)
        check_result(chunks, result)
        rng = random.Random(7)
        cuts = [sliced(sample, size) for size in (1, 2, 7, 64, 1000)]
        cuts += [
            [sample[a:b] for a, b in itertools.pairwise([0, *sorted(rng.choices(range(len(sample) + 1), k=9)), len(sample)])]
            for _ in range(4)
        ]
        for pieces in cuts:
            assert read(pieces) == (chunks, result)

    def test_the_short_way_and_the_general_way_say_the_same(self, sample):
        chunks, result = read(sample)
        assert read(sample, is_short_way_off=True) == (chunks, result)

    @pytest.mark.parametrize("name", HONEST)
    def test_a_stream_that_ends_well_has_no_error(self, name):
        assert read(SAMPLES[name])[1].error is None

    @pytest.mark.parametrize("name", BROKEN)
    def test_a_stream_that_does_not_has_one(self, name):
        assert read(SAMPLES[name])[1].error is not None

    def test_every_cut_gives_a_truncation_with_what_had_come_or_the_whole_message(self, sample):
        """Never a call that the whole has not, never text that is not the beginning of the whole text."""
        whole = read(sample)[1]
        runnable = {(item.name, item.arguments) for item in whole.message.tool_calls if item.runnable}
        codes = {warning.code for warning in whole.warnings}
        for at in range(len(sample)):
            chunks, part = read(sample[:at])
            check_result(chunks, part)
            if "restarted_message" not in codes:
                assert whole.message.text.startswith(part.message.text)
                assert (whole.message.reasoning or "").startswith(part.message.reasoning or "")
            assert {(item.name, item.arguments) for item in part.message.tool_calls if item.runnable} <= runnable
            if part.error is None and "early_finish_reason" not in codes:
                assert part.message.parts == whole.message.parts
            elif part.error is not None:
                kinds = {"stream_truncated", "not_event_stream", getattr(whole.error, "kind", None)}
                assert part.error.kind in kinds

    @pytest.mark.parametrize("name", SAMPLES)
    def test_where_the_transport_broke_off_only_the_last_event_makes_it_whole(self, name):
        sample = SAMPLES[name]
        result = read(sample, complete=False)[1]
        is_whole = sample.startswith(b"{") or b'"plain"' in sample or name == "a whole message behind its pieces"
        is_terminated = is_whole or b"message_stop" in sample or b"[DONE]" in sample
        if not is_terminated:
            assert result.error is not None
            assert not any(item.runnable for item in result.message.tool_calls)
        else:
            assert result.error == read(sample)[1].error

    @given(st.data())
    def test_a_body_of_any_bytes_never_raises(self, data):
        pieces = st.sampled_from(
            [
                b"data: ",
                b"\n\n",
                b"\n",
                b"\r",
                b"event: error",
                b"event: content_block_delta",
                b'{"type":',
                b"{",
                b"]",
                b"}",
                b"\xff",
                STOP,
                PING,
            ]
        )
        some = data.draw(st.lists(pieces | st.binary(max_size=6), max_size=14).map(b"".join))
        chunks, result = read(some)
        check_result(chunks, result)
        assert read(data.draw(slicings(some))) == (chunks, result)

    @given(st.data())
    def test_a_stream_with_a_byte_changed_a_piece_lost_or_a_piece_twice_never_raises(self, data):
        some = bytearray(SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))])
        for _ in range(data.draw(st.integers(1, 4))):
            if not some:
                break
            at = data.draw(st.integers(0, len(some) - 1))
            to = at + data.draw(st.integers(1, 60))
            match data.draw(st.sampled_from(["flip", "drop", "twice", "put"])):
                case "flip":
                    some[at] ^= 1 << data.draw(st.integers(0, 7))
                case "drop":
                    del some[at:to]
                case "twice":
                    some[at:at] = some[at:to]
                case _:
                    some[at:at] = data.draw(
                        st.sampled_from([b"null", b"[]", b"{}", b"-1", b'"\\ud800"', b"1e999", b"\n", b"\n\n", b'"', b"\\"])
                    )
        chunks, result = read(bytes(some))
        check_result(chunks, result)
        assert read(bytewise(bytes(some))) == (chunks, result)


INDEX = st.sampled_from([0, 0, 0, 1, 2, None, -1, "0", 0.0])
TEXTS = st.sampled_from(["a", "b ", "", "\u00e9", "\ud83d", "\ude00", "<think>", None, 5])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "text": TEXTS,
        "thinking": TEXTS,
        "signature": TEXTS,
        "data": TEXTS,
        "id": st.sampled_from(["a", "b", "", None]),
        "name": st.sampled_from(["f", "", None]),
        "input": st.sampled_from([{}, {"x": 1}, "", '{"y":2}', [1], None]),
        "tool_use_id": st.sampled_from(["a", "b"]),
        "content": st.sampled_from([None, [], "c", {"type": "error"}]),
        "citations": st.sampled_from([None, [], [{"c": 1}]]),
        "partial_json": st.sampled_from(["", "{", '"x":1}', "{}", {"z": 3}, "\ud83d", "\ude00"]),
        "citation": st.sampled_from([None, {"c": 2}, "c"]),
        "mood": st.just("glad"),
    },
)
KINDS = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "web_search_tool_result",
    "compaction",
    None,
]
DELTAS = [
    "text_delta",
    "text_delta",
    "thinking_delta",
    "signature_delta",
    "input_json_delta",
    "input_json_delta",
    "citations_delta",
    "new_delta",
    None,
]


@st.composite
def event_bytes(draw):
    index, fields = draw(INDEX), draw(FIELDS)
    place = {} if index is None else {"index": index}
    match draw(
        st.sampled_from(["start", "delta", "delta", "delta", "fast", "fast", "stop", "end", "begin", "ping", "error", "whole", "text"])
    ):
        case "start":
            block = {"type": draw(st.sampled_from(KINDS)), **fields}
            return event({"type": "content_block_start", **place, "content_block": block})
        case "delta":
            return event({"type": "content_block_delta", **place, "delta": {"type": draw(st.sampled_from(DELTAS)), **fields}})
        case "fast":
            kind, field = draw(
                st.sampled_from([("text_delta", "text"), ("thinking_delta", "thinking"), ("input_json_delta", "partial_json")])
            )
            name = draw(st.sampled_from([None, None, "", "error"]))
            value = draw(st.sampled_from(["a", "", "{", "}"]))
            return event(
                {"type": "content_block_delta", "index": draw(st.sampled_from([0, 1])), "delta": {"type": kind, field: value}}, name
            )
        case "stop":
            return event({"type": "content_block_stop", **place})
        case "end":
            word = draw(st.sampled_from([None, "", "end_turn", "tool_use", "max_tokens", "pause_turn"]))
            return event({"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 3}})
        case "begin":
            return start([fields] if draw(st.booleans()) else [])
        case "error":
            return event({"type": "error", "error": {"type": "api_error", "message": "m"}})
        case "whole":
            return event({"type": "message", "content": [{"type": draw(st.sampled_from(KINDS)), **fields}], "stop_reason": "end_turn"})
        case "text":
            return text(0, "x", "y")
        case _:
            return PING


@given(st.data())
def test_whatever_the_events_both_ways_and_all_slicings_say_the_same(data):
    events = [start()] * data.draw(st.sampled_from([0, 1, 1])) + data.draw(st.lists(event_bytes(), max_size=9))
    some = b"".join(events) + (STOP if data.draw(st.booleans()) else b"")
    limits = data.draw(
        st.sampled_from([None, None, {"max_parts": 2}, {"max_tool_calls": 1}, {"max_argument_bytes": 3}, {"max_event_bytes": 260}])
    )
    options = data.draw(
        st.sampled_from([{}, {}, {"think_tags": True}, {"cumulative_text": True}, {"drop_repeated_block_start_text": True}])
    )
    chunks, result = read(some, limits=limits, options=options)
    check_result(chunks, result)
    other, same = read(some, is_short_way_off=True, limits=limits, options=options)
    assert deltas_of(other) == deltas_of(chunks)
    assert same == result
    assert read([*events, some[sum(map(len, events)) :]], limits=limits, options=options) == (chunks, result)
    assert read(data.draw(slicings(some)), limits=limits, options=options) == (chunks, result)


class TestTheEnd:
    @pytest.mark.parametrize(
        ("some", "complete", "kind", "codes"),
        [
            (body(text(0, "a")), True, None, []),
            (body(text(0, "a")), False, None, []),
            (start() + text(0, "a") + ended(), True, None, ["missing_terminal_event"]),
            (start() + text(0, "a") + ended(), False, "stream_truncated", []),
            (start() + text(0, "a"), True, "stream_truncated", []),
            (start() + text(0, "a") + b"data: [DONE]\n\n", True, None, ["finish_reason_missing"]),
            (start() + text(0, "a") + STOP, True, None, ["finish_reason_missing"]),
            (start() + text(0, "a") + ended() + text(1, "b"), True, "stream_truncated", ["early_finish_reason"]),
            (STOP, True, "stream_truncated", []),
            (PING, True, "stream_truncated", []),
            (b"", True, "stream_truncated", []),
        ],
    )
    def test_a_stream_is_whole_if_it_said_why_it_stopped_and_did_not_break_off(self, some, complete, kind, codes):
        result = read(some, complete=complete)[1]
        assert (result.error.kind if result.error else None) == kind
        assert [warning.code for warning in result.warnings] == codes

    def test_what_follows_the_last_event_is_not_read(self):
        assert read(body(text(0, "a")) + start() + text(0, "b") + b"data: {oops\n\n")[1].message.text == "a"

    def test_what_follows_a_fault_is_not_read_however_it_was_cut(self):
        some = start() + text(0, "a") + b"event: x\ndata: NaN\n\n" + text(1, "b")
        assert read(some)[1].message.text == "a"
        assert read(bytewise(some))[1].message.text == "a"

    def test_a_call_of_a_stream_that_was_cut_is_never_run_though_its_arguments_are_whole(self):
        [item] = read(start() + call(0, "f", '{"a": 1}'))[1].message.tool_calls
        assert (item.parsed, item.runnable) == ({"a": 1}, False)

    def test_an_empty_placeholder_is_no_input_where_the_stream_was_cut(self):
        result = read(start() + opened(0, "tool_use", id="a", name="f", input={}))[1]
        [item] = result.message.tool_calls
        assert (item.arguments, item.parsed, item.runnable) == ("", None, False)


def general_events(some, monkeypatch):
    """How many events of a body took the general way."""
    taken = []
    decoder = StreamDecoder(protocol=PROTOCOL)
    one = decoder._decoder._one
    monkeypatch.setattr(decoder._decoder, "_one", lambda frame, chunks: (taken.append(frame), one(frame, chunks)))
    decoder.feed(some)
    decoder.close()
    return len(taken)


class TestHowManyEventsGoTheShortWay:
    @pytest.mark.parametrize(
        "some",
        [
            body(text(0, *"x" * 100)),
            body(opened(0, "thinking", thinking=""), *[delta(0, "thinking_delta", thinking="x")] * 100, stopped(0)),
            body(opened(0, "tool_use", id="a", name="f"), pieces_of(0, *"x" * 100), stopped(0)),
        ],
    )
    def test_nearly_all_of_a_plain_stream(self, some, monkeypatch):
        assert general_events(some, monkeypatch) <= 7

    def test_nearly_all_where_events_have_no_name(self, monkeypatch):
        some = without_names(body(text(0, *"x" * 100)))
        assert general_events(some, monkeypatch) <= 7

    def test_all_of_a_stream_with_fields_that_nobody_knows_after_some_tries(self, monkeypatch):
        odd = event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}, "odd": 1})
        assert general_events(body(opened(0, "text", text=""), odd * 200), monkeypatch) == 205
