"""Which protocol a body speaks, by its own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gemini_bytes
import messages_bytes
import responses_bytes
import stream_samples
from aws_bytes import aws_frame
from headrace.decoding import SUPPORTED
from headrace.inspect.guess import guess_protocol

BODIES = {
    "openai-chat": [stream_samples.SAMPLES["text"], b'{"object": "chat.completion", "choices": [{"message": {"content": "a"}}]}'],
    "anthropic-messages": [messages_bytes.body(messages_bytes.text(0, "a")), messages_bytes.whole({"type": "text", "text": "a"})],
    "openai-responses": [responses_bytes.SAMPLES["text"], b'{"object": "response", "output": []}'],
    "gemini": [
        gemini_bytes.stream(gemini_bytes.stop(gemini_bytes.text("a"))),
        b'[\n{"candidates": [{"content": {"parts": [{"text": "a"}]}}]}\n,\r\n{"candi',
        b'{\n  "candidates": []\n}',
    ],
    "gemini-interactions": [
        b'event: x\ndata: {"event_type": "interaction.created", "interaction": {}}\n\n',
        b'{"object": "interaction", "steps": []}',
    ],
    "dashscope": [b'id:1\nevent:result\ndata:{"output":{"choices":[]},"usage":{},"request_id":"r"}\n\n'],
    "cohere-v2": [
        b'data: {"type":"content-delta","index":0,"delta":{}}\n\n',
        b'{"id": "a", "message": {"role": "assistant"}, "finish_reason": "COMPLETE"}',
    ],
    "ollama": [b'{"model": "m", "message": {"content": "a"}, "done": false}\n{"model": "m", "message": {"content": ""}, "done": true}\n'],
    "bedrock-converse": [
        aws_frame({":event-type": "messageStart", ":message-type": "event"}, b'{"role":"assistant"}'),
        b'{"output": {"message": {}}, "stopReason": "end_turn"}',
    ],
    "bedrock-invoke": [aws_frame({":event-type": "chunk", ":message-type": "event"}, b'{"bytes":"e30="}')],
}


@pytest.mark.parametrize(("protocol", "body"), [(protocol, body) for protocol, bodies in BODIES.items() for body in bodies])
def test_a_body_tells_its_protocol(protocol, body):
    guess = guess_protocol(body)
    assert (guess.protocol, guess.is_certain) == (protocol, True)
    assert guess_protocol(b"\xef\xbb\xbf\r\n" + body).protocol == protocol or body[:2] == b"\0\0"


@pytest.mark.parametrize(
    "body", [b"", b"<html>busy</html>", b"data: [DONE]\n\n", b'{"error": {"message": "no"}}', b": ping\n\n", b"[1, [2]]"]
)
def test_a_body_that_does_not_tell_is_read_as_what_most_servers_speak(body):
    guess = guess_protocol(body)
    assert (guess.protocol, guess.is_certain) == ("openai-chat", False)
    assert "nothing in the body tells" in guess.why


@given(body=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: ("data: " + text).encode("utf-8", "replace")))
def test_any_bytes_get_a_guess(body):
    assert guess_protocol(body).protocol in SUPPORTED


def test_every_protocol_can_be_guessed():
    assert set(BODIES) == set(SUPPORTED)
