"""Models and agents over generateContent and interactions: what is sent where, and a tool round to its answer."""

from __future__ import annotations

import json

import pytest

from chat_bytes import StillClock
from gemini_bytes import call as called
from gemini_bytes import candidate, completed, created, delta, event, start, stop, stopped, stream, text
from headrace.agent.agent import Agent
from headrace.errors import ConfigError, OverloadedError, RateLimitError, StreamTruncatedError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.models.model import Model
from headrace.tools.tool import tool

KEY = "AIza-very-secret-key-123456"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta"
VERTEX = "https://aiplatform.googleapis.com/v1/publishers/google"
ROUND = (stream((called(args={"city": "Oslo"}, signature="QQ=="),), stop()), stream((text("It is"),), stop(text(" noon."))))


@tool
def clock(city: str) -> str:
    """Tell the time."""
    return f"noon in {city}"


def model(model_id, *bodies, **fields):
    replay = ReplayTransport([body if isinstance(body, Recorded) else Recorded(body=body) for body in bodies])
    return Model(model_id, transport=replay, clock=StillClock(), **{"api_key": KEY, "environ": {}, **fields}), replay


@pytest.mark.parametrize(
    ("model_id", "url"),
    [
        ("google:gemini-3-flash", f"{GOOGLE}/models/gemini-3-flash:streamGenerateContent?alt=sse"),
        ("gemini:gemini-2.5-flash", f"{GOOGLE}/models/gemini-2.5-flash:streamGenerateContent?alt=sse"),
        ("vertex:gemini-3-flash", f"{VERTEX}/models/gemini-3-flash:streamGenerateContent?alt=sse"),
    ],
)
async def test_an_agent_takes_a_tool_round_to_its_answer_and_the_signature_goes_back(model_id, url):
    speaking, replay = model(model_id, *ROUND)
    outcome = await Agent(speaking, tools=[clock]).run("What time is it in Oslo?")
    assert outcome.message.text == "It is noon."
    assert [request.url for request in replay.requests] == [url, url]
    assert dict(replay.requests[0].headers)["x-goog-api-key"] == KEY
    assert "authorization" not in dict(replay.requests[0].headers)
    answer, result = json.loads(replay.requests[1].body)["contents"][-2:]
    assert answer["parts"] == [{"functionCall": {"name": "clock", "args": {"city": "Oslo"}}, "thoughtSignature": "QQ=="}]
    assert result["parts"] == [{"functionResponse": {"name": "clock", "response": {"output": "noon in Oslo"}}}]


@pytest.mark.parametrize("model_id", ["google-interactions:gemini-3-flash", "gemini-interactions:gemini-3-flash"])
async def test_an_agent_takes_a_tool_round_over_interactions(model_id):
    first = (
        created() + start(0, "function_call", id="f1", name="clock", arguments={"city": "Oslo"}) + stopped(0) + completed("requires_action")
    )
    second = created() + start(0, "model_output") + delta(0, "text", text="It is noon.") + stopped(0) + completed()
    speaking, replay = model(model_id, first, second)
    outcome = await Agent(speaking, tools=[clock]).run("What time is it in Oslo?")
    assert outcome.message.text == "It is noon."
    assert [request.url for request in replay.requests] == [f"{GOOGLE}/interactions"] * 2
    assert dict(replay.requests[0].headers)["x-goog-api-key"] == KEY
    assert json.loads(replay.requests[1].body)["input"][-2:] == [
        {"type": "function_call", "id": "f1", "name": "clock", "arguments": {"city": "Oslo"}},
        {"type": "function_result", "call_id": "f1", "name": "clock", "result": "noon in Oslo"},
    ]


async def test_an_answer_that_is_not_streamed_is_the_same_message():
    speaking, replay = model("google:m", json.dumps(stop(text("Hi"))).encode())
    message = await speaking.request("?", is_streamed=False)
    assert (message.text, message.provider, message.finish_reason) == ("Hi", "google", "stop")
    assert replay.requests[0].url == f"{GOOGLE}/models/m:generateContent"


@pytest.mark.parametrize(
    "body", [b'[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]', b'{"error":{"code":429,"message":"quota"}}']
)
async def test_a_refused_request_is_an_error_of_its_class(body):
    speaking, _ = model("google:m", Recorded(body=body, status=429), retry=RetryPolicy(max_retries=0))
    with pytest.raises(RateLimitError, match="quota"):
        await speaking.request("?")


async def test_an_error_inside_of_a_stream_is_of_the_same_class():
    busy = stream((text("It"),)) + event({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}})
    speaking, _ = model("google:m", busy)
    with pytest.raises(OverloadedError) as caught:
        await speaking.request("?")
    assert caught.value.partial.text == "It"


async def test_a_stream_without_a_finish_word_is_cut():
    speaking, _ = model("google:m", event(candidate(text("It"))))
    with pytest.raises(StreamTruncatedError):
        await speaking.request("?")


def test_a_key_that_is_missing_is_asked_for_by_its_name():
    with pytest.raises(ConfigError, match="GEMINI_API_KEY"):
        model("google:m", api_key=None)
    speaking, _ = model("google:m", api_key=None, environ={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": "https://proxy.example"})
    assert repr(speaking) == "Model('google:m', base_url='https://proxy.example/v1beta')"
