"""Whatever a body, a path or a query holds: never a fault of our own, and always an answer of the contract's form."""

from __future__ import annotations

import asyncio
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app_ground import app_ground

SEEDS = [
    ("POST", "/runs", {"input": "hello", "session_id": "s", "run_id": "r", "permissions": "default"}),
    ("POST", "/runs", {"input": [{"type": "text", "text": "x"}, {"type": "media", "kind": "image", "media_type": "image/png", "data": "AAAA"}]}),
    ("POST", "/runs", {"input": [{"role": "user", "parts": [{"type": "text", "text": "x"}]}, {"role": "tool", "parts": [{"type": "tool_result", "call_id": "c"}]}]}),
    ("POST", "/runs/w/resume", {"answers": [{"kind": "approve", "call_key": "k", "arguments": {"to": "x"}, "digest": "d", "rules": ["allow pay(to=x)"]}]}),
    ("POST", "/runs/w/resume", {"answers": [{"kind": "answer", "call_key": "k", "value": {"a": [1]}, "is_error": True}, {"kind": "deny", "call_key": "k"}]}),
    ("POST", "/runs/w/steer", {"content": [{"type": "text", "text": "x"}]}),
    ("PATCH", "/sessions/s", {"title": "x"}),
    ("POST", "/sessions/s/fork", {"at": 1, "id": "copy"}),
    ("POST", "/agui", {"threadId": "t", "runId": "a", "messages": [{"id": "m", "role": "user", "content": "x"}], "tools": [], "resume": [{"interruptId": "i", "status": "resolved"}]}),
    ("POST", "/api/chat", {"id": "c", "trigger": "submit-message", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "x"}]}]}),
    ("POST", "/api/chat", {"id": "c", "messages": [{"id": "m", "role": "assistant", "parts": [{"type": "tool-pay", "toolCallId": "k", "state": "approval-responded", "input": {}, "approval": {"id": "d", "approved": True}}]}]}),
    ("POST", "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}),
    ("POST", "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "y"}]}),
    ("POST", "/v1/responses", {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}], "background": True, "previous_response_id": None}),
    ("POST", "/v1/responses", {"model": "m", "input": [{"type": "mcp_approval_response", "approval_request_id": "mcpr_x", "approve": True}]}),
]  # fmt: skip
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8), st.just(""), st.just([]), st.just({}),
    st.just("\u0000"), st.just("../.."), st.just("x" * 5000), st.just([[[[]]]]), st.just({"role": "user"}), st.just("data:image/png;base64,@"),
)  # fmt: skip
RAW = st.one_of(
    st.binary(max_size=60), st.just(b"[" * 5000), st.just(b'{"input": "\\ud800"}'), st.just(b'{"input": 1e999}'), st.just(b"\xff")
)


def places(value, path=()):
    """Every place in a value, as a path."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


@st.composite
def bent(draw):
    """A request that was good, with something else at one or two of its places."""
    method, path, body = draw(st.sampled_from(SEEDS))
    body = json.loads(json.dumps(body))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.sampled_from(list(places(body))))
        what = draw(st.sampled_from(["put", "drop", "add"]))
        if not at:
            body = draw(ODD) if what == "put" else body
            continue
        holder = body
        for key in at[:-1]:
            holder = holder[key]
        if what == "put":
            holder[at[-1]] = draw(ODD)
        elif what == "drop":
            del holder[at[-1]]
        elif isinstance(holder, dict):
            holder[draw(st.sampled_from(["type", "role", "parts", "input", "id", "content", "x"]))] = draw(ODD)
    return method, path, json.dumps(body).encode()


raw = st.tuples(st.just("POST"), st.sampled_from(sorted({path for _, path, _ in SEEDS})), RAW)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(asked=st.lists(st.one_of(bent(), bent(), raw), min_size=8, max_size=8))
async def test_a_bent_request_is_never_a_fault_of_our_own(asked):
    async with app_ground(limits={"shutdown_s": 1}) as ground:
        await ground.asked("hello", session_id="s")
        await ground.asked("pay Ada 3", "waiting", run_id="w")

        async def one(method, path, body):
            async with asyncio.timeout(10):
                return await ground.client.request(method, path, content=body, headers={"content-type": "application/json"})

        for (method, path, body), response in zip(asked, await asyncio.gather(*(one(*each) for each in asked)), strict=True):
            assert response.status_code < 500, (method, path, body, response.text)
            if response.status_code >= 400:
                assert response.json()["error"]["message"], (path, body)
                assert "Traceback" not in response.text
        assert (await ground.metrics()).get("headrace_server_faults_total", 0) == 0


@settings(max_examples=15)
@given(paths=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=10, max_size=10))
async def test_a_path_of_anything_is_answered(paths):
    from urllib.parse import quote

    async with app_ground() as ground:
        for path in paths:
            for begin in ("", "runs/", "sessions/", "assets/", "api/chat/", "v1/responses/"):
                response = await ground.client.get(f"/{begin}{quote(path, safe='')}")
                assert response.status_code in (200, 204, 400, 404, 405), (begin, path, response.status_code)
