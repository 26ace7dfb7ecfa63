"""Connections on asyncio's transports, as the pool uses them: plain and with TLS, read slowly, broken, timed out."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import struct
import warnings
from contextlib import asynccontextmanager

import httpcore2
import pytest

from headrace.errors import ConnectFailedError
from headrace.io import network
from headrace.io.httpx_transport import HttpTransport
from headrace.io.network import Backend
from headrace.io.transport import HTTPRequest, read_bounded
from servers import free_port
from tls_files import server_context

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"


@asynccontextmanager
async def served(handle, **options):
    """Serve on a free port; gives the port."""
    tasks = set()

    async def run(reader, writer):
        tasks.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handle(reader, writer)
        writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def opened(port):
    return await Backend().connect_tcp("127.0.0.1", port, timeout=5)


async def answer(reader, writer):
    while True:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)


async def test_what_came_in_pieces_is_read_at_once_and_no_more_than_asked_for():
    async def handle(_reader, writer):
        writer.write(b"abc")
        await writer.drain()
        writer.write(b"defgh")

    async with served(handle) as port:
        stream = await opened(port)
        got = b""
        while len(got) < 8:
            piece = await stream.read(3, None)
            assert 0 < len(piece) <= 3
            got += piece
        assert (got, await stream.read(3, 5), await stream.read(3, None)) == (b"abcdefgh", b"", b"")
        await stream.aclose()


async def test_a_slow_reader_slows_its_peer_and_loses_nothing():
    sent = 0

    async def handle(_reader, writer):
        nonlocal sent
        for _ in range(400):
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with served(handle) as port:
        stream = await opened(port)
        before = -1
        while before != sent:  # until the peer waits
            before = sent
            await asyncio.sleep(0.05)
        assert sent < 400 * 65536
        size = 0
        while piece := await stream.read(65536, 5):
            size += len(piece)
        assert size == 400 * 65536
        await stream.aclose()


async def test_a_reset_is_an_error_of_reading_behind_what_came():
    async def handle(_reader, writer):
        writer.write(b"abc")
        await writer.drain()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with served(handle) as port:
        stream = await opened(port)
        assert await stream.read(10, None) == b"abc"
        with pytest.raises(httpcore2.ReadError):
            await stream.read(10, None)
        with pytest.raises(httpcore2.WriteError):
            await stream.write(b"x", None)
        await stream.aclose()


async def test_a_peer_that_takes_nothing_is_an_error_of_writing_in_time():
    async def handle(_reader, _writer):
        await asyncio.Event().wait()

    async with served(handle) as port:
        stream = await opened(port)
        with pytest.raises(httpcore2.WriteTimeout):
            await stream.write(b"x" * (64 << 20), 0.1)
        with pytest.raises(httpcore2.ReadTimeout):
            await stream.read(1, 0.01)
        assert stream.get_extra_info("is_readable") is False
        await stream.aclose()
        assert stream.get_extra_info("is_readable") is True


async def test_a_read_that_was_given_up_leaves_the_stream_whole():
    go = asyncio.Event()

    async def handle(_reader, writer):
        await go.wait()
        writer.write(b"abc")

    async with served(handle) as port:
        stream = await opened(port)
        task = asyncio.create_task(stream.read(10, None))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        assert await stream.read(10, None) == b"abc"
        await stream.aclose()


async def test_where_nobody_listens_there_is_no_connection():
    with pytest.raises(httpcore2.ConnectError):
        await opened(free_port())
    with pytest.raises(httpcore2.ConnectError):
        await Backend().connect_tcp("no-such-host.invalid", 80, timeout=5)


async def test_an_end_that_nobody_waited_for_is_seen():
    """The pool asks before it uses a connection again."""

    async def once(reader, writer):
        await reader.readuntil(b"!")
        writer.write(b"?")

    async with served(once) as port, asyncio.timeout(5):
        stream = await opened(port)
        assert not stream.get_extra_info("is_readable")
        await stream.write(b"!", None)
        assert await stream.read(10, None) == b"?"
        while not stream.get_extra_info("is_readable"):  # noqa: ASYNC110 - the end has no event of its own
            await asyncio.sleep(0)
        await stream.aclose()


async def test_a_connection_with_tls_is_checked_and_used_again(tmp_path):
    context, certificate = server_context(tmp_path)
    async with served(answer, ssl=context) as port, HttpTransport(verify=certificate) as transport:
        for _ in range(3):
            async with transport.stream(HTTPRequest("GET", f"https://localhost:{port}/")) as response:
                assert await read_bounded(response) == b"hello"


async def test_a_certificate_that_nobody_vouches_for_is_no_connection(tmp_path):
    context, _ = server_context(tmp_path)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda *_: None)  # the server's side tells the loop of the handshake that failed
    async with served(answer, ssl=context) as port, HttpTransport() as transport:
        with pytest.raises(ConnectFailedError, match=r"CERTIFICATE_VERIFY_FAILED|self.signed"):
            async with transport.stream(HTTPRequest("GET", f"https://localhost:{port}/")):
                pass


async def test_tls_through_a_proxy(tmp_path):
    context, certificate = server_context(tmp_path)
    asked = []

    async def tunnel(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.split(b"\r\n")[0])
        there, out = await asyncio.open_connection("127.0.0.1", int(head.split(b":")[1].split(b" ")[0]))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def carry(source, target):
            while data := await source.read(65536):
                target.write(data)

        try:
            await asyncio.gather(carry(reader, out), carry(there, writer))
        finally:
            out.close()

    async with (
        served(answer, ssl=context) as port,
        served(tunnel) as proxy,
        HttpTransport(verify=certificate, proxy=f"http://127.0.0.1:{proxy}") as transport,
        transport.stream(HTTPRequest("GET", f"https://localhost:{port}/")) as response,
    ):
        assert await read_bounded(response) == b"hello"
    assert asked == [f"CONNECT localhost:{port} HTTP/1.1".encode()]


class Written:
    """A transport that notes what is written to it."""

    def __init__(self):
        self.pieces = []

    def write(self, data):
        self.pieces.append(bytes(data))


async def test_a_head_leaves_with_its_body_and_alone_when_the_answer_is_asked_for():
    transport, pipe = Written(), network._Pipe()
    stream = network.Stream(transport, pipe)
    await stream.write(b"head ")
    assert transport.pieces == []
    await stream.write(b"body")
    assert transport.pieces == [b"head body"]
    await stream.write(b"head only")
    pipe.data_received(b"answer")
    assert await stream.read(100) == b"answer"
    assert transport.pieces == [b"head body", b"head only"]
    await stream.write(b"x" * network._HELD_BYTES)
    assert len(transport.pieces) == 3


def named(monkeypatch, *addresses):
    """Let every name stand for these addresses."""

    async def getaddrinfo(_self, _host, port, **_options):
        return [(socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)


async def test_of_several_addresses_the_first_that_answers_is_taken(monkeypatch):
    async def handle(_reader, writer):
        writer.write(b"here")

    async with served(handle) as port:
        named(monkeypatch, "::1", "127.0.0.2", "127.0.0.1")  # nobody listens at the first two
        stream = await Backend().connect_tcp("many.example", port, timeout=5)
        assert await stream.read(10, 5) == b"here"
        assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
        await stream.aclose()


async def test_an_address_that_does_not_answer_holds_up_nobody(monkeypatch):
    async def handle(_reader, writer):
        writer.write(b"here")

    async with served(handle) as port:
        # A full backlog: connections there are neither taken nor refused.
        with socket.socket() as full, socket.socket() as filler:
            full.bind(("127.0.0.3", port))
            full.listen(0)
            filler.connect(("127.0.0.3", port))
            fillers = [socket.socket() for _ in range(8)]
            for one in fillers:
                one.setblocking(False)
                one.connect_ex(("127.0.0.3", port))
            named(monkeypatch, "127.0.0.3", "127.0.0.1")
            stream = await Backend().connect_tcp("many.example", port, timeout=5)
            assert await stream.read(10, 5) == b"here"
            await stream.aclose()
            for one in fillers:
                one.close()


async def test_where_no_address_answers_all_reasons_are_told(monkeypatch):
    named(monkeypatch, "127.0.0.2", "127.0.0.1")
    with pytest.raises(httpcore2.ConnectError, match=r"127\.0\.0\.2.*127\.0\.0\.1"):
        await Backend().connect_tcp("many.example", free_port(), timeout=5)


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.1", "127.0.0.2"]])
async def test_a_connection_that_is_given_up_while_it_is_made_is_closed(monkeypatch, addresses):
    async def handle(reader, _writer):
        await reader.read()

    named(monkeypatch, *addresses)
    async with served(handle) as port:
        for turns in range(12):
            task = asyncio.create_task(Backend().connect_tcp("many.example", port, timeout=5))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await task).aclose()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gc.collect()
