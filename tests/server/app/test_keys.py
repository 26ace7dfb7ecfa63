"""Files of keys, bounds as values, and what the server says of itself."""

from __future__ import annotations

import pytest

from app_ground import app_ground, pay
from headrace.agent.agent import Agent
from headrace.errors import ConfigError, StoreError
from headrace.models.scripted import ScriptedModel
from headrace.server.app.keys import add_key, load_keys
from headrace.server.app.limits import Limits


def test_a_key_is_made_once_kept_as_its_hash_and_found_again(tmp_path):
    path = tmp_path / "keys.toml"
    made = {name: add_key(path, name) for name in ("anna", "bert")}
    text = path.read_text()
    assert (path.stat().st_mode & 0o777) == 0o600
    assert not any(secret in text for secret in made.values())
    keys = load_keys(path)
    assert [key.name for key in keys] == ["anna", "bert"]
    assert {name: keys.find(secret).name for name, secret in made.items()} == {"anna": "anna", "bert": "bert"}
    assert keys.find("hr-other") is None
    with pytest.raises(ConfigError, match="already"):
        add_key(path, "anna")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "keys = 5",
        "[[keys]]\nname = 'x'",
        "[[keys]]\nname = 'x'\nsha256 = 'abc'",
        f"[[keys]]\nname = ''\nsha256 = '{'a' * 64}'",
        f"[[keys]]\nname = 'a b'\nsha256 = '{'a' * 64}'",
        f"[[keys]]\nname = 'x'\nsha256 = '{'a' * 64}'\nmax_runs = 0",
        f"[[keys]]\nname = 'x'\nsha256 = '{'a' * 64}'\nmax_run = 1",
        f"[[keys]]\nname = 'x'\nsha256 = '{'a' * 64}'\n[[keys]]\nname = 'x'\nsha256 = '{'b' * 64}'",
        "[more]\nx = 1",
        "not toml",
    ],
)
def test_a_file_that_lists_no_keys_lets_nobody_in(tmp_path, text):
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        load_keys(path)


def test_a_name_that_is_none_and_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="name"):
        add_key(tmp_path / "keys.toml", 'x"\n[[keys]]')
    with pytest.raises(ConfigError):
        load_keys(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="max_parts"):
        Limits(max_parts=0)


async def test_the_server_says_what_it_serves_and_counts():
    agent = Agent(ScriptedModel("hello", id="scripted:mill"), tools=[pay], instructions="Be brief.")
    async with app_ground(agent=agent, name="mill") as ground:
        info = (await ground.client.get("/api/info")).json()
        assert info["agent"] == {
            "name": "mill",
            "model": "scripted:mill",
            "instructions": True,
            "tools": [{"name": "pay", "description": "Pay somebody.", "needs_approval": True, "external": False, "idempotent": False}],
        }
        assert (info["auth"], info["durable"]) == (False, False)
        view = await ground.asked("hi")
        events = await ground.events(view["id"])
        await ground.client.get("/nothing")
        metrics = await ground.metrics()
        assert metrics['headrace_server_runs_begun_total{key=""}'] == 1
        assert metrics["headrace_server_events_sent_total"] == len(events)
        assert metrics['headrace_server_requests_total{route="events",key="",status="200"}'] == 1
        assert metrics['headrace_server_refusals_total{kind="not_found"}'] == 1
        assert metrics['headrace_server_runs{status="waiting"}'] == 0
        assert metrics['headrace_server_answer_seconds_count{route="events"}'] == 1


async def test_a_store_that_cannot_be_reached_is_no_health():
    async with app_ground() as ground:

        async def fails():
            raise StoreError("gone")

        workers, ground.store.workers = ground.store.workers, fails
        response = await ground.client.get("/healthz")
        ground.store.workers = workers
        assert (response.status_code, response.json()) == (503, {"status": "store_unreachable"})


async def test_the_application_is_mounted_in_another_one():
    import httpx2

    from headrace.server.app.app import make_app
    from headrace.sessions.memory import MemoryStore
    from headrace.sessions.runs import Runs

    async with MemoryStore() as store, Runs(Agent(ScriptedModel("hello")), store) as runs:
        app = make_app(runs)

        async def outer(scope, receive, send):
            assert scope["path"].startswith("/mill/")
            await app({**scope, "root_path": "/mill"}, receive, send)

        transport = httpx2.ASGITransport(app=outer)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/mill/healthz")).status_code == 200
            assert (await client.post("/mill/runs", json={"input": "hi"})).status_code == 202
            assert 'data-to="/mill/inspect"' in (await client.get("/mill/inspect")).text
