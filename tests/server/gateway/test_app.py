"""The gateway over real sockets: who is let in, where requests go, and what is refused, in the client's own form."""

from __future__ import annotations

import asyncio
import json

import pytest
from msgspec.structs import replace

import wire_bytes
from chat_bytes import text_stream, whole_body
from gateway_ground import KEY, PATHS, asked, datas, ground, opened, upstream
from headrace.server.keys import hash_of, new_key
from headrace.wire.protocols import WIRES
from messages_bytes import SAMPLES as MESSAGES
from servers import Hold, Reply, free_port, scripted_server

JSON_BODY = [("content-type", "application/json")]
SERVED = ["openai-chat", "anthropic-messages"]


def said(response):
    """The words of an error, wherever its protocol has them."""
    return response.json()["error"]["message"]


# ---------------------------------------------------------------------------------------------- the way through


async def test_a_stream_comes_through_with_the_clients_own_name_of_the_model():
    async with ground(text_stream("He", "llo"), settings={"models": {"mine": "theirs"}}) as world:
        response = await world.ask()
    assert response.headers["content-type"] == "text/event-stream"
    events = datas(response.text)
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events[:-1] if event["choices"]) == "Hello"
    assert {event["model"] for event in events[:-1]} == {"mine"}
    (request,) = world.up.requests
    assert json.loads(request.body)["model"] == "theirs"
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_members_that_have_no_neutral_word_go_to_an_upstream_of_the_same_protocol_alone():
    async with ground(text_stream("a"), text_stream("a")) as world:
        same = await world.ask(logit_bias={"50256": -100})
        other = await world.ask("anthropic-messages", mystery=[1, 2])
    bodies = [json.loads(request.body) for request in world.up.requests]
    assert bodies[0]["logit_bias"] == {"50256": -100}
    assert "mystery" not in bodies[1]
    assert "dropped_for_provider" not in same.text
    assert ": headrace: dropped_for_provider x1\n\n" in other.text


async def test_an_upstreams_protocol_is_meant_also_where_a_provider_is_called_the_same():
    lines = wire_bytes.line({"content": "Hel"}) + wire_bytes.last_line("stop", {"content": "lo"})
    async with scripted_server([Reply([lines], headers=[("content-type", "application/x-ndjson")])]) as up:
        values = {"upstreams": [{"name": "up", "base_url": up.url, "protocol": "ollama"}]}
        async with opened(values, environ={"OLLAMA_API_KEY": KEY}) as (_, client):
            response = await client.post(PATHS["openai-chat"], json=asked())
    events = [event for event in datas(response.text) if event != "[DONE]" and event["choices"]]
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events) == "Hello"
    (request,) = up.requests
    assert (request.path, request.headers.get("authorization")) == ("/api/chat", None)


@pytest.mark.parametrize("protocol", SERVED)
async def test_an_answer_that_is_not_streamed_is_one_body(protocol):
    async with ground(Reply([whole_body("Hello.", usage=None)], headers=JSON_BODY)) as world:
        response = await world.ask(protocol, stream=False)
    body = response.json()
    assert (response.status_code, body["model"]) == (200, "mine")
    assert "Hello." in response.text
    assert json.loads(world.up.requests[0].body).get("stream") is not True


async def test_every_answer_has_an_id_of_its_own():
    async with ground(text_stream("a"), text_stream("b")) as world:
        ids = [(await world.ask()).headers["x-request-id"] for _ in range(2)]
    assert len(set(ids)) == 2


