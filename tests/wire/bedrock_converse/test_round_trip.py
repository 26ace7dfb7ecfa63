"""Decode a stream, ask again with the result of its call, and compare with what the service wants to get back."""

from __future__ import annotations

import json

import pytest

from aws_service import complaints_about
from bedrock_samples import CONVERSE, call, delta, message, start, stop
from headrace.decoding import decode_stream
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.request import Request, ToolSpec
from headrace.providers.profiles import BEDROCK
from headrace.wire.bedrock_converse.request_out import encode_request

PROFILE = BEDROCK.replace(provider="bedrock")


def next_body(stream, provider="bedrock"):
    answer = decode_stream(stream, protocol="bedrock-converse", provider=provider).message
    results = [ToolMessage("12:00", call_id=one.id, name=one.name) for one in answer.tool_calls]
    request = Request(model="m", messages=(UserMessage("What time is it?"), answer, *results), tools=(ToolSpec(name="clock"),))
    return encode_request(request, PROFILE)


def test_thinking_a_tool_of_the_provider_and_a_call_go_back_unchanged():
    stream = message(
        delta(0, {"reasoningContent": {"text": "Is it late?"}}),
        delta(0, {"reasoningContent": {"signature": "EuYBCkQ+/=="}}),
        stop(0),
        delta(1, {"reasoningContent": {"redactedContent": "c2VhbGVk"}}),
        stop(1),
        start(2, {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use"}}),
        delta(2, {"toolUse": {"input": '{"query": "time"}'}}),
        stop(2),
        start(3, {"toolResult": {"toolUseId": "s1", "type": "nova_grounding_result", "status": "success"}}),
        delta(3, {"toolResult": [{"text": "[HIDDEN]"}]}),
        stop(3),
        delta(4, {"citation": {"location": {"web": {"url": "https://example.org"}}}}),
        delta(4, {"text": "I look."}),
        stop(4),
        *call(5, "tooluse_1", "clock", '{"zone": ', '"UTC"}'),
        reason="tool_use",
    )
    encoded = next_body(stream)
    assert encoded.warnings == ()
    body = json.loads(encoded.body)
    assert not complaints_about(body)
    assert body["messages"] == [
        {"role": "user", "content": [{"text": "What time is it?"}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Is it late?", "signature": "EuYBCkQ+/=="}}},
                {"reasoningContent": {"redactedContent": "c2VhbGVk"}},
                {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "input": {"query": "time"}, "type": "server_tool_use"}},
                {
                    "toolResult": {
                        "toolUseId": "s1",
                        "type": "nova_grounding_result",
                        "status": "success",
                        "content": [{"text": "[HIDDEN]"}],
                    }
                },
                {
                    "citationsContent": {
                        "content": [{"text": "I look."}],
                        "citations": [{"location": {"web": {"url": "https://example.org"}}}],
                    }
                },
                {"toolUse": {"toolUseId": "tooluse_1", "name": "clock", "input": {"zone": "UTC"}}},
            ],
        },
        {"role": "user", "content": [{"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "12:00"}], "status": "success"}}]},
    ]
    assert b'"input":{"query": "time"}' in encoded.body
    assert b'"input":{"zone": "UTC"}' in encoded.body


def test_the_same_message_of_another_provider_leaves_behind_what_only_it_understands():
    encoded = next_body(CONVERSE["signed thinking"], provider="other")
    assert [warning.detail for warning in encoded.warnings] == ["messages[1].parts[0]: reasoning of other"]
    assert json.loads(encoded.body)["messages"][1]["content"] == [{"text": "No."}]


@pytest.mark.parametrize("name", CONVERSE)
def test_every_answer_can_be_sent_again(name):
    assert not complaints_about(json.loads(next_body(CONVERSE[name]).body))
