"""The vendor's own client reads the streams that leave: over HTTP, with its own accumulation of items."""

from __future__ import annotations

import json

import openai
import pytest

from answers_out import chunk, ended, passed_on, pieces
from chat_bytes import call_stream, text_stream
from headrace.messages.deltas import CitationDelta, ReasoningDelta, RefusalDelta, StreamError, TextDelta, ToolCallFragment, UsageDelta
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.messages.usage import Usage
from headrace.wire.openai_responses.request_in import read_request
from headrace.wire.openai_responses.stream_out import StreamOut, refuse
from headrace.wire.server_side import Head
from messages_bytes import SAMPLES
from servers import Reply, scripted_server

PROTOCOL = "openai-responses"
ASKED = {"model": "m", "input": "hi"}
USAGE = chunk(UsageDelta(Usage(input_tokens=3, output_tokens=2, reasoning_tokens=1)))


def sent(*chunks):
    return [piece for piece in pieces(PROTOCOL, chunks)[0] if piece]


def client_of(server):
    return openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0)


async def final(steps):
    """What the client puts together of a stream, and the kinds of its events."""
    async with scripted_server([Reply(steps)]) as server, client_of(server) as client, client.responses.stream(**ASKED) as stream:
        kinds = [event.type async for event in stream]
        return await stream.get_final_response(), kinds


async def test_text_usage_and_citations():
    citation = {"type": "url_citation", "url": "https://x", "title": "X", "start_index": 0, "end_index": 2}
    response, kinds = await final(sent(chunk(TextDelta("Hi "), CitationDelta(citation)), chunk(TextDelta("you.")), USAGE, ended()))
    assert (response.output_text, response.status, response.usage.total_tokens) == ("Hi you.", "completed", 5)
    assert response.output[0].content[0].annotations[0].url == "https://x"
    assert (response.id, response.model, response.created_at) == ("resp_7", "m-0", 1_770_000_000)
    assert kinds.count("response.output_text.delta") == 2


async def test_answers_of_other_wires():
    response, _ = await final(passed_on(b"".join(text_stream("Hi ", "you.")), source="openai-chat", target=PROTOCOL))
    assert (response.output_text, response.usage.input_tokens) == ("Hi you.", 3)
    response, _ = await final(passed_on(b"".join(call_stream("clock", '{"zone"', ':"CET"}')), source="openai-chat", target=PROTOCOL))
    assert (response.output[0].name, response.output[0].arguments) == ("clock", '{"zone":"CET"}')
    response, _ = await final(passed_on(SAMPLES["thinking, text and a call"], source="anthropic-messages", target=PROTOCOL))
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]


async def test_thinking_calls_that_interleave_and_a_refusal():
    response, _ = await final(
        sent(
            chunk(ReasoningDelta("Hm", 0)),
            chunk(ReasoningDelta(".", 0, encrypted="gA")),
            chunk(RefusalDelta("Not that.", 1)),
            chunk(ToolCallFragment("a", "clock", '{"x"', 0)),
            chunk(ToolCallFragment("b", "now", None, 1), ToolCallFragment("c", "sql", "select", 2, "custom")),
            chunk(ToolCallFragment(None, None, ":1}", 0), ToolCallFragment(None, None, " 1", 2)),
            ended("tool_calls"),
        )
    )
    thought, message, clock, now, sql = response.output
    assert (thought.summary[0].text, thought.encrypted_content, message.content[0].refusal) == ("Hm.", "gA", "Not that.")
    assert (clock.call_id, clock.arguments, now.arguments, sql.input) == ("a", '{"x":1}', "{}", "select 1")


async def test_what_the_client_got_it_can_send_back():
    response, _ = await final(passed_on(SAMPLES["thinking, text and a call"], source="anthropic-messages", target=PROTOCOL))
    items = [{"role": "user", "content": "Go."}, *(item.model_dump(exclude_none=True) for item in response.output)]
    message = read_request(json.dumps({"model": "m", "input": items}).encode()).request.messages[1]
    thought, text, call = message.parts
    assert (bool(thought.signature), bool(thought.text), bool(text.text), call.runnable) == (True, True, True, True)


async def test_an_error_inside_a_stream_is_raised():
    error = StreamError("provider_error", "busy", "529", retryable=True)
    with pytest.raises(openai.APIError, match="busy"):
        await final(sent(chunk(TextDelta("a")), ended(None, error)))


async def test_a_whole_answer_and_a_refusal():
    answer = AssistantMessage.assemble(
        [TextPart("I look."), ToolCallPart(id="a", name="clock", arguments='{"x":1}')], finish_reason="tool_calls", usage=Usage(input_tokens=1, output_tokens=2)
    )  # fmt: skip
    whole = StreamOut(Head(id="7", model="m")).whole(answer)
    status, refusal = refuse(400, "invalid_request", "It is missing.", argument="input")
    plain = [("content-type", "application/json")]
    async with (
        scripted_server([Reply([whole], headers=plain), Reply([refusal], status=status, headers=plain)]) as server,
        client_of(server) as client,
    ):
        response = await client.responses.create(**ASKED)
        assert (response.output_text, response.output[1].arguments, response.usage.output_tokens) == ("I look.", '{"x":1}', 2)
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(**ASKED)
        assert caught.value.param == "input"
