"""Runs over HTTP: every endpoint, and what each refuses."""

from __future__ import annotations

import asyncio
import base64

import pytest

from app_ground import app_ground, text_of


async def test_a_run_is_begun_read_and_shown():
    async with app_ground() as ground:
        view = await ground.start("hello you", session_id="talk")
        events = await ground.events(view["id"])
        assert [events[0]["type"], events[-1]["type"]] == ["run_started", "run_ended"]
        assert text_of(events) == "You said: hello you"
        shown = (await ground.client.get(f"/runs/{view['id']}")).json()
        assert (shown["status"], shown["generate_reason"], shown["session_id"]) == ("ended", "completed", "talk")
        assert shown["last_seq"] == events[-1]["seq"]
        assert shown["usage"]["output_tokens"] == 5
        assert shown["message"]["parts"] == [{"type": "text", "text": "You said: hello you"}]


async def test_asking_twice_with_one_id_is_one_run():
    async with app_ground() as ground:
        first, second = await asyncio.gather(*(ground.start("hello", run_id="mine") for _ in range(2)))
        assert first["id"] == second["id"] == "mine"
        await ground.done("mine")
        assert (await ground.start("hello", run_id="mine"))["status"] == "ended"
        assert len((await ground.client.get("/runs")).json()["runs"]) == 1


async def test_an_input_may_be_parts_or_messages():
    png = base64.b64encode(b"\x89PNG").decode()
    parts = [{"type": "text", "text": "look at"}, {"type": "media", "kind": "image", "media_type": "image/png", "data": png}]
    messages = [
        {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "parts": [{"type": "text", "text": "hello"}]},
        {"role": "user", "parts": [{"type": "text", "text": "again"}]},
    ]
    async with app_ground() as ground:
        for given, said in ((parts, "You said: look at"), (messages, "You said: again")):
            view = await ground.asked(given)
            assert view["message"]["parts"][0]["text"] == said


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ({}, "body.input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": 5}, "body.input"),
        ({"input": [5]}, "body.input[0]"),
        ({"input": [{"type": "text"}]}, "input[0].text"),
        ({"input": [{"type": "media", "kind": "image", "data": "AAAA"}]}, "input[0].media_type"),
        ({"input": [{"type": "media", "kind": "image", "data": "AAAA", "media_type": "image/svg+xml"}]}, "input[0].media_type"),
        ({"input": [{"type": "media", "kind": "image", "data": "AAAA", "media_type": "audio/mp3"}]}, "input[0].media_type"),
        ({"input": [{"type": "media", "kind": "image", "url": "file:///etc/passwd"}]}, "input[0].url"),
        ({"input": [{"type": "media", "kind": "image", "data": "A" * 2000, "media_type": "image/png"}]}, "input[0].data"),
        ({"input": [{"type": "text", "text": "x"}] * 9}, "input"),
        ({"input": [{"role": "nobody", "parts": []}]}, "input[0].role"),
        ({"input": "x", "session_id": ""}, "body.session_id"),
        ({"input": "x", "session_id": "a\u0000b"}, "session_id"),
        ({"input": "x", "run_id": ".."}, "run_id"),
        ({"input": "x", "run_id": "x" * 257}, "body.run_id"),
        ({"input": "x", "permissions": "everything"}, "body.permissions"),
        ({"input": "x", "tools": []}, "body"),
    ],
)
async def test_what_does_not_fit_is_said_with_its_place(body, argument):
    async with app_ground(limits={"max_upload_bytes": 1000, "max_parts": 8}) as ground:
        response = await ground.client.post("/runs", json=body)
        assert response.status_code == 400
        error = response.json()["error"]
        assert (error["kind"], error["argument"]) == ("usage", argument), error


