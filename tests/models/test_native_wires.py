"""Models and agents over Cohere v2, Ollama and DashScope: what is sent where, and a tool round to its answer."""

from __future__ import annotations

import json

import pytest

from chat_bytes import StillClock
from headrace.agent.agent import Agent
from headrace.errors import RateLimitError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.models.model import Model
from headrace.tools.tool import tool
from wire_bytes import cohere_block, cohere_call, cohere_stream, dumped, last_line, line, result, said, said_texts

KEY = "sk-very-secret-key-123456"
ONE_CALL = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "clock", "arguments": '{"city":"Oslo"}'}}]}
WIRES = {
    "cohere:command": (
        "https://api.cohere.com/v2/chat",
        cohere_stream(*cohere_call(0, "clock", '{"city":', '"Oslo"}', identifier="c1"), finish="TOOL_CALL"),
        cohere_stream(*cohere_block(0, "text", "It is", " noon.")),
    ),
    "ollama-native:qwen3:4b": (
        "http://localhost:11434/api/chat",
        line({"tool_calls": [{"function": {"name": "clock", "arguments": {"city": "Oslo"}}}]}) + last_line(),
        line({"content": "It is"}) + line({"content": " noon."}) + last_line(),
    ),
    "dashscope:qwen-plus": (
        "https://dashscope.aliyuncs.com/api/v1/services/aigc/text-generation/generation",
        said({"content": "", **ONE_CALL}, "tool_calls"),
        b"".join(said_texts("It is", " noon.")),
    ),
}


@tool
def clock(city: str) -> str:
    """Tell the time."""
    return f"noon in {city}"


def model(model_id, *bodies, **fields):
    replay = ReplayTransport([body if isinstance(body, Recorded) else Recorded(body=body) for body in bodies])
    return Model(model_id, api_key=KEY, transport=replay, clock=StillClock(), environ={}, **fields), replay


@pytest.mark.parametrize("model_id", WIRES)
async def test_an_agent_takes_a_tool_round_to_its_answer(model_id):
    url, first, second = WIRES[model_id]
    speaking, replay = model(model_id, first, second)
    outcome = await Agent(speaking, tools=[clock]).run("What time is it in Oslo?")
    assert outcome.message.text == "It is noon."
    assert [request.url for request in replay.requests] == [url, url]
    assert dict(replay.requests[0].headers)["authorization"] == f"Bearer {KEY}"
    body = json.loads(replay.requests[1].body)
    call, answer = body.get("input", body)["messages"][-2:]
    assert call["tool_calls"][0]["function"]["name"] == "clock"
    assert (answer["role"], answer["content"]) == ("tool", "noon in Oslo")


@pytest.mark.parametrize(
    ("model_id", "body"),
    [
        (
            "cohere:m",
            dumped({"id": "x", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}}),
        ),
        ("ollama-native:m", last_line(message={"content": "Hi"})),
        ("dashscope:m", dumped({"output": {"choices": [{"finish_reason": "stop", "message": {"content": "Hi"}}]}, "request_id": "r"})),
    ],
)
async def test_an_answer_that_is_not_streamed_is_the_same_message(model_id, body):
    speaking, _ = model(model_id, body)
    message = await speaking.request("?", is_streamed=False)
    assert (message.text, message.provider, message.finish_reason) == ("Hi", model_id.partition(":")[0], "stop")


@pytest.mark.parametrize(
    ("model_id", "body"),
    [
        ("cohere:m", b'{"message":"trial key: too many requests"}'),
        ("ollama-native:m", b'{"error":"too many requests"}'),
        ("dashscope:m", b'{"code":"Throttling","message":"too many requests","request_id":"r"}'),
        ("dashscope:m", result({"code": "Throttling", "message": "too many requests"}, event="error", status=429)),
    ],
)
async def test_a_refused_request_is_an_error_of_its_class(model_id, body):
    speaking, _ = model(model_id, Recorded(body=body, status=429), retry=RetryPolicy(max_retries=0))
    with pytest.raises(RateLimitError, match="too many requests"):
        await speaking.request("?")


async def test_an_error_inside_of_a_stream_is_of_the_same_class():
    refused = said({"content": "It"}) + result({"code": "Throttling", "message": "slow"}, event="error", status=429)
    speaking, _ = model("dashscope:m", refused)
    with pytest.raises(RateLimitError) as caught:
        await speaking.request("?")
    assert caught.value.partial.text == "It"
