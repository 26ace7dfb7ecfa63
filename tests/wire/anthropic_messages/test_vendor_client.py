"""The vendor's own client reads the streams that leave: over HTTP, with its own accumulation of blocks."""

from __future__ import annotations

import json

import anthropic
import pytest

from answers_out import chunk, ended, passed_on, pieces
from chat_bytes import call_stream, text_stream
from headrace.messages.deltas import ReasoningDelta, StreamError, TextDelta, ToolCallFragment, UsageDelta
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.messages.usage import Usage
from headrace.wire.anthropic_messages.stream_out import StreamOut, refuse
from headrace.wire.server_side import Head
from servers import Reply, scripted_server

PROTOCOL = "anthropic-messages"
ASKED = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


def sent(*chunks):
    return [piece for piece in pieces(PROTOCOL, chunks)[0] if piece]


def client_of(server):
    return anthropic.AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0)


async def final(steps):
    """What the client puts together of a stream."""
    async with scripted_server([Reply(steps)]) as server, client_of(server) as client, client.messages.stream(**ASKED) as stream:
        async for _ in stream:
            pass
        return await stream.get_final_message()


async def test_text_and_usage():
    usage = chunk(UsageDelta(Usage(input_tokens=30, output_tokens=2, cache_read_tokens=9)))
    message = await final(sent(chunk(TextDelta("Hi ")), chunk(TextDelta("you.")), usage, ended()))
    assert [(block.type, block.text) for block in message.content] == [("text", "Hi you.")]
    assert (message.id, message.model, message.stop_reason) == ("msg_7", "m-0", "end_turn")
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens) == (21, 9, 2)


async def test_an_answer_of_another_wire():
    message = await final(passed_on(b"".join(text_stream("Hi ", "you.")), source="openai-chat", target=PROTOCOL))
    assert (message.content[0].text, message.usage.input_tokens, message.usage.output_tokens) == ("Hi you.", 3, 2)
    message = await final(passed_on(b"".join(call_stream("clock", '{"zone"', ':"CET"}')), source="openai-chat", target=PROTOCOL))
    assert (message.content[0].name, message.content[0].input, message.stop_reason) == ("clock", {"zone": "CET"}, "tool_use")


async def test_thinking_that_is_signed_and_sealed():
    message = await final(
        sent(
            chunk(ReasoningDelta("Hm", 0)),
            chunk(ReasoningDelta(".", 0, signature="si")),
            chunk(ReasoningDelta("", 0, signature="g")),
            chunk(ReasoningDelta("", 1, encrypted="zz")),
            chunk(TextDelta("Yes.", 2)),
            ended(),
        )
    )
    thinking, sealed, text = message.content
    assert (thinking.thinking, thinking.signature, sealed.data, text.text) == ("Hm.", "sig", "zz", "Yes.")


async def test_parallel_calls_that_interleave():
    message = await final(
        sent(
            chunk(ToolCallFragment("a", "clock", '{"x"', 0)),
            chunk(ToolCallFragment("b", "now", None, 1), ToolCallFragment("c", "look_up", '{"y"', 2)),
            chunk(ToolCallFragment(None, None, ":1}", 0), ToolCallFragment(None, None, ":2}", 2)),
            ended("tool_calls"),
        )
    )
    assert [(block.id, block.name, block.input) for block in message.content] == [
        ("a", "clock", {"x": 1}),
        ("b", "now", {}),
        ("c", "look_up", {"y": 2}),
    ]
    assert message.stop_reason == "tool_use"


async def test_an_error_inside_a_stream_is_raised():
    error = StreamError("provider_error", "busy", "529", retryable=True)
    with pytest.raises(anthropic.APIStatusError) as caught:
        await final(sent(chunk(TextDelta("a")), ended(None, error)))
    assert caught.value.body == {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


async def test_a_whole_answer_and_a_refusal():
    answer = AssistantMessage.assemble(
        [TextPart("I look."), ToolCallPart(id="a", name="clock", arguments='{"x":1}')], finish_reason="tool_calls", usage=Usage(input_tokens=1, output_tokens=2)
    )  # fmt: skip
    whole = StreamOut(Head(id="7", model="m")).whole(answer)
    status, refusal = refuse(400, "invalid_request", "It is missing.", argument="messages")
    plain = [("content-type", "application/json")]
    async with (
        scripted_server([Reply([whole], headers=plain), Reply([refusal], status=status, headers=plain)]) as server,
        client_of(server) as client,
    ):
        message = await client.messages.create(**ASKED)
        assert (message.content[1].input, message.usage.output_tokens) == ({"x": 1}, 2)
        with pytest.raises(anthropic.BadRequestError) as caught:
            await client.messages.create(**ASKED)
        assert json.loads(caught.value.response.text)["error"]["message"] == "messages: It is missing."