async def test_a_protocol_that_is_not_served_yet_is_refused_and_does_not_hurt(monkeypatch):
    monkeypatch.setitem(WIRES, "gemini", replace(WIRES["gemini"], serves=False))
    async with ground() as world:
        response = await world.client.post("/v1beta/models/m:streamGenerateContent", json={"contents": []})
    assert (response.status_code, "not serve gemini" in said(response)) == (501, True)


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", "/nowhere", {}, b"", 404),
        ("GET", "/v1/chat/completions", {}, b"", 405),
        ("POST", "/v1/models", {}, b"", 405),
        ("POST", "/v1/chat/completions", {"content-type": "text/plain"}, b"{}", 415),
        ("POST", "/v1/messages", {"content-type": "application/json", "content-encoding": "gzip"}, b"{}", 415),
        ("POST", "/v1/chat/completions", {"content-type": "application/json"}, b"{", 400),
        ("POST", "/v1/messages", {"content-type": "application/json"}, b"[]", 400),
        ("POST", "/v1/chat/completions", {"content-type": "application/json"}, b'{"model": "m", "messages": 7}', 400),
        ("POST", "/v1/messages", {"content-type": "application/json"}, b"x" * 3000, 413),
    ],
)
async def test_what_cannot_be_read_is_refused(method, path, headers, body, status):
    async with ground(limits={"max_body_bytes": 2048}) as world:
        response = await world.client.request(method, path, headers=headers, content=body)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/json")
    assert said(response)
    assert (status == 405) == ("allow" in response.headers)


async def test_a_body_that_does_not_say_how_long_it_is_is_bounded_too():
    async def pieces():
        for _ in range(20):
            yield b"x" * 500

    async with ground(limits={"max_body_bytes": 2048}) as world:
        response = await world.client.post("/v1/messages", content=pieces(), headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["type"]) == (413, "error")


HOSTILE = {
    "deep": b"[" * 100_000,
    "deep inside": b'{"model": "m", "messages": ' + b'[{"a":' * 5_000 + b"1" + b"}]" * 5_000 + b"}",
    "half a character": rb'{"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "\ud800"}], "x": "\ud800"}',
    "no UTF-8": b'{"model": "m\xff", "messages": []}',
    "a number out of range": b'{"model": "m", "max_tokens": 1e400, "messages": [{"role": "user", "content": "a"}]}',
    "a huge number": b'{"model": "m", "max_tokens": ' + b"9" * 5000 + b', "messages": [{"role": "user", "content": "a"}]}',
    "no object": b"7",
    "nothing": b"",
    "another type": b'{"model": ["m"], "messages": {}}',
    "a blank model": b'{"model": "  ", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}]}',
    "a model like an address": b'{"model": "../../x?y#z\\r\\nh: v", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}]}',
    "a call without a result": b'{"model": "m", "max_tokens": 5, "messages": [{"role": "tool", "tool_call_id": "x", "content": "a"}]}',
}


@pytest.mark.parametrize("protocol", PATHS)
async def test_hostile_bodies_are_answered_and_never_a_fault(protocol):
    statuses = {}
    async with ground(*[text_stream("a")] * 2 * len(HOSTILE)) as world:
        for name, body in HOSTILE.items():
            response = await world.client.post(PATHS[protocol], content=body, headers={"content-type": "application/json"})
            statuses[name] = response.status_code
    assert {name: status for name, status in statuses.items() if status not in (200, 400, 404)} == {}
    assert [statuses[name] for name in ("deep", "no UTF-8", "no object", "nothing")] == [400] * 4


async def test_a_model_that_nobody_has_is_not_found():
    async with ground(settings={"models": {"known": "x", "team-*": "*"}}) as world:
        response = await world.ask(model="other")
    assert (response.status_code, response.json()["error"]["param"]) == (404, "model")
    assert "other" in said(response)


async def test_other_hosts_are_refused():
    """A web page that made its own name lead here (DNS rebinding) gets nothing."""
    async with ground(allowed_hosts=["gate.example"]) as world:
        answers = {
            host: (await world.client.get("/healthz", headers={"host": host})).status_code
            for host in ("evil.example", "gate.example:9", "localhost:1", "127.0.0.1")
        }
    assert answers == {"evil.example": 421, "gate.example:9": 200, "localhost:1": 200, "127.0.0.1": 200}


@pytest.mark.parametrize("protocol", SERVED)
@pytest.mark.parametrize(
    ("status", "headers", "expected", "retry_after"),
    [
        (400, (), 400, None),
        (401, (), 502, None),
        (404, (), 404, None),
        (429, [("retry-after", "7")], 429, "7"),
        (503, [("retry-after", "2")], 503, "2"),
        (500, (), 502, None),
    ],
)
async def test_an_upstreams_refusal_keeps_its_status_where_the_client_is_to_act(protocol, status, headers, expected, retry_after):
    reply = Reply([b'{"error": {"message": "no, because", "type": "x"}}'], status=status, headers=[*JSON_BODY, *headers])
    async with ground(reply) as world:
        response = await world.ask(protocol)
    assert (response.status_code, response.headers.get("retry-after")) == (expected, retry_after)
    assert said(response).startswith("the upstream up")
    assert ("no, because" in said(response)) == (status != 401)


