"""Every protocol that is served, in front of every kind of upstream that a test has bytes of: the table alone decides."""

from __future__ import annotations

import json

import openai
import pytest

from chat_bytes import call_stream, chunk, text_stream, whole_body
from decoding_runs import decoded
from gateway_ground import PATHS, ground, question
from headrace.server.gateway.routes import ROUTES
from headrace.wire.protocols import WIRES
from messages_bytes import SAMPLES as MESSAGES
from servers import Close, Reply

SERVED = sorted({route.protocol for route in ROUTES if WIRES[route.protocol].serves})
MESSAGES_TEXT = MESSAGES["text"] if isinstance(MESSAGES["text"], bytes) else b"".join(MESSAGES["text"])
JSON_BODY = [("content-type", "application/json")]


def meaning(protocol, response):
    return decoded(response.content, protocol=protocol, content_type=response.headers["content-type"])[1].summary()


@pytest.mark.parametrize("protocol", SERVED)
async def test_text_and_calls_come_through(protocol):
    replies = [text_stream("Hello ", "there."), call_stream("clock", '{"zone":', '"UTC"}'), [MESSAGES_TEXT]]
    async with ground(*replies[:2]) as world:
        text, call = [meaning(protocol, await world.ask(protocol)) for _ in range(2)]
    async with ground(replies[2], protocol="anthropic-messages") as world:
        other = meaning(protocol, await world.ask(protocol))
    assert (text["text"], text["finish_reason"], text["error"]) == ("Hello there.", "stop", None)
    assert [(one["name"], one["arguments"], one["runnable"]) for one in call["tool_calls"]] == [("clock", {"zone": "UTC"}, True)]
    assert other["text"] == decoded(MESSAGES_TEXT, protocol="anthropic-messages")[1].summary()["text"]


@pytest.mark.parametrize("protocol", SERVED)
async def test_a_stream_that_dies_ends_with_an_error(protocol):
    async with ground([chunk({"content": "half"}), Close()]) as world:
        summary = meaning(protocol, await world.ask(protocol))
    assert summary["text"] == "half"
    assert "broke" in summary["error"]["message"]


@pytest.mark.parametrize("protocol", SERVED)
async def test_a_refusal_before_the_first_word_is_a_status(protocol):
    async with ground(Reply([b'{"error": {"message": "slow down"}}'], status=429, headers=JSON_BODY)) as world:
        response = await world.ask(protocol)
    assert (response.status_code, "slow down" in response.text) == (429, True)


@pytest.mark.parametrize("protocol", SERVED)
async def test_a_whole_answer_is_one_body(protocol):
    path = PATHS[protocol].replace("streamGenerateContent?alt=sse", "generateContent")
    body = {name: value for name, value in question(protocol).items() if name != "stream"}
    async with ground(Reply([whole_body("Hello.")], headers=JSON_BODY)) as world:
        response = await world.client.post(path, json=body)
    assert response.headers["content-type"] == "application/json"
    assert meaning(protocol, response)["text"] == "Hello."
    assert json.loads(world.up.requests[0].body)["model"] == "mine"


async def test_a_stream_may_be_one_array():
    async with ground(text_stream("a", "b")) as world:
        response = await world.client.post(PATHS["gemini"].removesuffix("?alt=sse"), json=question("gemini"))
    assert response.headers["content-type"] == "application/json"
    pieces = [part.get("text", "") for event in response.json() for part in event["candidates"][0].get("content", {}).get("parts", [])]
    assert "".join(pieces) == "ab"


async def test_the_vendors_client_of_responses_talks_to_a_chat_upstream():
    stream = call_stream("clock", '{"zone":', '"UTC"}')
    async with (
        ground(stream) as world,
        openai.AsyncOpenAI(base_url=f"{world.served.url}/v1", api_key="any", max_retries=0) as client,
        client.responses.stream(model="mine", input="hi") as events,
    ):
        async for _ in events:
            pass
        response = await events.get_final_response()
    (call,) = response.output
    assert (call.type, call.name, json.loads(call.arguments), response.model, response.status) == (
        "function_call",
        "clock",
        {"zone": "UTC"},
        "mine",
        "completed",
    )
