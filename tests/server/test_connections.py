"""The connections of a server: who only holds one makes room, and who vanished is noticed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time

import pytest

from headrace.server import connections
from headrace.server import listening as listening_module
from headrace.server.asgi import ClientLeftError, read_body, send_start, send_whole
from headrace.server.listening import Bounds, listen, listening, max_open

ASKS = b"GET %s HTTP/1.1\r\nhost: localhost\r\n\r\n"


class Application:
    """Answers at once, or, at `/slow`, when it is told to; at `/early` before the body has come."""

    def __init__(self):
        self.is_due = asyncio.Event()
        self.begun = 0

    async def __call__(self, scope, receive, send):
        self.begun += 1
        if scope["path"] == "/slow":
            await send_start(send, 200, (("content-type", "text/plain"),))
            await send({"type": "http.response.body", "body": b"wait", "more_body": True})
            await self.is_due.wait()
            await send({"type": "http.response.body", "body": b"done"})
            return
        if scope["path"] != "/early":
            with contextlib.suppress(ClientLeftError):
                await read_body({}, receive, 1 << 20)
        await send_whole(send, 200, b"{}")


@contextlib.asynccontextmanager
async def served(**bounds):
    app = Application()
    values = {"max_requests": 2, "max_idle": 3, "arrival_s": 30.0, "shutdown_s": 1.0} | bounds
    async with listening(app, "127.0.0.1", 0, Bounds(**values), feature="a test") as url:
        try:
            yield app, int(url.rpartition(":")[2])
        finally:
            app.is_due.set()


@contextlib.asynccontextmanager
async def connected(port, data=b""):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def answer(reader):
    return (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)).decode().split()[1]


async def is_closed(reader):
    """Wait until the server has closed a connection, and return what it had sent."""
    with contextlib.suppress(ConnectionResetError):
        return await asyncio.wait_for(reader.read(), 5)
    return b""


@pytest.mark.parametrize("held", [b"", b"GET /slow HTTP/1.1\r\nhost: loc", ASKS % b"/"], ids=["silent", "half a head", "answered"])
async def test_who_asks_nothing_makes_room_and_never_who_is_answered(held):
    async with served() as (app, port), contextlib.AsyncExitStack() as open_ones:
        slow, _ = await open_ones.enter_async_context(connected(port, ASKS % b"/slow"))
        assert await answer(slow) == "200"
        idle = []
        for n in range(40):
            reader, _ = await open_ones.enter_async_context(connected(port, held))
            if held.endswith(b"\r\n\r\n"):
                assert await answer(reader) == "200"
            idle.append(reader)
            if n >= 5:
                await is_closed(idle[n - 5])  # there are five places, of which one is taken: the longest idle goes
        async with connected(port, ASKS % b"/") as (reader, _):
            assert await answer(reader) == "200"
        app.is_due.set()
        assert await asyncio.wait_for(slow.readuntil(b"done"), 5)


async def test_a_flood_of_connections_at_once_locks_nobody_out():
    async with served(max_requests=10, max_idle=20) as (_, port), contextlib.AsyncExitStack() as open_ones:
        flood = [open_ones.enter_async_context(connected(port, b"POST / HTT")) for _ in range(500)]
        held = [reader for reader, _ in await asyncio.gather(*flood)]
        async with connected(port, ASKS % b"/") as (reader, _):
            assert await answer(reader) == "200"
        closed = await asyncio.gather(*(is_closed(reader) for reader in held[:470]))
        assert not any(closed)


def said_to_who_reads_late(port):
    """Ask, go on asking, and only then read: a connection that was reset meanwhile has forgotten what it was told."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        for _ in range(3):
            connection.sendall(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3000\r\n\r\n" + b"x" * 3000)
            time.sleep(0.1)  # a reset has time to come
        return connection.recv(1000)


async def test_where_all_are_answered_the_newest_is_told_to_come_back():
    async with served() as (app, port), contextlib.AsyncExitStack() as open_ones:
        slow = [await open_ones.enter_async_context(connected(port, ASKS % b"/slow")) for _ in range(5)]
        for reader, _ in slow:
            assert await answer(reader) == "200"
        text = await asyncio.to_thread(said_to_who_reads_late, port)
        assert text.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 1\r\n" in text
        assert app.begun == 5
        app.is_due.set()
        for reader, _ in slow:
            assert await asyncio.wait_for(reader.readuntil(b"done"), 5)


async def write_on(writer):
    """Write for as long as the other end takes it."""
    while True:
        writer.write(b"x" * 1000)
        await writer.drain()
        await asyncio.sleep(0.01)


async def test_who_was_refused_and_does_not_close_is_closed(monkeypatch):
    monkeypatch.setattr(connections, "_GOODBYE_S", 0.2)
    async with served() as (_, port), contextlib.AsyncExitStack() as open_ones:
        for _ in range(5):
            reader, _ = await open_ones.enter_async_context(connected(port, ASKS % b"/slow"))
            assert await answer(reader) == "200"
        async with connected(port) as (reader, writer):
            assert (await is_closed(reader)).startswith(b"HTTP/1.1 503 ")
            with pytest.raises(OSError, match=r"reset|Broken pipe|lost"):
                await asyncio.wait_for(write_on(writer), 5)


async def test_an_answer_that_is_on_its_way_is_not_cut_for_the_next_request_that_comes_slowly():
    async with served(arrival_s=0.2) as (app, port), connected(port, ASKS % b"/slow" + b"\r\n") as (reader, writer):
        assert await answer(reader) == "200"
        writer.write(b"GET /")
        async with connected(port, b"GET /") as (other, _):
            await is_closed(other)  # so long one may take
        app.is_due.set()
        assert await asyncio.wait_for(reader.readuntil(b"done"), 5)


async def test_the_rest_of_a_body_whose_request_is_answered_may_not_drip_for_ever(monkeypatch):
    monkeypatch.setattr(connections, "_LINGER_S", 0.3)
    head = b"POST /early HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n"
    async with served() as (_, port), connected(port, head) as (reader, writer):
        assert await answer(reader) == "200"
        began_s = time.monotonic()
        closed = asyncio.create_task(is_closed(reader))
        while not closed.done():
            writer.write(b"x")
            await asyncio.wait({closed}, timeout=0.02)
            assert time.monotonic() - began_s < 5


async def test_a_body_that_comes_whole_after_its_answer_leaves_the_connection_for_the_next_request(monkeypatch):
    monkeypatch.setattr(connections, "_LINGER_S", 0.2)
    head = b"POST /early HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n"
    async with served() as (_, port), connected(port, head) as (reader, writer):
        assert await answer(reader) == "200"
        writer.write(b"late")
        await asyncio.sleep(0.3)  # past the time that it had
        await reader.readexactly(2)
        writer.write(ASKS % b"/")
        assert await answer(reader) == "200"


def test_clients_that_vanish_are_asked_about_on_each_connection():
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT"):
                if hasattr(socket, name):
                    asked = listener.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
                    assert connection.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) == asked > 0


@pytest.mark.parametrize(("files", "connections_"), [(1024, 512), (65_536, 5000), (None, 5000)])
def test_no_more_connections_are_open_than_half_of_the_files_that_may_be(monkeypatch, files, connections_):
    monkeypatch.setattr(listening_module, "max_files", lambda: files)
    assert max_open(Bounds(max_requests=4000, arrival_s=1.0, shutdown_s=1.0)) == connections_


def test_a_service_may_open_as_many_files_as_the_system_allows():
    resource = pytest.importorskip("resource", reason="not on every system")
    said = """
import resource
from headrace.server.files import allow_many_files, max_files
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
assert max_files() == 256
allow_many_files()
print(max_files())
"""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, timeout=30, check=True)
    assert int(done.stdout) == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536))
