"""The vendors' own clients through the gateway, each to an upstream of the other's protocol."""

from __future__ import annotations

import json

import anthropic
import openai
import pytest

from chat_bytes import DONE, call_stream, chunk, text_stream, whole_body
from gateway_ground import ground, opened
from messages_bytes import SAMPLES as MESSAGES
from servers import Close, Reply

ASKED = {"model": "mine", "messages": [{"role": "user", "content": "hi"}]}
TOOL = {"name": "clock", "description": "The time.", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}


def chat(world, **options):
    return openai.AsyncOpenAI(base_url=f"{world.served.url}/v1", api_key="any", max_retries=0, **options)


def messages(world):
    return anthropic.AsyncAnthropic(base_url=world.served.url, api_key="any", max_retries=0)


def body_of(name):
    body = MESSAGES[name]
    return [body] if isinstance(body, bytes) else [b"".join(body)]


async def test_a_chat_client_reads_a_broken_chat_stream():
    """No index, no id, `stop` behind a call, and no terminator: what the client puts together is as if nothing had been wrong."""
    broken = [
        chunk({"tool_calls": [{"function": {"name": "clock", "arguments": '{"zone":'}}]}),
        chunk({"tool_calls": [{"function": {"arguments": '"UTC"}'}}]}, finish="stop"),
    ]
    async with (
        ground(broken) as world,
        chat(world) as client,
        client.chat.completions.stream(**ASKED, tools=[{"type": "function", "function": TOOL}]) as stream,
    ):
        async for _ in stream:
            pass
        completion = await stream.get_final_completion()
    (choice,) = completion.choices
    (call,) = choice.message.tool_calls
    assert (choice.finish_reason, call.function.name, json.loads(call.function.arguments), bool(call.id)) == (
        "tool_calls",
        "clock",
        {"zone": "UTC"},
        True,
    )


async def test_a_messages_client_talks_to_a_chat_upstream():
    usage = chunk(choices=[], usage={"prompt_tokens": 9, "completion_tokens": 4})
    tools = [{"name": "clock", "input_schema": TOOL["parameters"]}]
    async with (
        ground([*call_stream("clock", '{"zone":', '"UTC"}')[:-1], usage, DONE]) as world,
        messages(world) as client,
        client.messages.stream(max_tokens=50, **ASKED, system="Be brief.", tools=tools) as stream,
    ):
        message = await stream.get_final_message()
    (block,) = message.content
    assert (block.type, block.name, block.input, message.stop_reason) == ("tool_use", "clock", {"zone": "UTC"}, "tool_use")
    assert (message.usage.input_tokens, message.usage.output_tokens, message.model) == (9, 4, "mine")
    sent = json.loads(world.up.requests[0].body)
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["tools"][0]["function"]["name"] == "clock"


async def test_a_chat_client_talks_to_a_messages_upstream():
    async with ground(body_of("text"), protocol="anthropic-messages") as world, chat(world) as client:
        stream = await client.chat.completions.create(**ASKED, stream=True, stream_options={"include_usage": True})
        chunks = [one async for one in stream]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert [one.choices[0].finish_reason for one in chunks if one.choices][-1] == "stop"
    assert [bool(one.usage) for one in chunks].count(True) == 1
    assert world.up.requests[0].path == "/v1/messages"


async def test_whole_answers_are_whole_for_both():
    reply = Reply([whole_body("Hello.")], headers=[("content-type", "application/json")])
    async with ground(reply, reply) as world, chat(world) as one, messages(world) as other:
        completion = await one.chat.completions.create(**ASKED)
        message = await other.messages.create(max_tokens=5, **ASKED)
    assert completion.choices[0].message.content == "Hello."
    assert (message.content[0].text, message.stop_reason, message.usage.input_tokens) == ("Hello.", "end_turn", 3)


async def test_errors_are_the_clients_own_errors():
    replies = [Reply([b'{"error": {"message": "slow down"}}'], status=429, headers=[("content-type", "application/json")])] * 2
    async with ground(*replies) as world, chat(world) as one, messages(world) as other:
        with pytest.raises(openai.RateLimitError, match="slow down"):
            await one.chat.completions.create(**ASKED, stream=True)
        with pytest.raises(anthropic.RateLimitError, match="slow down"):
            await other.messages.create(max_tokens=5, **ASKED)


async def test_a_stream_that_dies_raises_in_both():
    replies = [[chunk({"content": "half"}), Close()]] * 2
    async with ground(*replies) as world, chat(world) as one, messages(world) as other:
        with pytest.raises(openai.APIError, match="broke"):
            async for _ in await one.chat.completions.create(**ASKED, stream=True):
                pass
        with pytest.raises(anthropic.APIError, match="broke"):
            async with other.messages.stream(max_tokens=5, **ASKED) as stream:
                await stream.get_final_message()


async def test_both_list_the_models():
    async with ground(settings={"models": {"small": "a", "large": "b"}}) as world, chat(world) as one, messages(world) as other:
        names = [model.id async for model in await one.models.list()]
        others = [(model.id, model.display_name) async for model in await other.models.list()]
    assert names == ["small", "large"]
    assert others == [("small", "small"), ("large", "large")]


async def test_a_stream_of_text_is_the_same_text():
    async with (
        ground(text_stream("a", "b", "c")) as world,
        messages(world) as client,
        client.messages.stream(max_tokens=5, **ASKED) as stream,
    ):
        assert [text async for text in stream.text_stream] == ["a", "b", "c"]


async def test_a_real_model_answers_a_client_of_another_protocol(local_weights):
    values = {"upstreams": [{"name": "here", "provider": "local", "models": {"small": "smollm2"}}]}
    async with (
        opened(values) as (served, _),
        anthropic.AsyncAnthropic(base_url=served.url, api_key="any", max_retries=0) as client,
        client.messages.stream(model="small", max_tokens=8, messages=ASKED["messages"]) as stream,
    ):
        texts = [text async for text in stream.text_stream]
        message = await stream.get_final_message()
    assert len(texts) > 1
    assert ("".join(texts), message.model) == (message.content[0].text, "small")
    assert message.usage.output_tokens > 1
