"""What a recording holds, and what it must not hold."""

from __future__ import annotations

import asyncio
import json
import stat

import pytest

from headrace.errors import ConfigError, ConnectFailedError, ConnectionLostError, StateError, StreamTimeoutError
from headrace.io.httpx_transport import HttpTransport
from headrace.io.record import RecordTransport
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.transport import HTTPRequest, Timeouts, flow
from servers import Close, Hold, Pause, Reply, Stall, free_port, scripted_server

KEY = "sk-very-secret-key-123"
REQUEST = HTTPRequest(
    "POST",
    "http://user:long-password@host/v1?key=query-key-123&alt=sse",
    headers=(("authorization", f"Bearer {KEY}"), ("content-type", "application/json")),
    body=json.dumps({"model": "m", "api_key": "field-secret", "messages": [{"content": f"my password: hunter2; {KEY}"}]}).encode(),
)


async def read_all(transport, request=REQUEST, seen=None):
    got = []
    async with transport.stream(request) as response:
        async for chunk in response.chunks():
            got.append(chunk)
            if seen is not None:
                seen.set()
    return got


def facts(folder, number=1):
    return json.loads((folder / f"{number:04d}.response.json").read_bytes())


def all_bytes(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


async def test_an_exchange_becomes_three_files(tmp_path):
    ticks = iter([10.0, 10.5, 11.25])
    answer = Recorded(status=201, headers=(("X-Id", "r1"), ("Set-Cookie", "s=1")), body=b"onetwo")
    inner = ReplayTransport(answer, slicing=3)
    async with RecordTransport(inner, tmp_path, clock=lambda: next(ticks)) as transport:
        assert await read_all(transport) == [b"one", b"two"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0001.body", "0001.request.json", "0001.response.json"]
    assert json.loads((tmp_path / "0001.request.json").read_bytes()) == {
        "method": "POST",
        "url": "http://***@host/v1?key=***&alt=sse",
        "headers": [["authorization", "***"], ["content-type", "application/json"]],
        "json": {"model": "m", "api_key": "***", "messages": [{"content": "my password: hunter2; ***"}]},
        "text": None,
        "format_version": 1,
    }
    assert facts(tmp_path) == {
        "status": 201,
        "headers": [["x-id", "r1"], ["set-cookie", "***"]],
        "reads": [[0, 500.0], [3, 1250.0]],
        "is_complete": True,
        "error": None,
        "format_version": 1,
    }
    assert (tmp_path / "0001.body").read_bytes() == b"onetwo"


@pytest.mark.parametrize("slicing", ["whole", 1, 7])
async def test_no_secret_of_the_request_stands_in_a_recording(tmp_path, slicing):
    body = f'data: {{"echo": "{KEY}", "url": "long-password and query-key-123"}}\n\ndata: {KEY}{KEY[:-1]}'.encode()
    inner = ReplayTransport(Recorded(body=body, headers=(("x-echo", KEY),)), slicing=slicing)
    got = b"".join(await read_all(RecordTransport(inner, tmp_path)))
    assert got == body, "the reader gets what came"
    stored = all_bytes(tmp_path)
    for secret in (KEY, "long-password", "query-key-123", "field-secret"):
        assert secret.encode() not in stored
    kept = (tmp_path / "0001.body").read_bytes()
    assert len(kept) == len(body)
    assert kept.endswith(KEY[:-1].encode())


async def test_only_the_owner_can_read_a_recording(tmp_path):
    folder = tmp_path / "new" / "deep"
    await read_all(RecordTransport(ReplayTransport(b"x"), folder))
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_numbers_go_on_and_nothing_is_written_over(tmp_path):
    (tmp_path / "0007.request.json").write_text("mine")
    (tmp_path / "notes.request.json").write_text("mine too")
    transport = RecordTransport(ReplayTransport([b"a", b"b"]), tmp_path)
    await read_all(transport)
    await read_all(transport)
    assert (tmp_path / "0007.request.json").read_text() == "mine"
    assert (tmp_path / "0008.body").read_bytes() == b"a"
    assert (tmp_path / "0009.body").read_bytes() == b"b"


async def test_two_exchanges_at_once_do_not_mix(tmp_path):
    transport = RecordTransport(ReplayTransport([b"a" * 9, b"b" * 9], slicing=3), tmp_path)
    async with transport.stream(REQUEST) as first, transport.stream(REQUEST) as second:
        for chunks in zip([c async for c in first.chunks()], [c async for c in second.chunks()], strict=True):
            assert chunks == (b"aaa", b"bbb")
    assert {(tmp_path / f"000{number}.body").read_bytes() for number in (1, 2)} == {b"a" * 9, b"b" * 9}


async def test_two_recorders_of_one_folder_take_different_numbers(tmp_path, monkeypatch):
    await read_all(RecordTransport(ReplayTransport(b"first"), tmp_path))
    # The second one looked at the folder before the first one wrote.
    monkeypatch.setattr(type(tmp_path), "glob", lambda self, pattern: iter(()))
    await read_all(RecordTransport(ReplayTransport(b"second"), tmp_path))
    assert (tmp_path / "0001.body").read_bytes() == b"first"
    assert (tmp_path / "0002.body").read_bytes() == b"second"


async def test_closing_closes_what_is_inside(tmp_path):
    inner = ReplayTransport([b"ab", b"c"], slicing=1)
    transport = RecordTransport(inner, tmp_path)
    async with transport.stream(REQUEST) as response:
        await response.aclose()
        with pytest.raises(ConnectionLostError):
            [chunk async for chunk in response.chunks()]
    await transport.aclose()
    with pytest.raises(StateError, match="closed"):
        await read_all(inner)


@pytest.mark.parametrize("body", [b"no json", b"\xff\xfe", b"[" * 100_000, b'{"a": 1e999}'])
async def test_a_request_that_is_no_json_is_kept_as_text(tmp_path, body):
    await read_all(RecordTransport(ReplayTransport(b"x"), tmp_path), HTTPRequest("POST", "http://h/", body=body))
    stored = json.loads((tmp_path / "0001.request.json").read_bytes())
    assert stored["json"] is None
    assert stored["text"] == body.decode(errors="replace")


async def test_a_stream_that_broke_is_recorded_as_far_as_it_came(tmp_path):
    seen = asyncio.Event()
    async with scripted_server([[b"one", Hold(seen), Close()]]) as server, HttpTransport() as inner:
        with pytest.raises(ConnectionLostError):
            await read_all(RecordTransport(inner, tmp_path), HTTPRequest("GET", server.url), seen)
    assert (tmp_path / "0001.body").read_bytes() == b"one"
    assert facts(tmp_path)["is_complete"] is False
    assert facts(tmp_path)["error"]["type"] == "ConnectionLostError"


async def test_a_failure_that_the_reader_catches_is_recorded_too(tmp_path):
    transport = RecordTransport(ReplayTransport(b"one", reset=True), tmp_path)
    async with transport.stream(REQUEST) as response:
        with pytest.raises(ConnectionLostError):
            [chunk async for chunk in response.chunks()]
    assert facts(tmp_path)["error"]["type"] == "ConnectionLostError"


async def test_a_cancelled_exchange_is_recorded_as_far_as_it_came(tmp_path):
    seen = asyncio.Event()
    async with scripted_server([[b"one", Stall()]]) as server, HttpTransport() as inner:
        task = asyncio.ensure_future(read_all(RecordTransport(inner, tmp_path), HTTPRequest("GET", server.url), seen))
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.replies[0].left.wait()
    assert (tmp_path / "0001.body").read_bytes() == b"one"
    assert facts(tmp_path)["is_complete"] is False
    assert facts(tmp_path)["error"] is None


async def test_a_reader_that_leaves_early_leaves_an_incomplete_recording(tmp_path):
    async with RecordTransport(ReplayTransport(b"abcdef", slicing=2), tmp_path).stream(REQUEST) as response:
        async for _ in response.chunks():
            break
    assert (tmp_path / "0001.body").read_bytes() == b"ab"
    assert facts(tmp_path)["is_complete"] is False


async def test_an_exchange_without_an_answer_is_recorded(tmp_path):
    async with HttpTransport() as inner:
        with pytest.raises(ConnectFailedError):
            await read_all(RecordTransport(inner, tmp_path), HTTPRequest("GET", f"http://127.0.0.1:{free_port()}/"))
    assert facts(tmp_path)["status"] is None
    assert facts(tmp_path)["error"]["type"] == "ConnectFailedError"
    with pytest.raises(ConnectFailedError):
        await read_all(ReplayTransport(tmp_path))


async def test_a_replay_equals_its_recording(tmp_path):
    rest = asyncio.Event()
    replies = [
        Reply([b"data: 1\n\n", Hold(rest), b"data: 2\n\n"], headers=[("x-request-id", "r1")]),
        Reply([b'{"error": "busy"}'], status=503, headers=[("content-type", "application/json"), ("retry-after", "2")]),
        Reply([b"data: 3\n\n", Stall()]),
    ]
    live = []

    async def exchange(transport, url):
        got = []
        error = None
        try:
            async with transport.stream(HTTPRequest("POST", url, body=b"{}"), timeouts=Timeouts(idle_s=1)) as response:
                async for chunk in response.chunks():
                    got.append(chunk)
                    rest.set()
        except StreamTimeoutError as caught:
            error = (str(caught), caught.stage, caught.timeout_s)
        return response.status, dict(response.headers), got, error

    async with scripted_server(replies) as server, HttpTransport() as inner:
        transport = RecordTransport(inner, tmp_path)
        live = [await exchange(transport, server.url) for _ in replies]
    replay = ReplayTransport(tmp_path)
    assert [await exchange(replay, server.url) for _ in replies] == live
    assert [status for status, *_ in live] == [200, 503, 200]
    assert live[2][3][1:] == ("idle", 1)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        RecordTransport(ReplayTransport(b""), tmp_path / "file")


async def test_what_is_handed_on_by_the_event_loop_is_written_down_too(tmp_path):
    got = []
    async with (
        scripted_server([[b"one", Pause(0.01), b"two"], [b"three", Close()]]) as server,
        RecordTransport(HttpTransport(), tmp_path) as transport,
    ):
        request = HTTPRequest("POST", server.url)
        async with transport.stream(request) as response:
            pieces = response.chunks()
            assert await flow(pieces, lambda piece: got.append(piece) or False) is True
            assert await flow(pieces, lambda piece: got.append(piece) or True) is False
        async with transport.stream(request) as response:
            with pytest.raises(ConnectionLostError):
                await flow(response.chunks(), lambda piece: got.append(piece) or True)
    assert b"".join(got) == b"onetwothree"
    assert [(tmp_path / f"000{n}.body").read_bytes() for n in (1, 2)] == [b"onetwo", b"three"]
    assert [facts(tmp_path, n)["is_complete"] for n in (1, 2)] == [True, False]
    assert facts(tmp_path, 2)["error"]["type"] == "ConnectionLostError"
