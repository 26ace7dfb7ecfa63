"""Which stream a model speaks, told by its first event."""

from __future__ import annotations

import json

import pytest

from headrace.wire.anthropic_messages.stream_in import MessagesDecoder
from headrace.wire.bedrock_converse.stream_in import ConverseDecoder
from headrace.wire.bedrock_invoke.completion_in import CompletionDecoder
from headrace.wire.bedrock_invoke.dialects import as_chat, dialect_of, says_nothing
from headrace.wire.openai_chat.stream_in import ChatDecoder


@pytest.mark.parametrize(
    ("event", "decoder"),
    [
        ({"type": "message_start", "message": {}}, MessagesDecoder),
        ({"type": "error", "error": {}}, MessagesDecoder),
        ({"messageStart": {}}, ConverseDecoder),
        ({"output": {"message": {}}}, ConverseDecoder),
        ({"choices": []}, ChatDecoder),
        ({"choices": "x"}, CompletionDecoder),
        ({"type": ["odd"]}, CompletionDecoder),
        ({"outputText": "x"}, CompletionDecoder),
        ([1], CompletionDecoder),
        ("x", CompletionDecoder),
    ],
)
def test_the_shape_decides(event, decoder):
    assert dialect_of(event) is decoder


@pytest.mark.parametrize(("event", "nothing"), [({}, True), (None, True), ({"type": "ping"}, True), ({"text": ""}, False), ([], False)])
def test_some_events_tell_nothing(event, nothing):
    assert says_nothing(event) is nothing


def test_a_finish_word_is_put_where_the_chat_shape_has_it():
    event = {
        "id": "x",
        "choices": [{"index": 0, "stop_reason": "stop"}, {"stop_reason": "a", "finish_reason": "b"}, {"finish_reason": "c"}, 7],
    }
    assert json.loads(as_chat(event)) == {
        "id": "x",
        "choices": [{"index": 0, "finish_reason": "stop"}, {"stop_reason": "a", "finish_reason": "b"}, {"finish_reason": "c"}, 7],
    }
