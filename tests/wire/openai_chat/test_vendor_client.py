"""The vendor's own client reads the streams that leave: over HTTP, with its own accumulation of deltas."""

from __future__ import annotations

import json

import openai
import pytest

from answers_out import chunk, ended, passed_on, pieces
from headrace.messages.deltas import ReasoningDelta, StreamError, TextDelta, ToolCallFragment, UsageDelta
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.messages.usage import Usage
from headrace.wire.openai_chat.stream_out import StreamOut, refuse
from headrace.wire.server_side import Head
from messages_bytes import SAMPLES
from servers import Reply, scripted_server

ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
USAGE = chunk(UsageDelta(Usage(input_tokens=3, output_tokens=2, reasoning_tokens=1)))


def sent(*chunks):
    return [piece for piece in pieces("openai-chat", chunks)[0] if piece]


async def final(steps):
    """What the client puts together of a stream."""
    async with (
        scripted_server([Reply(steps)]) as server,
        openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
        client.chat.completions.stream(**ASKED, stream_options={"include_usage": True}) as stream,
    ):
        async for _ in stream:
            pass
        return await stream.get_final_completion()


async def test_text_and_usage():
    completion = await final(sent(chunk(TextDelta("Hi ")), chunk(TextDelta("you.")), USAGE, ended()))
    (choice,) = completion.choices
    assert (choice.message.content, choice.finish_reason, choice.message.tool_calls) == ("Hi you.", "stop", None)
    assert (completion.usage.total_tokens, completion.usage.completion_tokens_details.reasoning_tokens) == (5, 1)
    assert (completion.id, completion.model, completion.created) == ("chatcmpl-7", "m-0", 1_770_000_000)


async def test_parallel_calls_that_interleave():
    completion = await final(
        sent(
            chunk(ToolCallFragment("a", "clock", '{"x"', 0)),
            chunk(ToolCallFragment("b", "look_up", '{"y"', 1)),
            chunk(ToolCallFragment(None, None, ":1}", 0), ToolCallFragment(None, None, ":2}", 1)),
            ended("tool_calls"),
        )
    )
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    calls = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls]
    assert calls == [("a", "clock", '{"x":1}'), ("b", "look_up", '{"y":2}')]


async def test_thinking_of_another_wire():
    completion = await final(passed_on(SAMPLES["thinking, text and a call"], source="anthropic-messages", target="openai-chat"))
    message = completion.choices[0].message
    assert (message.reasoning_content, message.content) == ("Is it late?", "I look.")
    assert [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls] == [
        ("clock", {"zone": "Europe/Oslo"})
    ]
    assert message.reasoning_details[0]["signature"] == "c2lnbmVk"


async def test_an_error_inside_a_stream_is_raised():
    steps = sent(
        chunk(ReasoningDelta("Hm.")), chunk(TextDelta("a")), ended(None, StreamError("provider_error", "busy", "529", retryable=True))
    )
    with pytest.raises(openai.APIError) as caught:
        await final(steps)
    assert (caught.value.message, caught.value.code, caught.value.type) == ("busy", "529", "server_error")


async def test_a_whole_answer_and_a_refusal():
    message = AssistantMessage.assemble(
        [TextPart("I look."), ToolCallPart(id="a", name="clock", arguments='{"x":1}')], finish_reason="tool_calls", usage=Usage(input_tokens=1, output_tokens=2)
    )  # fmt: skip
    whole = StreamOut(Head(id="7", model="m")).whole(message)
    status, refusal = refuse(400, "invalid_request", "messages is missing", argument="messages")
    plain = [("content-type", "application/json")]
    async with (
        scripted_server([Reply([whole], headers=plain), Reply([refusal], status=status, headers=plain)]) as server,
        openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
    ):
        completion = await client.chat.completions.create(**ASKED)
        assert completion.choices[0].message.tool_calls[0].function.arguments == '{"x":1}'
        assert completion.usage.total_tokens == 3
        with pytest.raises(openai.BadRequestError) as caught:
            await client.chat.completions.create(**ASKED)
        assert (caught.value.param, caught.value.type) == ("messages", "invalid_request_error")
