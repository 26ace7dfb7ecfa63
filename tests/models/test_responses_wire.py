"""Models and agents over the Responses protocol: what is sent where, a tool round to its answer, and the real server of llama.cpp."""

from __future__ import annotations

import json

import pytest

from chat_bytes import StillClock
from headrace.agent.agent import Agent
from headrace.errors import RateLimitError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, RefusalPart, ToolCallPart
from headrace.models.local import LocalServer
from headrace.models.model import Model
from headrace.tools.tool import tool
from responses_bytes import SAMPLES, call, ended, message, reasoning, started

KEY = "sk-very-secret-key-123456"


@tool
def clock(city: str) -> str:
    """Tell the time in a city.

    Args:
        city: the city.
    """
    return f"noon in {city}"


def model(model_id, *bodies, **fields):
    replay = ReplayTransport([body if isinstance(body, Recorded) else Recorded(body=body) for body in bodies])
    return Model(model_id, api_key=KEY, transport=replay, clock=StillClock(), environ={}, **fields), replay


async def test_an_agent_takes_a_tool_round_to_its_answer_and_thinking_goes_back():
    first = started() + reasoning(0, "Let me look.") + call(1, "clock", '{"city":', '"Oslo"}') + ended()
    speaking, replay = model("openai:gpt-5-mini", first, started() + message(0, "It is", " noon.") + ended())
    outcome = await Agent(speaking, tools=[clock], instructions="Be brief.").run("What time is it in Oslo?")
    assert outcome.message.text == "It is noon."
    assert outcome.usage.input_tokens == 40
    assert [request.url for request in replay.requests] == ["https://api.openai.com/v1/responses"] * 2
    assert dict(replay.requests[0].headers)["authorization"] == f"Bearer {KEY}"
    body = json.loads(replay.requests[1].body)
    assert (body["instructions"], body["include"]) == ("Be brief.", ["reasoning.encrypted_content"])
    assert [item.get("type", "message") for item in body["input"]] == ["message", "reasoning", "function_call", "function_call_output"]
    assert (body["input"][1]["encrypted_content"], body["input"][3]["output"]) == ("gAAA=", "noon in Oslo")


async def test_only_models_that_think_are_asked_for_encrypted_thinking():
    for name, asked in (("gpt-4o", False), ("gpt-5-chat-latest", False), ("o4-mini", True), ("gpt-5.1-codex", True), ("codex-mini", True)):
        speaking, replay = model(f"openai:{name}", SAMPLES["text"])
        assert (await speaking.request("?")).text == "Hello"
        assert ("include" in json.loads(replay.requests[0].body)) == asked


async def test_an_answer_that_is_not_streamed_is_the_same_message():
    speaking, _ = model("openai:gpt-5", SAMPLES["one whole answer"])
    answer = await speaking.request("?", is_streamed=False)
    assert (answer.text, answer.reasoning, answer.provider, answer.finish_reason) == ("Hi", "Why.", "openai", "tool_calls")


@pytest.mark.parametrize(
    "body", [SAMPLES["error"], Recorded(body=b'{"error":{"message":"slow down","code":"rate_limit_exceeded"}}', status=429)]
)
async def test_an_error_is_of_the_same_class_inside_of_a_stream_and_before_it(body):
    speaking, _ = model("xai-responses:grok-4", body, retry=RetryPolicy(max_retries=0))
    with pytest.raises(RateLimitError, match="slow down"):
        await speaking.request("?")


@pytest.fixture(scope="module")
async def server(local_weights):
    async with LocalServer.open("smollm2", template="strict", threads=1) as running:
        yield running


async def test_llama_cpp_takes_every_shape_of_history_and_calls_a_tool(server):
    async with Model("openai-responses:smollm2", base_url=server.base_url, api_key=server.api_key) as speaking:
        thinking = ReasoningPart("hm", provider_data={"id": "rs_1", "field": "content"})
        first = ToolCallPart(id="call_1", name="clock", arguments='{"city": "Oslo"}', provider_data={"id": "fc_1"})
        history = [
            SystemMessage("Be brief."),
            UserMessage("What time is it in Oslo?"),
            AssistantMessage([thinking, first, ToolCallPart(id="call_2", name="clock", arguments='{"city":')], provider=speaking.provider),
            ToolMessage("noon", call_id="call_1"),
            AssistantMessage(["It is noon.", RefusalPart("No more.")], provider=speaking.provider),
            SystemMessage("Hurry."),
            UserMessage("What time is it in Berlin?"),
        ]
        answer = await speaking.request(history, tools=[clock], tool_choice="required", settings={"max_tokens": 60})
        assert {call.name for call in answer.tool_calls} == {"clock"}
        assert answer.finish_reason in {"tool_calls", "length"}
        whole = await speaking.request("Say hello.", settings={"max_tokens": 8}, is_streamed=False)
        assert whole.text
        assert 0 < whole.usage.output_tokens <= 8
