"""The agent against a real server, over each protocol that the server speaks: a tool call, its result, an answer."""

from __future__ import annotations

import pytest

from headrace import Agent, Model, ToolCallPart, tool
from headrace.agent.fold import fold
from headrace.models.local import LocalServer

CITIES = ("Berlin", "Paris", "London", "New York")  # so small a model picks by chance now and then: one right call of several will do


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
    agent = Agent(model, tools=[city_time], max_rounds=2, settings={"temperature": 0, "max_tokens": 60})
    has_called = False
    async with model:
        for city in CITIES:
            async with agent.stream(f"What time is it in {city}?") as run:
                events = [event async for event in run]
            result = run.result
            assert fold(events) == result.messages
            assert result.usage.output_tokens
            assert result.message.provider
            assert result.generate_reason in {"completed", "length", "max_rounds"}
            calls = [call for message in result.messages for call in message.parts_of(ToolCallPart)]
            if any((call.name, call.parsed) == ("city_time", {"city": city}) for call in calls):
                has_called = True
                assert f"09:14 ({city})" in [message.text for message in result.messages]
                break
    assert has_called
