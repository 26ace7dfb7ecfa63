from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_bytes import DONE, call_stream, chunk, text_stream
from decoding_runs import decoded
from headrace.decoding import StreamDecoder
from headrace.wire.openai_chat.fast import REFUSED, decode_event, decode_tail, head_of
from stream_samples import call, calls, tail_event


@pytest.mark.parametrize(
    ("data", "head"),
    [
        (b'{"id":"a","created":1,"model":"m","choices":[]}', b'{"id":"a","created":1,"model":"m",'),
        (b'{ "id": "a", "choices":[]}', b'{ "id": "a", '),
        (b'{"choices":[],"id":"a"}', b"{"),
        (b'{"id":null,"x":true,"y":1.5,"choices":[]}', b'{"id":null,"x":true,"y":1.5,'),
        (b'{"id":"a"}', None),
        (b'"choices":[]', None),
        (b'{"id":"a","usage":null,"choices":[]}', None),
        (b'{"error":"x","choices":[]}', None),
        (b'{"message":"no","code":"x","choices":[]}', None),
        (b'{"detail":"no","choices":[]}', None),
        (b'{"object":"error","choices":[]}', None),
        (b'{"x":{"choices":[]}}', None),
        (b'{"x":{},"choices":[]}', None),
        (b'{"x":[1],"choices":[]}', None),
        (b'{"id":"a" "choices":[]}', b'{"id":"a" '),
        (b'{"id":"a","id" "choices":[]}', None),
        (b'["choices":[]]', None),
        (b'{"id":"\\"choices\\":","choices":[]}', b'{"id":"\\"choices\\":",'),
    ],
)
def test_a_head_is_learned_only_if_it_is_a_run_of_plain_fields(data, head):
    assert head_of(data) == head


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [], "id": "x"},
        {"choices": [{"delta": {"content": 5}}]},
        {"choices": [{"delta": {"content": [{}]}}]},
        {"choices": [{"delta": {"unknown": None}}]},
        {"choices": [{"delta": {"role": "tool"}}]},
        {"choices": [{"delta": {"refusal": "no"}}]},
        {"choices": [{"delta": {}, "logprobs": {}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0.0, "function": {}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": {}}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": None}]}}]},
        {"choices": [{"message": {}}]},
        {"choices": [], "usage": 5},
        {"choices": [], "timings": {}},
        {"choices": [{"delta": {}, "stop_reason": "</s>"}]},
        {"choices": None},
    ],
)
def test_whatever_needs_thought_is_refused(event):
    with pytest.raises(REFUSED):
        decode_event(msgspec.json.encode(event))
    if "id" not in event:
        with pytest.raises(REFUSED):
            decode_tail(msgspec.json.encode(event))


def general_events(body, monkeypatch):
    """How many events of a body took the general way."""
    decoder = StreamDecoder(protocol="openai-chat")
    taken = []
    frame = decoder._decoder._frame
    monkeypatch.setattr(decoder._decoder, "_frame", lambda one: (taken.append(one), frame(one)))
    decoder.feed(body)
    decoder.close()
    return len(taken)


class TestHowManyEventsGoTheShortWay:
    def test_nearly_all_of_a_plain_stream(self, monkeypatch):
        body = b"".join(text_stream(*"abcdefgh" * 10))
        assert general_events(body, monkeypatch) <= 6

    def test_nearly_all_pieces_of_calls(self, monkeypatch):
        pieces = [calls(call(0, arguments="x")) for _ in range(100)]
        body = b"".join(
            [chunk({"role": "assistant", "content": None}), calls(call(0, "c", "f", "")), *pieces, chunk(finish="tool_calls"), DONE]
        )
        assert general_events(body, monkeypatch) <= 6

    def test_nearly_all_reasoning(self, monkeypatch):
        body = b"".join([*(chunk({"reasoning_content": "x"}) for _ in range(100)), chunk(finish="stop"), DONE])
        assert general_events(body, monkeypatch) <= 6

    def test_nearly_all_where_the_head_comes_last(self, monkeypatch):
        body = b"".join([*(tail_event({"content": "x"}) for _ in range(100)), tail_event({}, "stop"), DONE])
        assert general_events(body, monkeypatch) <= 6

    def test_all_but_the_first_and_the_terminator_of_a_round(self, monkeypatch):
        body = b"".join([*call_stream("clock", '{"zone":', '"UTC"}')[:-1], chunk(choices=[], usage={"prompt_tokens": 3}), DONE])
        assert general_events(body, monkeypatch) == 2
        assert general_events(b"".join(text_stream("Hel", "lo")), monkeypatch) == 2

    def test_all_of_a_stream_with_fields_that_nobody_knows_after_a_few_tries(self, monkeypatch):
        body = b"".join([*(chunk({"content": "x", "odd": 1}) for _ in range(100)), chunk(finish="stop"), DONE])
        assert general_events(body, monkeypatch) == 102

    def test_the_rest_goes_it_again_after_an_event_that_could_not(self, monkeypatch):
        body = b"".join(
            [
                *(chunk({"content": "x"}) for _ in range(50)),
                chunk({"content": "x", "odd": 1}),
                *(chunk({"content": "x"}) for _ in range(50)),
            ]
        )
        assert general_events(body, monkeypatch) <= 6


