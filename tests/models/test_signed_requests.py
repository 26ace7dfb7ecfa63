"""`Model` with a provider that wants signatures, and binary streams: a whole tool round through the agent."""

from __future__ import annotations

import json

import pytest

from aws_bytes import aws_events, aws_exception
from bedrock_samples import INVOKE, call, delta, message, stop
from chat_bytes import NOON, StillClock
from headrace import Agent
from headrace.errors import APIError, AuthError, InvalidRequestError, OverloadedError, RateLimitError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.models.model import Model
from headrace.providers.signing import sign
from headrace.tools.tool import tool

AWS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG", "AWS_REGION": "eu-west-1"}
KEY = {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-key-123456", "AWS_REGION": "eu-west-1"}
URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.some.model-v1%3A0"
CALL = message(*call(0, "t1", "clock", '{"city":"Oslo"}'), reason="tool_use")
ANSWER = message(delta(0, {"text": "Noon."}), stop(0))


def model(*bodies, name="bedrock:us.some.model-v1:0", environ=KEY, **fields):
    replay = ReplayTransport([body if isinstance(body, Recorded) else Recorded(body=body) for body in bodies])
    return Model(name, transport=replay, clock=StillClock(), environ=environ, **fields), replay


@tool
def clock(city: str) -> str:
    """Tell the time."""
    return f"noon in {city}"


async def test_an_agent_calls_a_tool_over_binary_frames():
    asked, replay = model(CALL, ANSWER)
    result = await Agent(asked, tools=[clock]).run("What time is it in Oslo?")
    assert result.message.text == "Noon."
    first, second = replay.requests
    assert (first.method, first.url) == ("POST", f"{URL}/converse-stream")
    assert dict(first.headers)["authorization"] == "Bearer bedrock-key-123456"
    assert json.loads(second.body)["messages"][-1]["content"] == [
        {"toolResult": {"toolUseId": "t1", "content": [{"text": "noon in Oslo"}], "status": "success"}}
    ]


async def test_without_a_key_each_request_is_signed_at_its_time():
    pytest.importorskip("botocore", reason="the extra is missing: pip install 'headrace[bedrock]'")
    asked, replay = model(ANSWER, environ=AWS)
    assert (await asked.request("hi")).text == "Noon."
    (request,) = replay.requests
    headers = dict(request.headers)
    assert headers["x-amz-date"] == NOON.strftime("%Y%m%dT%H%M%SZ")
    unsigned = [(name, value) for name, value in request.headers if name not in ("authorization", "x-amz-date")]
    assert dict(sign("POST", request.url, unsigned, request.body, asked._endpoint.signing, now=NOON)) == headers
    assert "wJalrXUtnFEMI" not in repr((request, asked))


async def test_a_callers_own_authorization_is_not_signed_over():
    asked, replay = model(ANSWER, environ=AWS, headers={"Authorization": "Custom abc"})
    await asked.request("hi")
    assert dict(replay.requests[0].headers)["authorization"] == "Custom abc"
    assert "x-amz-date" not in dict(replay.requests[0].headers)


async def test_a_whole_answer_gives_the_same_message_as_the_stream():
    body = {"output": {"message": {"content": [{"text": "Noon."}]}}, "stopReason": "end_turn"}
    whole = Recorded(body=json.dumps(body).encode(), headers=(("content-type", "application/json"),))
    asked, replay = model(whole, ANSWER)
    first = await asked.request("hi", is_streamed=False)
    second = await asked.request("hi")
    assert replay.requests[0].url == f"{URL}/converse"
    assert (first.parts, first.finish_reason, first.provider) == (second.parts, second.finish_reason, "bedrock")


async def test_a_model_that_takes_messages_is_invoked():
    asked, replay = model(INVOKE["messages"], name="bedrock-messages:us.some.model-v1:0")
    answer = await asked.request("hi", tools=[clock])
    assert replay.requests[0].url == f"{URL}/invoke-with-response-stream"
    assert json.loads(replay.requests[0].body)["anthropic_version"] == "bedrock-2023-05-31"
    assert (answer.text, answer.finish_reason) == ("Hello.", "tool_calls")


async def test_a_throttled_request_is_the_error_of_its_status():
    refused = Recorded(body=b'{"message":"Too many requests"}', status=429, headers=(("content-type", "application/json"),))
    asked, _ = model(refused, retry=RetryPolicy(max_retries=0))
    with pytest.raises(RateLimitError, match="Too many requests"):
        await asked.request("hi")


@pytest.mark.parametrize(
    ("name", "kind", "is_retryable"),
    [
        ("throttlingException", RateLimitError, True),
        ("serviceUnavailableException", OverloadedError, True),
        ("validationException", InvalidRequestError, False),
        ("accessDeniedException", AuthError, False),
        ("modelStreamErrorException", APIError, True),
        ("internalServerException", APIError, True),
    ],
)
async def test_an_exception_in_the_stream_is_the_class_of_its_http_form(name, kind, is_retryable):
    asked, _ = model(aws_events(delta(0, {"text": "Hel"})) + aws_exception(name, {"message": "why"}))
    with pytest.raises(kind, match="why") as caught:
        await asked.request("hi")
    assert (caught.value.code, caught.value.retryable, caught.value.partial.text) == (name, is_retryable, "Hel")
