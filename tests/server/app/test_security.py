"""Who is let in, what each may see and use, and what a fault tells."""

from __future__ import annotations

import asyncio
import base64

import pytest

from app_ground import SECRETS, app_ground, bearer, key, make_agent, text_of
from headrace.errors import ConfigError
from headrace.models.scripted import ScriptedModel
from headrace.server.app.serve import refuse_open_door


async def test_without_a_key_only_the_page_and_the_health_are_answered():
    async with app_ground(keys=[key("anna")]) as ground:
        for path in ("/", "/healthz"):
            assert (await ground.client.get(path)).status_code == 200
        for path in ("/runs", "/sessions", "/api/info", "/metrics", "/openapi.json", "/inspect", "/nothing"):
            response = await ground.client.get(path)
            assert (response.status_code, response.json()["error"]["kind"]) == (401, "authentication"), path
            assert response.headers["www-authenticate"].startswith("Basic" if path == "/inspect" else "Bearer")
        for given in ("Bearer nonsense", "Bearer", SECRETS["anna"], f"Basic {SECRETS['anna']}"):
            assert (await ground.client.get("/runs", headers={"authorization": given})).status_code == 401
        info = await ground.client.get("/api/info", headers=bearer("anna"))
        assert info.json()["auth"] is True
        assert SECRETS["anna"] not in (await ground.client.get("/metrics", headers=bearer("anna"))).text


async def test_the_inspector_takes_the_key_as_a_password():
    async with app_ground(keys=[key("anna")]) as ground:
        for given, status in ((SECRETS["anna"], 200), ("wrong", 401)):
            basic = base64.b64encode(f"anyone:{given}".encode()).decode()
            headers = {"authorization": f"Basic {basic}"}
            assert (await ground.client.get("/inspect", headers=headers)).status_code == status
            assert (await ground.client.get("/runs", headers=headers)).status_code == 401
        response = await ground.client.post(
            "/inspect?protocol=openai-chat&format=json", content=b"data: [DONE]\n\n", headers=bearer("anna")
        )
        assert response.status_code == 200


async def test_a_key_sees_only_its_own():
    async with app_ground(keys=[key("anna"), key("bert")]) as ground:
        mine = await ground.start("pay Ada 3", session_id="talk", run_id="r", headers=bearer("anna"))
        await asyncio.sleep(0.2)
        bert = bearer("bert")
        for method, path, body in (
            ("GET", "/runs/r", None),
            ("GET", "/runs/r/events", None),
            ("POST", "/runs/r/interrupt", None),
            ("POST", "/runs/r/steer", {"content": "x"}),
            ("POST", "/runs/r/resume", {"answers": [{"kind": "deny", "call_key": "x"}]}),
            ("DELETE", "/runs/r", None),
            ("GET", "/sessions/talk", None),
            ("GET", "/sessions/talk/messages", None),
            ("GET", "/sessions/talk/runs", None),
            ("PATCH", "/sessions/talk", {"title": "mine now"}),
            ("DELETE", "/sessions/talk", None),
            ("POST", "/sessions/talk/fork", {}),
            ("GET", "/runs?before=r", None),
            ("GET", "/sessions?before=talk", None),
        ):
            theirs = await ground.client.request(method, path, json=body, headers=bert)
            other = path.replace("/r", "/none", 1) if path.startswith("/runs/") else path.replace("talk", "none").replace("=r", "=none")
            none = await ground.client.request(method, other, json=body, headers=bert)
            assert theirs.status_code == none.status_code == 404, (method, path)
            assert theirs.json()["error"]["kind"] == none.json()["error"]["kind"]
        for body in ({"input": "x", "session_id": "talk"}, {"input": "x", "run_id": "r"}):
            assert (await ground.client.post("/runs", json=body, headers=bert)).status_code == 409
        assert (await ground.client.get("/runs", headers=bert)).json() == {"runs": []}
        assert (await ground.client.get("/sessions", headers=bert)).json() == {"sessions": []}
        view = (await ground.client.get("/runs/r", headers=bearer("anna"))).json()
        assert (view["id"], view["status"]) == (mine["id"], "waiting")


async def test_requests_runs_streams_and_tokens_of_a_key_are_bounded():
    keys = [key("anna", per_minute=5), key("bert", max_runs=1, max_streams=1, tokens_per_day=30)]
    async with app_ground(keys=keys) as ground:
        answers = [await ground.client.get("/runs", headers=bearer("anna")) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        assert 50 < int(answers[-1].headers["retry-after"]) <= 60

        bert = bearer("bert")
        view = await ground.start("slowly 30", headers=bert)
        second = await ground.client.post("/runs", json={"input": "x"}, headers=bert)
        assert (second.status_code, second.headers["retry-after"]) == (429, "1")
        again = await ground.start("slowly 30", headers=bert, run_id=view["id"])  # is no second run
        assert again["id"] == view["id"]
        path = f"/runs/{view['id']}/events"
        async with ground.client.stream("GET", path, headers=bert):
            assert (await ground.client.get(path, headers=bert)).status_code == 429
        await ground.closed(bert)
        events = await ground.events(view["id"], headers=bert)
        assert events[-1]["usage"]["output_tokens"] == 30
        spent = await ground.client.post("/runs", json={"input": "x"}, headers=bert)
        assert spent.status_code == 429
        assert 0 < int(spent.headers["retry-after"]) <= 86_400
        assert "35 of 30 tokens" in spent.json()["error"]["message"]
        assert (await ground.metrics(bert))['headrace_server_refusals_total{kind="limit"}'] == 4


async def test_of_many_that_come_together_only_as_many_runs_begin_as_may():
    async with app_ground(keys=[key("anna", max_runs=3)]) as ground:
        asked = [ground.client.post("/runs", json={"input": "slowly 50"}, headers=bearer("anna")) for _ in range(12)]
        statuses = sorted(answer.status_code for answer in await asyncio.gather(*asked))
        assert statuses == [202] * 3 + [429] * 9


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "localhost:1234"}, 200),
        ({"host": "127.0.0.1"}, 200),
        ({"host": "[::1]:80"}, 200),
        ({"host": "mill.example"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost:80", "origin": "http://localhost:80"}, 200),
        ({"host": "localhost:80", "origin": "http://localhost:81"}, 403),
        ({"host": "localhost:80", "origin": "http://evil.example"}, 403),
        ({"host": "localhost:80", "origin": "null"}, 403),
        ({"host": "localhost:80", "origin": "http://evil.example#http://localhost:80"}, 403),
        ({"host": "localhost:80", "origin": "http://friend.example"}, 200),
    ],
)
async def test_a_page_of_another_site_is_refused(headers, status):
    async with app_ground(allowed_hosts=["mill.example"], allowed_origins=["http://friend.example"]) as ground:
        response = await ground.client.get("/runs", headers=headers)
        assert response.status_code == status
        if status == 403:
            assert response.json()["error"]["kind"] == "forbidden"
        assert ("access-control-allow-origin" in response.headers) == (headers.get("origin") == "http://friend.example")