async def test_a_run_waits_is_answered_once_and_goes_on():
    async with app_ground() as ground:
        view = await ground.asked("pay Ada 3", "waiting", session_id="talk")
        assert view["generate_reason"] == "awaiting_approval"
        (pending,) = view["pending"]
        assert (pending["kind"], pending["call"]["name"], pending["call"]["parsed"]) == ("approval", "pay", {"to": "Ada", "euros": 3})
        resume = f"/runs/{view['id']}/resume"
        answer = {"kind": "approve", "call_key": pending["call_key"], "digest": pending["digest"], "arguments": {"to": "Ada", "euros": 4}}
        for wrong, status in (
            ({"kind": "approve", "call_key": "other"}, 409),
            ({**answer, "digest": "0" * 32}, 409),
            ({"kind": "answer", "call_key": pending["call_key"], "value": 1}, 409),
            ({**answer, "arguments": {"to": "Ada"}}, 400),
            ({**answer, "rules": ["nonsense"]}, 400),
            ({"kind": "maybe", "call_key": "x"}, 400),
            ({"call_key": "x"}, 400),
        ):
            assert (await ground.client.post(resume, json={"answers": [wrong]})).status_code == status, wrong
        assert (await ground.client.post(resume, json={"answers": []})).status_code == 400
        response = await ground.client.post(resume, json={"answers": [answer]})
        assert response.status_code == 202
        ended = await ground.done(view["id"])
        assert ended["message"]["parts"][0]["text"].endswith("paid 4 to Ada")
        assert (await ground.client.post(resume, json={"answers": [answer]})).status_code == 409


async def test_always_is_said_by_a_rules_text_or_by_the_suggestion_itself():
    async with app_ground() as ground:
        for rules in (["allow pay"], None):
            view = await ground.asked("pay Ada 3", "waiting")
            (pending,) = view["pending"]
            answer = {"kind": "approve", "call_key": pending["call_key"], "rules": rules or pending["suggestions"][-1:]}
            assert (await ground.client.post(f"/runs/{view['id']}/resume", json={"answers": [answer]})).status_code == 202
            await ground.done(view["id"])


async def test_an_external_call_is_answered_with_its_value():
    async with app_ground() as ground:
        view = await ground.asked("temperature", "waiting")
        (pending,) = view["pending"]
        assert pending["kind"] == "external"
        answer = {"kind": "answer", "call_key": pending["call_key"], "value": 21.5}
        await ground.client.post(f"/runs/{view['id']}/resume", json={"answers": [answer]})
        assert (await ground.done(view["id"]))["status"] == "ended"


async def test_a_follower_reads_over_a_pause_and_another_reader_ends_there():
    async with app_ground() as ground:
        view = await ground.start("pay Ada 3")
        follower = asyncio.create_task(ground.events(view["id"], follow="true"))
        first = await ground.events(view["id"])
        assert first[-1]["type"] == "run_ended"
        assert not follower.done()
        call_key = first[-1]["pending"][0]["call_key"]
        await ground.client.post(f"/runs/{view['id']}/resume", json={"answers": [{"kind": "deny", "call_key": call_key, "reason": "no"}]})
        events = await follower
        assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
        assert events[: len(first)] == first
        assert [event["type"] for event in events].count("run_ended") == 2
        rest = await ground.events(view["id"], after=first[-1]["seq"])
        assert first + rest == events


async def test_a_run_is_interrupted_and_what_came_is_kept():
    async with app_ground() as ground:
        view = await ground.start("slowly 300", session_id="talk")
        await ground.said("w1 ")
        assert (await ground.client.post(f"/runs/{view['id']}/interrupt")).status_code == 202
        ended = await ground.done(view["id"])
        assert ended["generate_reason"] == "interrupted"
        messages = (await ground.client.get("/sessions/talk/messages")).json()["messages"]
        assert messages[1]["parts"][0]["text"].startswith("w0 w1")
        assert (await ground.client.post(f"/runs/{view['id']}/interrupt")).status_code == 202


async def test_words_reach_a_run_before_its_next_model_call():
    async with app_ground() as ground:
        view = await ground.start("grind 10")
        await asyncio.sleep(0.05)
        for content in ("and quickly", [{"type": "text", "text": "please"}]):
            assert (await ground.client.post(f"/runs/{view['id']}/steer", json={"content": content})).status_code == 202
        events = await ground.events(view["id"])
        added = [event["message"]["parts"][0]["text"] for event in events if event["type"] == "reminder_added"]
        assert added == ["and quickly", "please"]
        response = await ground.client.post(f"/runs/{view['id']}/steer", json={"content": "too late"})
        assert (response.status_code, response.json()["error"]["kind"]) == (409, "state")


