"""Conversations over HTTP."""

from __future__ import annotations

from app_ground import app_ground


async def test_a_conversation_is_kept_listed_and_read():
    async with app_ground() as ground:
        await ground.asked("one", session_id="a")
        await ground.asked("two", session_id="b")
        await ground.asked("three", session_id="a")
        listed = (await ground.client.get("/sessions")).json()["sessions"]
        assert [session["id"] for session in listed] == ["a", "b"]
        assert listed[0] | {"created_at": "", "updated_at": ""} == {
            "id": "a",
            "title": "one",
            "messages": 4,
            "holder": None,
            "forked_from": None,
            "created_at": "",
            "updated_at": "",
        }
        assert (await ground.client.get("/sessions", params={"before": "a"})).json()["sessions"][0]["id"] == "b"
        assert (await ground.client.get("/sessions", params={"limit": 1})).json()["sessions"] == listed[:1]
        messages = (await ground.client.get("/sessions/a/messages")).json()["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant"] * 2
        part = (await ground.client.get("/sessions/a/messages", params={"after": 1, "limit": 2})).json()["messages"]
        assert part == messages[1:3]


async def test_a_conversation_gets_another_title():
    async with app_ground() as ground:
        await ground.asked("one", session_id="a")
        assert (await ground.client.patch("/sessions/a", json={"title": "Räder"})).json()["title"] == "Räder"
        assert (await ground.client.get("/sessions/a")).json()["title"] == "Räder"
        for body in ({}, {"title": 5}, {"title": "x" * 501}, {"title": "x", "id": "b"}, [], "x", {"title": "a\u0000b"}):
            assert (await ground.client.patch("/sessions/a", json=body)).status_code == 400, body


async def test_a_copy_is_a_conversation_of_its_own():
    async with app_ground() as ground:
        await ground.asked("one", session_id="a")
        await ground.asked("two", session_id="a")
        made = await ground.client.post("/sessions/a/fork", json={"at": 2, "id": "b"})
        assert (made.status_code, made.json()["forked_from"], made.json()["messages"]) == (201, "a", 2)
        await ground.asked("three", session_id="b")
        assert [(await ground.client.get(f"/sessions/{name}")).json()["messages"] for name in "ab"] == [4, 4]
        whole = await ground.client.post("/sessions/a/fork")
        assert (whole.status_code, whole.json()["messages"]) == (201, 4)
        assert (await ground.client.post("/sessions/a/fork", json={"id": "b"})).status_code == 409
        for body in ({"at": 5}, {"at": -1}, {"at": "x"}, {"id": ""}, {"to": 1}):
            assert (await ground.client.post("/sessions/a/fork", json=body)).status_code == 400, body


async def test_a_copy_that_ends_between_a_call_and_its_result_is_one_that_providers_take():
    async with app_ground() as ground:
        await ground.asked("grind 1", session_id="a")
        made = (await ground.client.post("/sessions/a/fork", json={"at": 2})).json()
        assert made["messages"] == 2
        view = await ground.asked("hello", session_id=made["id"])
        assert view["message"]["parts"][0]["text"] == "You said: hello"


async def test_a_conversation_is_deleted_with_its_runs_unless_one_works_on_it():
    async with app_ground() as ground:
        view = await ground.start("slowly 100", session_id="a")
        response = await ground.client.delete("/sessions/a")
        if response.status_code != 404:  # it may not have begun yet
            assert (response.status_code, response.json()["error"]["kind"]) == (409, "state")
        await ground.client.post(f"/runs/{view['id']}/interrupt")
        await ground.done(view["id"])
        waiting = await ground.asked("pay Ada 3", "waiting", session_id="a")
        assert (await ground.client.delete("/sessions/a")).status_code == 204
        for path in ("/sessions/a", f"/runs/{view['id']}", f"/runs/{waiting['id']}"):
            assert (await ground.client.get(path)).status_code == 404