async def test_a_friends_browser_is_told_that_it_may_ask_and_no_other():
    async with app_ground(allowed_origins=["http://friend.example"]) as ground:
        asked = {"origin": "http://friend.example", "access-control-request-method": "POST"}
        answer = await ground.client.options("/runs", headers=asked)
        assert (answer.status_code, answer.headers["access-control-allow-methods"]) == (204, "POST, GET")
        assert answer.headers["access-control-allow-origin"] == "http://friend.example"
        assert (await ground.client.options("/runs", headers={**asked, "origin": "http://evil.example"})).status_code == 403
        assert (await ground.client.options("/runs")).status_code == 405


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 202),
        ("application/json; charset=UTF-8", 202),
        ("application/json; charset=latin-1", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 415),
        ("", 415),
    ],
)
async def test_a_body_is_json_by_its_own_word(content_type, status):
    async with app_ground() as ground:
        response = await ground.client.post("/runs", content=b'{"input": "hi"}', headers={"content-type": content_type})
        assert response.status_code == status


async def test_bodies_heads_and_times_are_bounded():
    async with app_ground(limits={"max_body_bytes": 2000, "arrival_s": 0.4}) as ground:
        large = await ground.client.post("/runs", json={"input": "x" * 3000})
        assert (large.status_code, large.json()["error"]["kind"]) == (413, "too_large")

        async def drips():
            yield b'{"input": '
            await asyncio.sleep(5)

        slow = await ground.client.post("/runs", content=drips(), headers={"content-type": "application/json"})
        assert (slow.status_code, slow.json()["error"]["kind"]) == (408, "timeout")

        async def endless():
            for _ in range(100):
                yield b" " * 1000

        endless_one = await ground.client.post("/runs", content=endless(), headers={"content-type": "application/json"})
        assert endless_one.status_code == 413
        host, _, port = ground.url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /runs HTTP/1.1\r\nhost: localhost\r\n" + b"x-a: " + b"b" * 100_000)
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        writer.close()
        reader, writer = await asyncio.open_connection(host, int(port))  # says nothing
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        writer.close()


async def test_every_answer_tells_browsers_to_take_it_for_nothing_else():
    async with app_ground() as ground:
        for path in ("/", "/runs", "/nothing", "/healthz", "/inspect"):
            headers = (await ground.client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert len(headers["x-request-id"]) == 32
        assert (await ground.client.get("/runs")).headers["cache-control"] == "no-store"


async def test_a_fault_of_our_own_is_a_number_to_the_client_and_a_trace_to_the_log(caplog):
    async with app_ground() as ground:

        async def breaks(*_args, **_more):
            raise RuntimeError("the secret is 1234")

        ground.store.runs = breaks
        response = await ground.client.get("/runs")
        assert (response.status_code, response.json()["error"]["kind"]) == (500, "fault")
        assert "1234" not in response.text
        assert "Traceback" not in response.text
        assert response.headers["x-request-id"] in response.json()["error"]["message"]
        assert "breaks" in caplog.text


async def test_a_model_that_fails_is_an_event_and_no_fault():
    from headrace.agent.agent import Agent
    from headrace.errors import OverloadedError

    async with app_ground(agent=Agent(ScriptedModel(OverloadedError("too much", status=529)))) as ground:
        view = await ground.asked("hello")
        assert view["generate_reason"] == "error"
        events = await ground.events(view["id"])
        assert [event["type"] for event in events[-2:]] == ["error", "run_ended"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "mill.example"])
def test_a_server_that_others_can_reach_is_not_opened_without_keys(host):
    with pytest.raises(ConfigError, match="keys"):
        refuse_open_door(host, has_keys=False, is_insecure=False)
    refuse_open_door(host, has_keys=True, is_insecure=False)
    refuse_open_door(host, has_keys=False, is_insecure=True)
    refuse_open_door("127.0.0.1", has_keys=False, is_insecure=False)


async def test_a_run_under_a_key_belongs_to_it_and_reads_as_any():
    async with app_ground(agent=make_agent(), keys=[key("anna")]) as ground:
        view = await ground.start("hello", headers=bearer("anna"))
        assert text_of(await ground.events(view["id"], headers={"x-api-key": SECRETS["anna"]})) == "You said: hello"
        assert (await ground.store.run(view["id"])).user == "anna"
