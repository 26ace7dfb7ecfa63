"""Answers that were not streamed: the same message as the stream would have given."""

from __future__ import annotations

import json

import pytest

from bedrock_samples import USAGE, call, delta, message, start, stop
from headrace._json import loads
from headrace.decoding import decode_stream
from headrace.messages.parts import MediaPart, ProviderItem

CITATION = {"title": "facts", "location": {"web": {"url": "https://example.org"}}}
SERVER = {"toolUseId": "s1", "name": "search", "type": "server_tool_use"}
RESULT = {"toolUseId": "s1", "type": "search_result", "status": "success"}


def answer(*blocks, reason="end_turn"):
    whole = {
        "output": {"message": {"role": "assistant", "content": list(blocks)}},
        "stopReason": reason,
        "usage": USAGE,
        "metrics": {"latencyMs": 81},
    }
    return json.dumps(whole).encode()


def decode(body):
    return decode_stream(body, protocol="bedrock-converse", provider="bedrock")


@pytest.mark.parametrize(
    ("blocks", "events", "reason"),
    [
        ([{"text": "Hi"}], [delta(0, {"text": "Hi"}), stop(0)], "end_turn"),
        (
            [{"text": "See"}, {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}}],
            [delta(0, {"text": "See"}), *call(1, "t", "f", '{"a":1}')],
            "tool_use",
        ),
        ([{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}], call(0, "t", "f", "{}"), "tool_use"),
        ([{"toolUse": {"toolUseId": "t", "name": "f"}}], call(0, "t", "f", "{}"), "tool_use"),
        (
            [{"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "c2ln"}}}],
            [delta(0, {"reasoningContent": {"text": "Hm"}}), delta(0, {"reasoningContent": {"signature": "c2ln"}}), stop(0)],
            "end_turn",
        ),
        (
            [{"reasoningContent": {"redactedContent": "YQ=="}}],
            [delta(0, {"reasoningContent": {"redactedContent": "YQ=="}}), stop(0)],
            "end_turn",
        ),
        (
            [{"citationsContent": {"content": [{"text": "In "}, {"text": "1993."}], "citations": [CITATION]}}],
            [delta(0, {"text": "In 1993."}), delta(0, {"citation": CITATION}), stop(0)],
            "end_turn",
        ),
        (
            [{"toolUse": {**SERVER, "input": {"q": 1}}}, {"toolResult": {**RESULT, "content": [{"text": "x"}]}}],
            [
                start(0, {"toolUse": SERVER}),
                delta(0, {"toolUse": {"input": '{"q":1}'}}),
                stop(0),
                start(1, {"toolResult": RESULT}),
                delta(1, {"toolResult": [{"text": "x"}]}),
                stop(1),
            ],
            "end_turn",
        ),
    ],
    ids=["text", "call", "empty arguments", "no arguments", "thinking", "sealed thinking", "citations", "tool of the provider"],
)
def test_a_whole_answer_is_the_message_of_its_stream(blocks, events, reason):
    whole, streamed = decode(answer(*blocks, reason=reason)), decode(message(*events, reason=reason))
    assert whole.error is None
    assert whole.message.parts == streamed.message.parts
    assert whole.message == streamed.message


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"image": {"format": "jpeg", "source": {"bytes": "AAE="}}}, MediaPart(kind="image", data=b"\0\1", media_type="image/jpeg")),
        ({"document": {"name": "d", "source": {"bytes": "AAE="}}}, MediaPart(kind="document", data=b"\0\1", name="d")),
        ({"video": {"format": "mov", "source": {"bytes": "AAE="}}}, MediaPart(kind="video", data=b"\0\1", media_type="video/quicktime")),
    ],
)
def test_media_are_parts(block, part):
    assert decode(answer(block)).message.parts == (part,)


@pytest.mark.parametrize(
    "block",
    [
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}},
        {"image": {"format": "png", "source": {"bytes": "*"}}},
        {"guardContent": {"text": {"text": "x"}}},
        {"text": "x", "mood": "calm"},
        {"text": 7},
        {"hologram": 1},
        {},
    ],
)
def test_what_is_not_understood_is_kept_as_the_item_that_it_is(block):
    (item,) = decode(answer(block)).message.parts
    assert (type(item), item.provider, item.protocol, loads(item.raw)) == (ProviderItem, "bedrock", "bedrock-converse", block)


def test_a_head_and_what_stands_beside_the_answer_are_kept():
    body = json.dumps(
        {"id": "x", "model": "m", "output": {"message": {"content": [None, {"text": "Hi"}]}}, "stopReason": "end_turn", "trace": {"a": 1}}
    )
    message_ = decode(body.encode()).message
    assert (message_.id, message_.model, message_.text) == ("x", "m", "Hi")
    assert message_.metadata == {"provider_fields": {"trace": {"a": 1}}}


def test_an_answer_without_content_is_empty():
    result = decode(b'{"stopReason":"guardrail_intervened"}')
    assert (result.error, result.message.parts, result.message.finish_reason) == (None, (), "content_filter")
