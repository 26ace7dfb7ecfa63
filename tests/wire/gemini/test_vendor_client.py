"""The vendor's own client reads the streams that leave and writes the requests that come: over HTTP, with its own types."""

from __future__ import annotations

import json

import pytest
from google import genai
from google.genai import errors, types

from answers_out import chunk, ended, passed_on, pieces
from chat_bytes import text_stream
from headrace.messages.deltas import PartDelta, ReasoningDelta, StreamError, TextDelta, ToolCallFragment, UsageDelta
from headrace.messages.message import AssistantMessage, ToolMessage
from headrace.messages.parts import MediaPart, ReasoningPart, TextPart, ToolCallPart
from headrace.messages.request import NamedTool, OutputFormat
from headrace.messages.usage import Usage
from headrace.wire.gemini.request_in import read_request
from headrace.wire.gemini.stream_out import StreamOut, refuse
from headrace.wire.server_side import Head
from messages_bytes import SAMPLES
from servers import Reply, scripted_server

PROTOCOL = "gemini"
PLAIN = [("content-type", "application/json")]
SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}}


def sent(*chunks):
    return [piece for piece in pieces(PROTOCOL, chunks)[0] if piece]


def client_of(server):
    return genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url)).aio


async def streamed(steps, **fields):
    """What the client makes of a stream, and the request that it sent."""
    async with scripted_server([Reply(steps)]) as server, client_of(server) as client:
        stream = await client.models.generate_content_stream(model="m", contents=fields.pop("contents", "hi"), **fields)
        found = [event async for event in stream]
        return found, server.requests[0]


def parts_of(found):
    return [part for event in found for candidate in event.candidates or [] for part in candidate.content.parts or []]


async def test_text_and_usage():
    usage = chunk(UsageDelta(Usage(input_tokens=3, output_tokens=2, reasoning_tokens=1)))
    found, _ = await streamed(sent(chunk(TextDelta("Hi ")), chunk(TextDelta("you.")), usage, ended()))
    assert "".join(event.text or "" for event in found) == "Hi you."
    last = found[-1]
    assert (last.candidates[0].finish_reason, last.usage_metadata.total_token_count, last.usage_metadata.thoughts_token_count) == (
        types.FinishReason.STOP, 5, 1,
    )  # fmt: skip
    assert (last.response_id, last.model_version) == ("7", "m-0")


async def test_answers_of_other_wires():
    found, _ = await streamed(passed_on(b"".join(text_stream("Hi ", "you.")), source="openai-chat", target=PROTOCOL))
    assert "".join(event.text or "" for event in found) == "Hi you."
    found, _ = await streamed(passed_on(SAMPLES["thinking, text and a call"], source="anthropic-messages", target=PROTOCOL))
    kinds = ["thought" if part.thought else "call" if part.function_call else "text" for part in parts_of(found)]
    assert sorted(set(kinds)) == ["call", "text", "thought"]


async def test_calls_thinking_and_media():
    found, _ = await streamed(
        sent(
            chunk(ReasoningDelta("Hm.", 0)),
            chunk(PartDelta(MediaPart(kind="image", data=b"icon", media_type="image/png"), 1)),
            chunk(ToolCallFragment("a", "clock", '{"x"', 0)),
            chunk(ToolCallFragment("b", "now", None, 1), ToolCallFragment(None, None, ":1}", 0)),
            ended("tool_calls"),
        )
    )
    thought, image, clock, now, *_ = parts_of(found)
    assert (thought.thought, thought.text, image.inline_data.data) == (True, "Hm.", b"icon")
    assert [(part.function_call.id, part.function_call.name, part.function_call.args) for part in (clock, now)] == [
        ("a", "clock", {"x": 1}), ("b", "now", {}),
    ]  # fmt: skip


async def test_what_the_client_got_it_can_send_back():
    steps = passed_on(SAMPLES["thinking, text and a call"], source="anthropic-messages", target=PROTOCOL)
    found, _ = await streamed(steps)
    history = [
        types.UserContent("Go."),
        types.ModelContent(parts_of(found)),
        types.UserContent(types.Part.from_function_response(name="clock", response={"output": "12:00"})),
    ]
    _, request = await streamed(sent(chunk(TextDelta("So.")), ended()), contents=history)
    _, answer, result = read_request(request.body, model="m").request.messages
    assert isinstance(answer, AssistantMessage)
    assert isinstance(result, ToolMessage)
    (thought,) = answer.parts_of(ReasoningPart)
    assert (bool(thought.text), bool(thought.signature)) == (True, True)
    assert len(answer.tool_calls) == 1


async def test_what_the_client_asks_is_read():
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        temperature=0.5,
        max_output_tokens=9,
        tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="clock", parameters_json_schema=SCHEMA)])],
        tool_config=types.ToolConfig(
            function_calling_config=types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["clock"])
        ),
        thinking_config=types.ThinkingConfig(thinking_budget=1024, include_thoughts=True),
        response_mime_type="application/json",
        response_json_schema=SCHEMA,
    )
    _, request = await streamed(sent(chunk(TextDelta("{}")), ended()), config=config)
    asked = read_request(request.body, model="m", is_streamed=True).request
    assert [message.text for message in asked.messages] == ["Be brief.", "hi"]
    assert (asked.settings.max_tokens, asked.settings.temperature, asked.settings.reasoning_effort) == (9, 0.5, "low")
    assert (asked.tools[0].parameters, asked.tool_choice, asked.output) == (SCHEMA, NamedTool("clock"), OutputFormat(schema=SCHEMA))


async def test_an_error_inside_a_stream_is_raised():
    error = StreamError("provider_error", "busy", "529", retryable=True)
    with pytest.raises(errors.APIError, match="busy") as caught:
        await streamed(sent(chunk(TextDelta("a")), ended(None, error)))
    assert caught.value.code == 503


async def test_a_whole_answer_and_a_refusal():
    answer = AssistantMessage.assemble(
        [TextPart("I look."), ToolCallPart(id="a", name="clock", arguments='{"x":1}')], finish_reason="tool_calls", usage=Usage(input_tokens=1, output_tokens=2)
    )  # fmt: skip
    whole = StreamOut(Head(id="7", model="m")).whole(answer)
    status, refusal = refuse(400, "invalid_request", "It is missing.", argument="contents")
    async with (
        scripted_server([Reply([whole], headers=PLAIN), Reply([refusal], status=status, headers=PLAIN)]) as server,
        client_of(server) as client,
    ):
        response = await client.models.generate_content(model="m", contents="hi")
        assert (response.function_calls[0].args, response.usage_metadata.candidates_token_count) == ({"x": 1}, 2)
        with pytest.raises(errors.ClientError) as caught:
            await client.models.generate_content(model="m", contents="hi")
        assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert json.loads(refusal)["error"]["message"] == "contents: It is missing."
