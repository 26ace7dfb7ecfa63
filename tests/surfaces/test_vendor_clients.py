"""The vendor's own client reads runs: over HTTP, with its own accumulation, and its second request goes on where the first one ended."""

from __future__ import annotations

import openai
import pytest

from headrace.surfaces.openai_chat.events_out import ChatOut
from headrace.surfaces.openai_responses.events_out import ResponsesOut
from headrace.wire.server_side import Head
from servers import Reply, scripted_server
from surface_runs import said, with_error, with_external, with_question, with_tool

ASKED = {"model": "m", "messages": [{"role": "user", "content": "go"}]}


def client_of(server):
    return openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0)


async def completion_of(played):
    steps = said(ChatOut(Head(id="7", model="my-agent")), played.legs[0])
    async with (
        scripted_server([Reply(steps)]) as server,
        client_of(server) as client,
        client.chat.completions.stream(**ASKED, stream_options={"include_usage": True}) as stream,
    ):
        async for _ in stream:
            pass
        return await stream.get_final_completion()


async def response_of(played):
    steps = said(ResponsesOut("resp_1", "my-agent"), played.legs[-1], earlier=[event for leg in played.legs[:-1] for event in leg])
    async with (
        scripted_server([Reply(steps)]) as server,
        client_of(server) as client,
        client.responses.stream(model="m", input="go") as stream,
    ):
        kinds = [event.type async for event in stream]
        return await stream.get_final_response(), kinds


async def test_an_answer_of_chat_completions():
    completion = await completion_of(with_tool())
    (choice,) = completion.choices
    assert (choice.message.content, choice.finish_reason, completion.usage.total_tokens) == ("Let me look. \n\nCold.", "stop", 5)
    completion = await completion_of(with_external())
    (call,) = completion.choices[0].message.tool_calls
    assert (call.function.name, completion.choices[0].finish_reason) == ("look", "tool_calls")


async def test_an_error_of_chat_completions():
    with pytest.raises(openai.APIError, match="slow down"):
        await completion_of(with_error())


async def test_a_response():
    response, kinds = await response_of(with_tool())
    assert [item.type for item in response.output] == ["reasoning", "message", "mcp_call", "message"]
    assert response.output_text == "Let me look. Cold."
    assert kinds.count("response.mcp_call.completed") == 1


async def test_a_response_that_asks_and_the_one_that_goes_on():
    played = with_question()
    response, _ = await response_of(played)
    assert response.output[-1].type == "mcp_approval_request"
    played.resume(played.pending["pay"].approve())
    response, _ = await response_of(played)
    assert response.output_text == "Paid."
