"""The hasty reader of the demonstration makes the mistakes that such readers make, and our own decoder does not."""

from __future__ import annotations

import pytest

from headrace.cli.demo_streams import ANSWERS, AT_ONCE, CUT, MANY_PIECES, STREAMS, TEXT_FIRST, text_events
from headrace.cli.first_chunk import first_chunk_decides
from headrace.decoding import StreamDecoder, decode_stream


def chunks_of(*events):
    decoder = StreamDecoder(protocol="openai-chat")
    return [chunk for event in events for chunk in decoder.feed(event)]


def test_text_first_loses_the_call():
    verdict = first_chunk_decides(chunks_of(*TEXT_FIRST.events))
    assert not verdict.is_right
    assert "'I need the clock for that.' is the final answer; the call of city_time is lost" in verdict.words


@pytest.mark.parametrize("stream", [MANY_PIECES, CUT])
def test_arguments_in_pieces_become_an_empty_object_that_nobody_sent(stream):
    verdict = first_chunk_decides(chunks_of(*stream.events))
    assert not verdict.is_right
    assert "calculate runs with {}, made up" in verdict.words


def test_a_call_in_one_chunk_happens_to_be_right():
    assert first_chunk_decides(chunks_of(*AT_ONCE.events)).is_right


def test_an_answer_in_text_happens_to_be_right():
    assert first_chunk_decides(chunks_of(*text_events("Hel", "lo"))).words == "the answer is 'Hello'"


def test_nothing_is_an_empty_answer():
    assert not first_chunk_decides([]).is_right


@pytest.mark.parametrize(
    ("stream", "text", "calls"),
    [
        (TEXT_FIRST, "I need the clock for that.", [("city_time", {"city": "Tokyo"}, True)]),
        (MANY_PIECES, "", [("calculate", {"expression": "17 * 23"}, True)]),
        (AT_ONCE, "", [("calculate", {"expression": "17 * 23"}, True)]),
        (CUT, "", [("calculate", None, False)]),
    ],
)
def test_the_decoder_gets_what_was_sent(stream, text, calls):
    result = decode_stream(stream.body, protocol="openai-chat")
    assert result.error is None
    assert result.message.text == text
    assert [(call.name, call.parsed, call.runnable) for call in result.message.tool_calls] == calls


def test_every_stream_has_an_answer_that_follows():
    assert {stream.name for stream in STREAMS} == set(ANSWERS)
    for body in ANSWERS.values():
        result = decode_stream(body, protocol="openai-chat")
        assert result.error is None
        assert result.message.text