def test_a_head_that_changes_is_not_taken_for_the_one_that_was_learned():
    body = b"".join(
        [*(chunk({"content": "a"}) for _ in range(4)), chunk({"content": "b"}, odd=1), *(chunk({"content": "c"}) for _ in range(4))]
    )
    message = decoded(body)[1].message
    assert (message.text, message.metadata) == ("aaaabcccc", {"provider_fields": {"odd": 1}})


def test_heads_that_come_last_are_compared_field_by_field():
    body = b"".join(
        [
            *(tail_event({"content": "a"}) for _ in range(4)),
            tail_event({"content": "b"}, object="error"),
            *(tail_event({"content": "c"}) for _ in range(4)),
        ]
    )
    assert decoded(body)[1].error.kind == "provider_error"


def test_a_head_that_comes_last_and_changes_back_is_the_last_that_counts():
    prints = ["a", "a", "a", "b", "a", "a"]
    body = b"".join(tail_event({"content": "x"}, system_fingerprint=one) for one in prints)
    assert decoded(body)[1].message.metadata == {"provider_fields": {"system_fingerprint": "a"}}


DELTAS = st.sampled_from(
    [
        {},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"content": "x"},
        {"content": "y", "tool_calls": []},
        {"reasoning_content": "r"},
        {"reasoning": "r", "content": "x"},
        {"tool_calls": [call(0, "c", "f", "")]},
        {"tool_calls": [call(0, arguments='{"a":')]},
        {"tool_calls": [call(0, arguments="1}")]},
        {"tool_calls": [call(1, "d", "g", "{}"), call(0, arguments=" ")]},
        {"content": "x", "odd": 1},
    ]
)
USAGES = st.sampled_from(
    [
        None,
        {},
        {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "cost": 0.5},
        {"prompt_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 1}},
        {"prompt_tokens": -1, "deep": [[[None]]]},
        {"prompt_tokens": "3"},
    ]
)


@st.composite
def events(draw):
    """An event: of one choice or none, with or without a finish word and the usage; now and then anything else."""
    fields = {}
    if draw(st.booleans()):
        fields["usage"] = draw(USAGES)
    if not draw(st.integers(0, 5)):
        fields |= draw(st.sampled_from([{"odd": 2}, {"error": {"message": "no"}}, {"message": "no", "code": "x"}, {"model": "m-2"}]))
    if not draw(st.integers(0, 3)):
        fields["choices"] = []
    make = tail_event if draw(st.integers(0, 9)) == 0 else chunk
    finish = draw(st.sampled_from([None, None, None, None, "stop", "tool_calls", "length", "", "null", "odd"]))
    return make(draw(DELTAS), finish, **fields)


@given(st.lists(events(), max_size=9), st.booleans())
def test_the_short_way_and_the_general_way_say_the_same_of_any_run_of_events(run, is_done):
    body = b"".join([chunk({"role": "assistant", "content": None}), *run, *([DONE] if is_done else [])])
    assert decoded(body, is_short_way_off=True) == decoded(body)


def test_usage_that_no_message_can_hold_goes_the_general_way():
    deep = {"prompt_tokens": 1, "raw": msgspec.json.decode(b"[" * 250 + b"]" * 250)}
    body = b"".join([*text_stream("a", "b")[:-2], chunk(choices=[], usage=deep), DONE])
    assert decoded(body) == decoded(body, is_short_way_off=True)
    assert decoded(body)[1].error.kind == "invalid_event"