async def test_an_upstream_that_cannot_be_reached_is_a_bad_gateway_without_its_address():
    port = free_port()
    async with opened({"upstreams": [upstream(f"http://127.0.0.1:{port}")]}) as (_, client):
        response = await client.post(PATHS["openai-chat"], json=asked())
    assert response.status_code == 502
    assert said(response) == "the upstream up cannot be reached"
    assert str(port) not in response.text


async def test_a_fault_of_the_gateways_own_is_a_500_that_says_nothing_of_the_content(monkeypatch, caplog):
    async with ground() as world:
        monkeypatch.setattr(world.served.gateway, "_ask", None)
        response = await world.ask(messages=[{"role": "user", "content": "private words"}])
    assert response.status_code == 500
    assert response.headers["x-request-id"] in said(response)
    assert "fault:TypeError" in caplog.text
    assert "private words" not in caplog.text + response.text


# ---------------------------------------------------------------------------------------------- clients


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-goog-api-key"])
async def test_a_clients_key_is_taken_from_each_header_that_clients_use(header):
    key = new_key()
    async with ground(text_stream("a"), clients=[{"name": "web", "key_sha256": hash_of(key)}]) as world:
        good = await world.ask(headers={header: f"Bearer {key}" if header == "authorization" else key})
        bad = await world.ask(headers={header: "Bearer wrong"})
        none = await world.client.get("/v1/models")
        open_to_all = await world.client.get("/healthz")
        metrics = await world.client.get("/metrics", headers={header: f"Bearer {key}" if header == "authorization" else key})
    assert [good.status_code, bad.status_code, none.status_code, open_to_all.status_code] == [200, 401, 401, 200]
    assert bad.headers["www-authenticate"] == "Bearer"
    assert 'requests_total{protocol="openai-chat",client="web",status="200"} 1' in metrics.text
    assert key not in str(world.up.requests)


async def test_a_client_may_have_so_many_requests_open_and_no_more():
    key, go = new_key(), asyncio.Event()
    client = {"name": "web", "key_sha256": hash_of(key), "max_open": 1}
    first = Reply([text_stream("a")[0], text_stream("a")[1], Hold(go), *text_stream("a")[2:]])
    async with ground(first, text_stream("b"), clients=[client]) as world:
        headers = {"x-api-key": key}
        async with world.client.stream("POST", PATHS["openai-chat"], json=asked(), headers=headers) as response:
            lines = response.aiter_lines()
            await anext(lines)
            refused = await world.ask("anthropic-messages", headers=headers)
            go.set()
            async for _ in lines:
                pass
        later = await world.ask(headers=headers)
    assert (refused.status_code, refused.json()["error"]["type"], refused.headers["retry-after"]) == (429, "rate_limit_error", "1")
    assert later.status_code == 200


# ---------------------------------------------------------------------------------------------- several upstreams


async def test_the_next_upstream_is_asked_where_one_fails_before_its_first_word():
    failing = Reply([b'{"error": {"message": "full"}}'], status=503, headers=[*JSON_BODY, ("retry-after", "30")])
    async with scripted_server([failing]) as one, scripted_server([[_text_body()]] * 2) as two:
        values = {"upstreams": [upstream(one.url, "one"), upstream(two.url, "two", "anthropic-messages", weight=0)]}
        async with opened(values) as (served, client):
            first = await client.post(PATHS["openai-chat"], json=asked(logit_bias={}))
            whole = await client.post(PATHS["anthropic-messages"], json=asked())
            metrics = served.gateway.metrics
    assert [first.status_code, whole.status_code] == [200, 200]
    assert len(one.requests) == 1, "the second time it is left alone, as it asked"
    assert metrics.upstream_errors.value("one", "OverloadedError") == 1
    assert metrics.chunks.value("two") > 0


