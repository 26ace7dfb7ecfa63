"""The streams of the demonstration are what a server sends."""

from __future__ import annotations

import json

from headrace.cli.demo_streams import DONE, STREAMS, TEXT_FIRST, answer_events, call_events


def test_each_piece_is_one_event():
    for stream in STREAMS:
        assert stream.body == b"".join(stream.events)
        assert stream.events[-1] == DONE
        for piece in stream.events[:-1]:
            assert piece.startswith(b"data: {")
            assert piece.endswith(b"\n\n")
            assert piece.count(b"\n") == 2
            json.loads(piece.removeprefix(b"data: "))


def test_only_the_first_piece_of_a_call_names_it():
    first, second = (
        json.loads(piece.removeprefix(b"data: "))["choices"][0]["delta"]["tool_calls"][0] for piece in call_events("f", "{", "}")
    )
    assert (first["id"], first["function"]) == ("call_a", {"name": "f", "arguments": "{"})
    assert second == {"index": 0, "function": {"arguments": "}"}}


def test_the_text_comes_before_the_call():
    assert TEXT_FIRST.body.index(b"for that.") < TEXT_FIRST.body.index(b"city_time")
    assert answer_events("a").endswith(DONE)
