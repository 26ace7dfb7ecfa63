"""The agent against a real server, over each protocol that the server speaks: a tool call, its result, an answer."""

from __future__ import annotations

import pytest

from headrace import Agent, Model, ToolCallPart, tool
from headrace.agent.fold import fold
from headrace.models.local import LocalServer

QUESTION = "What time is it in Berlin?"


@tool
def city_time(city: str) -> str:
    """Get the current time in a city.

    Args:
        city: The name of the city.
    """
    return f"09:14 ({city})"


@pytest.fixture(scope="module")
def server(local_weights):
    server = LocalServer.start("smollm2", threads=1)
    yield server
    server.stop()


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic-messages", "openai-responses"])
async def test_a_tool_is_called_and_an_answer_comes(server, protocol):
    model = Model(f"{protocol}:{server.model}", base_url=server.base_url, api_key=server.api_key)
    agent = Agent(model, tools=[city_time], settings={"temperature": 0, "max_tokens": 60})
    async with model, agent.stream(QUESTION) as run:
        events = [event async for event in run]
    _, asked, answered, *_ = run.result.messages
    (call,) = asked.parts_of(ToolCallPart)
    assert (call.name, call.parsed) == ("city_time", {"city": "Berlin"})
    assert answered.text == "09:14 (Berlin)"
    assert run.result.message.text
    assert run.result.generate_reason in {"completed", "length"}
    assert run.result.usage.output_tokens
    assert fold(events) == run.result.messages
    assert run.result.message.provider
