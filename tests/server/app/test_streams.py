"""Streams of a run's log: cut, come back to, read slowly, left, read by many, ended with the server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket

import httpx2
import pytest

from app_ground import app_ground, events_in, make_agent, text_of
from headrace.sessions.sqlite import SQLiteStore


async def read_some(ground, run_id, size, **params):
    """Read so many bytes of a stream over a connection of its own, then break it off."""
    text = b""
    async with (
        httpx2.AsyncClient(base_url=ground.url, timeout=10) as client,
        client.stream("GET", f"/runs/{run_id}/events", params=params) as response,
    ):
        async for piece in response.aiter_raw():
            text += piece
            if len(text) >= size:
                break
    return events_in(text.rpartition(b"\n\n")[0].decode() + "\n\n")


async def opened(ground, path, *, buffer=None, headers=""):
    """Open a connection by hand, ask, and return the socket."""
    host, _, port = ground.url.removeprefix("http://").rpartition(":")
    made = socket.socket()
    if buffer is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    made.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(made, (host, int(port)))
    await loop.sock_sendall(made, f"GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n".encode())
    return made


async def test_a_reader_that_is_cut_off_again_and_again_misses_nothing_and_gets_nothing_twice():
    async with app_ground() as ground:
        view = await ground.start("slowly 150")
        got: list[dict] = []
        for size in range(400, 4000, 700):
            got += await read_some(ground, view["id"], size, after=got[-1]["seq"] if got else 0)
        last = {"last-event-id": str(got[-1]["seq"])}
        got += await ground.events(view["id"], headers=last)
        assert [event["seq"] for event in got] == sorted({event["seq"] for event in got})
        assert text_of(got) == "".join(f"w{n} " for n in range(150))
        assert got[-1]["type"] == "run_ended"


async def test_a_client_that_leaves_stops_nothing():
    async with app_ground() as ground:
        view = await ground.start("slowly 60")
        await read_some(ground, view["id"], 300)
        ended = await ground.done(view["id"])
        assert ended["generate_reason"] == "completed"
        await ground.closed()


async def test_two_readers_get_the_same():
    async with app_ground() as ground:
        view = await ground.start("slowly 80")
        early = asyncio.create_task(ground.events(view["id"]))
        await asyncio.sleep(0.3)
        late, first = await ground.events(view["id"]), await early
        assert text_of(late) == text_of(first)
        assert late[-1] == first[-1]


async def test_a_reader_that_takes_nothing_holds_no_run_and_no_memory_and_is_cut_off():
    async with app_ground(limits={"stall_s": 0.6}, runs_options={"coalesce_s": 0.0}) as ground:
        slow_one = await ground.start("big 3000")  # three million characters
        slow = await opened(ground, f"/runs/{slow_one['id']}/events", buffer=4096)
        ended = await ground.done(slow_one["id"])
        assert ended["generate_reason"] == "completed"
        events = await ground.events(slow_one["id"])
        assert len(text_of(events)) == 3000 * 1024
        assert (await ground.metrics())['headrace_server_open_streams{route="events"}'] == 1
        await ground.closed()
        assert (await ground.metrics())["headrace_server_readers_cut_off_total"] == 1
        # It was cut at once, without waiting for what it has not taken; it may come back, and has all of it then.
        loop = asyncio.get_running_loop()
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := await loop.sock_recv(slow, 65536):
                got += piece
        slow.close()
        assert not got.endswith(b"0\r\n\r\n")


async def test_a_silent_stream_says_that_it_lives():
    gate = asyncio.Event()

    async def waits(_request):
        await gate.wait()
        return "now"

    from headrace.agent.agent import Agent
    from headrace.models.scripted import ScriptedModel

    async with app_ground(agent=Agent(ScriptedModel(waits)), limits={"keep_alive_s": 0.1}) as ground:
        view = await ground.start("hello")
        async with ground.client.stream("GET", f"/runs/{view['id']}/events") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            text = ""
            async for piece in response.aiter_text():
                text += piece
                if text.count(": keep-alive\n\n") == 2:
                    gate.set()
        assert text.startswith("retry: 1000\n\n")
        assert text_of(events_in(text)) == "now"


async def test_as_many_streams_are_open_as_may_be():
    async with app_ground(limits={"max_streams": 2}) as ground:
        view = await ground.start("slowly 40")
        path = f"/runs/{view['id']}/events"
        async with ground.client.stream("GET", path), ground.client.stream("GET", path):
            refused = await ground.client.get(path)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        await ground.closed()
        assert (await ground.events(view["id"]))[-1]["type"] == "run_ended"


async def test_a_log_whose_run_was_deleted_ends():
    async with app_ground() as ground:
        view = await ground.asked("pay Ada 3", "waiting")
        follower = asyncio.create_task(ground.events(view["id"], follow="true"))
        await asyncio.sleep(0.1)
        await ground.client.delete(f"/runs/{view['id']}")
        async with asyncio.timeout(5):
            assert (await follower)[0]["type"] == "run_started"


@pytest.mark.parametrize("words", ["slowly 150", "grind 60"])
async def test_a_server_that_ends_in_mid_run_lets_go_and_the_next_one_goes_on(tmp_path, words):
    path = tmp_path / "runs.db"
    async with app_ground(store=SQLiteStore(path)) as ground:
        view = await ground.start(words, session_id="talk")
        text = b""
        async with contextlib.AsyncExitStack() as leaving:
            client = await leaving.enter_async_context(httpx2.AsyncClient(base_url=ground.url, timeout=10))
            response = await leaving.enter_async_context(client.stream("GET", f"/runs/{view['id']}/events"))
            async for piece in response.aiter_raw():
                text += piece
                if len(text) > 3000:
                    ground.app.leave()  # as the signal does; the stream ends properly
        assert (await ground.client.get("/healthz")).status_code == 503
        refused = await ground.client.post("/runs", json={"input": "x"})
        assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "unavailable")
    got = events_in(text.decode())
    assert got[-1]["type"] != "run_ended"
    async with app_ground(store=SQLiteStore(path)) as ground:
        got += await ground.events(view["id"], headers={"last-event-id": str(got[-1]["seq"])})
        assert [event["seq"] for event in got] == sorted({event["seq"] for event in got})
        if words.startswith("grind"):  # what may have run once is not run again by itself
            assert got[-1]["generate_reason"] == "awaiting_approval"
            assert got[-1]["pending"][0]["kind"] == "in_doubt"
        else:
            ended = await ground.done(view["id"])
            assert ended["message"]["parts"][0]["text"] == "".join(f"w{n} " for n in range(150))
            assert json.dumps(ended["message"]) == json.dumps(got[-1]["message"])


async def test_a_store_that_fails_breaks_streams_off_and_tells_nobody_its_words():
    from headrace.errors import StoreError

    async with app_ground(agent=make_agent()) as ground:
        view = await ground.asked("hello")

        async def fails(*_args, **_more):
            raise StoreError("cannot reach postgresql://user:secret@host")

        kept = ground.store.entries
        ground.store.entries = fails
        try:
            with pytest.raises(httpx2.TransportError):
                await ground.client.get(f"/runs/{view['id']}/events")
            response = await ground.client.get(f"/runs/{view['id']}")
        finally:
            ground.store.entries = kept
        assert (response.status_code, response.json()["error"]["kind"]) == (503, "unavailable")
        assert "secret" not in response.text