async def test_a_run_is_deleted_when_it_does_not_go_on():
    async with app_ground() as ground:
        view = await ground.start("slowly 100")
        assert (await ground.client.delete(f"/runs/{view['id']}")).status_code == 409
        await ground.client.post(f"/runs/{view['id']}/interrupt")
        await ground.done(view["id"])
        assert (await ground.client.delete(f"/runs/{view['id']}")).status_code == 204
        assert (await ground.client.get(f"/runs/{view['id']}")).status_code == 404
        assert (await ground.client.delete(f"/runs/{view['id']}")).status_code == 404


async def test_runs_are_listed_newest_first_in_pages():
    async with app_ground() as ground:
        ids = [(await ground.asked(f"run {n}", session_id=f"s{n % 2}"))["id"] for n in range(5)]
        listed = (await ground.client.get("/runs", params={"limit": 2})).json()["runs"]
        assert [run["id"] for run in listed] == ids[:-3:-1]
        more = (await ground.client.get("/runs", params={"before": listed[-1]["id"]})).json()["runs"]
        assert [run["id"] for run in more] == ids[2::-1]
        of_one = (await ground.client.get("/runs", params={"session_id": "s1", "status": "ended"})).json()["runs"]
        assert [run["id"] for run in of_one] == [ids[3], ids[1]]
        assert (await ground.client.get("/sessions/s1/runs")).json()["runs"] == of_one
        assert (await ground.client.get("/runs", params={"status": "waiting,queued"})).json() == {"runs": []}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "limit=100000", "status=gone", "before=", "session_id=%00", "limit=-1", "x=%ff%fe&limit=%ff"]
)
async def test_a_query_that_does_not_fit_is_refused(query):
    async with app_ground() as ground:
        assert (await ground.client.get(f"/runs?{query}")).status_code == 400


@pytest.mark.parametrize("query", ["after=x", "after=-1", "after=1.5", "follow=maybe", "after=99999999999999999999"])
async def test_a_place_in_the_log_that_is_none_is_refused(query):
    async with app_ground() as ground:
        view = await ground.asked("hello")
        assert (await ground.client.get(f"/runs/{view['id']}/events?{query}")).status_code == 400
        bad = await ground.client.get(f"/runs/{view['id']}/events", headers={"last-event-id": "abc"})
        assert bad.status_code == 400


async def test_what_is_not_there_is_not_found():
    async with app_ground() as ground:
        for method, path in (
            ("GET", "/runs/none"),
            ("GET", "/runs/none/events"),
            ("POST", "/runs/none/interrupt"),
            ("DELETE", "/runs/none"),
            ("GET", "/runs?before=none"),
            ("GET", "/sessions/none"),
            ("GET", "/sessions/none/messages"),
            ("GET", "/sessions?before=none"),
            ("DELETE", "/sessions/none"),
            ("POST", "/sessions/none/fork"),
            ("GET", "/nothing"),
            ("GET", "/runs/"),
        ):
            response = await ground.client.request(method, path)
            assert (response.status_code, response.json()["error"]["kind"]) == (404, "not_found"), (method, path)
        for path, body in (("resume", {"answers": [{"kind": "deny", "call_key": "x"}]}), ("steer", {"content": "x"})):
            assert (await ground.client.post(f"/runs/none/{path}", json=body)).status_code == 404


async def test_a_session_that_is_held_takes_no_second_run():
    async with app_ground() as ground:
        await ground.asked("pay Ada 3", "waiting", session_id="talk")
        response = await ground.client.post("/runs", json={"input": "hello", "session_id": "talk"})
        assert (response.status_code, response.json()["error"]["kind"]) == (409, "conflict")


async def test_a_run_of_another_agent_is_not_answered_here():
    async with app_ground() as ground:
        view = await ground.asked("pay Ada 3", "waiting")
        ground.runs.name = "another"
        answer = {"kind": "deny", "call_key": view["pending"][0]["call_key"]}
        assert (await ground.client.post(f"/runs/{view['id']}/resume", json={"answers": [answer]})).status_code == 409


async def test_an_id_may_hold_a_slash():
    async with app_ground() as ground:
        await ground.start("hello", run_id="a/b c", session_id="x/y")
        events = await ground.events("a%2Fb%20c")
        assert text_of(events) == "You said: hello"
        assert (await ground.client.get("/sessions/x%2Fy")).json()["id"] == "x/y"