async def test_an_upstream_without_capacity_several_times_in_a_row_is_left_alone():
    broken = Reply([b'{"error": {"message": "no"}}'], status=503, headers=JSON_BODY)
    async with scripted_server([broken] * 8) as one, scripted_server([text_stream("a")] * 8) as two:
        values = {"upstreams": [upstream(one.url, "one"), upstream(two.url, "two", weight=0)]}
        async with opened(values) as (_, client):
            answers = [await client.post(PATHS["openai-chat"], json=asked()) for _ in range(8)]
    assert {answer.status_code for answer in answers} == {200}
    assert (len(one.requests), len(two.requests)) == (5, 8)


def _text_body():
    body = MESSAGES["text"]
    return body if isinstance(body, bytes) else b"".join(body)


async def test_weights_say_who_is_asked_first():
    draws = iter([0.9, 0.1, 0.1, 0.9])
    async with scripted_server([text_stream("a")]) as one, scripted_server([text_stream("b")]) as two:
        values = {"upstreams": [upstream(one.url, "one"), upstream(two.url, "two")]}
        async with opened(values, chance=lambda: next(draws)) as (_, client):
            texts = [(await client.post(PATHS["openai-chat"], json=asked())).text for _ in range(2)]
    assert ['"a"' in texts[0], '"b"' in texts[1]] == [True, True]


async def test_an_upstream_that_lacks_what_is_asked_is_passed_over():
    """`n` is a word that one protocol has and the other lacks: whoever has it is asked."""
    async with scripted_server([[_text_body()]]) as one, scripted_server([text_stream("b")]) as two:
        values = {"upstreams": [upstream(one.url, "one", "anthropic-messages"), upstream(two.url, "two", weight=0)]}
        async with opened(values) as (_, client):
            response = await client.post(PATHS["openai-chat"], json=asked(n=2))
    assert response.status_code == 200


# ---------------------------------------------------------------------------------------------- looking


async def test_models_are_those_of_the_config_and_of_upstreams_that_pass_names_on():
    listed = Reply([b'{"data": [{"id": "a"}, {"id": "b"}, {"id": 7}]}'], headers=JSON_BODY)
    async with scripted_server([listed]) as one, scripted_server([]) as two:
        values = {"upstreams": [upstream(one.url, "one"), upstream(two.url, "two", models={"small": "x"})]}
        async with opened(values) as (_, client):
            body = (await client.get("/v1/models")).json()
            again = (await client.get("/v1/models")).json()
            single = (await client.get("/v1/models/small")).json()
    assert [entry["id"] for entry in body["data"]] == ["a", "b", "small"]
    assert (body, single["object"], len(one.requests), two.requests) == (again, "model", 1, [])
    assert one.requests[0].path == "/v1/models"


async def test_an_upstream_that_does_not_list_its_models_spoils_no_list():
    async with ground(Reply([b"<html>"], status=200)) as world:
        response = await world.client.get("/v1/models")
    assert (response.status_code, response.json()["data"]) == (200, [])


async def test_metrics_count_what_passed():
    calls = [
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}\n\n'
    ]
    async with ground(calls, Reply([b"{}"], status=400, headers=JSON_BODY)) as world:
        await world.ask()
        await world.ask("anthropic-messages")
        await world.ask(messages=[])
        samples = await world.metrics()
    at = "headrace_gateway_"
    assert samples[at + 'requests_total{protocol="openai-chat",client="",status="200"}'] == 1
    assert samples[at + 'requests_total{protocol="anthropic-messages",client="",status="400"}'] == 1
    assert samples[at + 'requests_total{protocol="openai-chat",client="",status="400"}'] == 1
    assert samples[at + 'repairs_total{upstream="up",code="missing_tool_id"}'] == 1
    assert samples[at + 'upstream_errors_total{upstream="up",error="InvalidRequestError"}'] == 1
    assert samples[at + 'open_requests{protocol="openai-chat"}'] == 0
    assert samples[at + 'first_chunk_seconds_count{upstream="up"}'] == 1
    assert samples[at + 'sent_bytes_total{protocol="openai-chat"}'] > 100


async def test_metrics_are_no_place_for_a_clients_words():
    async with ground() as world:
        await world.ask(model='evil"} 1\nx')
        await world.client.post("/v1/evil", json={})
        text = (await world.client.get("/metrics")).text
    assert "evil" not in text
