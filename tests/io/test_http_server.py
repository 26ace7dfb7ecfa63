"""The small server, spoken to by a real client and byte by byte."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from headrace.errors import ConfigError, ConnectFailedError, ConnectionLostError, StateError
from headrace.io.http_server import MAX_BODY, MAX_HEAD, RefusedError, serving
from headrace.io.httpx_transport import HttpTransport
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.transport import HTTPRequest, read_bounded

JSON = (("content-type", "application/json"),)


class Echo:
    """Answers as a transport does, and keeps what was asked."""

    def __init__(self, *answers, **manner):
        self.asked = []
        self.closed = asyncio.Event()
        self._replay = ReplayTransport(answers or (b"data: 1\n\n",), **manner)

    @asynccontextmanager
    async def __call__(self, request):
        self.asked.append(request)
        async with self._replay.stream(request) as response:
            try:
                yield response
            finally:
                self.closed.set()


class Gate:
    """An answer that gives a piece, then waits for an event, then gives another."""

    status = 200

    def __init__(self, **headers):
        self.headers = headers
        self.gate = asyncio.Event()
        self.left = asyncio.Event()

    async def chunks(self):
        yield b"first"
        await self.gate.wait()
        yield b"last"

    @asynccontextmanager
    async def __call__(self, request):
        try:
            yield self
        except asyncio.CancelledError:
            self.left.set()
            raise


async def spoken(server, sent, *, eof=False):
    """What the server says to these bytes, until it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(sent)
    if eof:
        writer.write_eof()
    said = await reader.read()
    writer.close()
    await writer.wait_closed()
    return said


def get(path="/", *lines, method="GET", version="1.1", host="localhost"):
    return "\r\n".join([f"{method} {path} HTTP/{version}", f"Host: {host}", *lines, "", ""]).encode()


async def asked(url, *, method="POST", body=b"", headers=()):
    async with HttpTransport() as transport, transport.stream(HTTPRequest(method, url, headers, body)) as response:
        return response.status, dict(response.headers), await read_bounded(response)


async def test_an_answer_comes_as_it_is_and_the_request_arrives_as_it_was():
    echo = Echo(Recorded(status=201, headers=(("x-a", "b"), ("content-type", "text/plain")), body=b"hello"))
    async with serving(echo) as server:
        status, headers, body = await asked(f"{server.url}/v1/x?y=1", body=b"ask", headers=(("X-Key", "k"),))
    assert (status, headers["x-a"], headers["content-type"], body) == (201, "b", "text/plain", b"hello")
    (request,) = echo.asked
    assert (request.method, request.url, request.body) == ("POST", "/v1/x?y=1", b"ask")
    assert ("X-Key", "k") in request.headers


async def test_a_piece_is_there_before_the_next_one_comes():
    gate = Gate()
    async with serving(gate) as server, HttpTransport() as transport, transport.stream(HTTPRequest("GET", server.url)) as response:
        chunks = response.chunks()
        assert await anext(chunks) == b"first"
        gate.gate.set()
        assert [chunk async for chunk in chunks] == [b"last"]


async def test_a_client_that_leaves_ends_the_work():
    gate = Gate()
    async with serving(gate) as server:
        async with HttpTransport() as transport, transport.stream(HTTPRequest("GET", server.url)) as response:
            await anext(response.chunks())
        await asyncio.wait_for(gate.left.wait(), 10)


async def test_a_server_that_closes_ends_the_work():
    gate = Gate()
    async with HttpTransport() as transport:
        async with serving(gate) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(get())
            await reader.readuntil(b"first")
        assert gate.left.is_set()
        with pytest.raises(ConnectFailedError):
            async with transport.stream(HTTPRequest("GET", server.url)):
                pass
    writer.close()


async def test_several_requests_use_one_connection_also_when_they_are_sent_ahead():
    echo = Echo(b"a", b"b", b"c")
    async with serving(echo) as server:
        said = await spoken(server, get("/1") + get("/2") + get("/3", "Connection: close"))
    assert [request.url for request in echo.asked] == ["/1", "/2", "/3"]
    assert said.count(b"HTTP/1.1 200 OK") == 3
    assert said.endswith(b"1\r\nc\r\n0\r\n\r\n")


async def test_a_body_in_chunks_is_joined_and_one_that_waits_is_asked_for():
    echo = Echo(b"a", b"b")
    async with serving(echo) as server:
        chunked = (
            get("/", "Transfer-Encoding: chunked", "Expect: 100-continue", method="POST")
            + b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: 1\r\n\r\n"
        )
        said = await spoken(server, chunked + get("/", "Connection: close", "Content-Length: 2", method="POST") + b"fg")
    assert [request.body for request in echo.asked] == [b"abcde", b"fg"]
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET http://elsewhere/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", 400),
        (get("/", "Content-Length: ten"), 400),
        (get("/", f"Content-Length: {MAX_BODY + 1}"), 413),
        (get("/", "Transfer-Encoding: chunked") + b"xyz\r\n", 400),
        (get("/", "Transfer-Encoding: chunked") + b"ffffffff\r\n", 413),
        (get("/", f"X: {'a' * MAX_HEAD}"), 431),
        (get(host="evil.example"), 403),
        (b"GET / HTTP/1.1\r\n\r\n", 403),
    ],
)
async def test_what_cannot_be_read_is_refused_in_json(sent, status):
    echo = Echo()
    async with serving(echo) as server:
        said = await spoken(server, sent, eof=True)
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body)["error"]["type"] == "headrace"
    assert echo.asked == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.1:80", "[::1]:5", "LOCALHOST:1"])
async def test_names_of_this_machine_are_good(host):
    async with serving(Echo()) as server:
        assert (await spoken(server, get("/", "Connection: close", host=host))).startswith(b"HTTP/1.1 200")


async def test_where_it_listens_for_everybody_every_name_is_good():
    async with serving(Echo(), host="0.0.0.0") as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
        assert (await spoken(server, get("/", "Connection: close", host="box.lan"))).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", get("/", "Content-Length: 5") + b"abc", get("/", "Transfer-Encoding: chunked") + b"5\r\nab"]
)
async def test_a_request_that_breaks_off_gets_no_answer(sent):
    echo = Echo()
    async with serving(echo) as server:
        assert await spoken(server, sent, eof=True) == b""
    assert echo.asked == []


async def test_a_refusal_and_failures_before_the_answer_are_told():
    def refuse(error):
        def answer(request):
            raise error

        return answer

    for error, status, code in (
        (RefusedError(410, "gone", "no more"), 410, "gone"),
        (ConnectFailedError("no route"), 502, "bad_gateway"),
        (StateError("closed"), 400, "bad_request"),
    ):
        async with serving(refuse(error)) as server:
            got, headers, body = await asked(server.url)
        assert (got, headers["content-type"]) == (status, "application/json")
        assert json.loads(body)["error"] == {"message": str(error), "type": "headrace", "code": code}


@pytest.mark.parametrize("is_reset", [True, False])
async def test_an_answer_that_breaks_off_is_seen_to_be_broken(is_reset):
    for headers in ((), (("content-length", "100"),)):
        async with (
            serving(Echo(Recorded(headers=headers, body=b"abc"), reset=True), is_reset=is_reset) as server,
            HttpTransport() as transport,
        ):
            with pytest.raises(ConnectionLostError, match="after 1 chunks"):
                async with transport.stream(HTTPRequest("GET", server.url)) as response:
                    await read_bounded(response)


async def test_a_body_shorter_than_it_says_ends_the_connection():
    async with serving(Echo(Recorded(headers=(("content-length", "9"),), body=b"abc"))) as server:
        assert (await spoken(server, get())).endswith(b"content-length: 9\r\n\r\nabc")


async def test_an_old_client_gets_a_body_that_ends_with_the_connection():
    async with serving(Echo(b"abc")) as server:
        said = await spoken(server, get(version="1.0"))
    assert said.endswith(b"\r\n\r\nabc")
    assert b"transfer-encoding" not in said
    async with serving(Echo(b"abc", reset=True)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(get(version="1.0"))
        await reader.readuntil(b"abc")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_what_has_no_body_gets_none(method, status):
    async with serving(Echo(Recorded(status=status, body=b"abc"))) as server:
        said = await spoken(server, get("/", "Connection: close", method=method))
    assert said.startswith(b"HTTP/1.1 %d" % status)
    assert said.endswith(b"\r\n\r\n")
    assert b"transfer-encoding" not in said


async def test_a_status_without_a_name_is_served():
    async with serving(Echo(Recorded(status=599, body=b"a"))) as server:
        assert (await spoken(server, get("/", "Connection: close"))).startswith(b"HTTP/1.1 599 Unknown\r\n")


async def test_an_address_that_is_taken_is_said():
    async with serving(Echo()) as server:
        for host, port in (("127.0.0.1", server.port), ("127.0.0.1", 70000), ("203.0.113.1", 0)):
            with pytest.raises(ConfigError, match=str(port)):
                async with serving(Echo(), host=host, port=port):
                    pass


async def test_an_address_of_six_is_put_in_brackets():
    async with serving(Echo()) as server:
        server.host = "::1"
        assert server.url == f"http://[::1]:{server.port}"


async def test_a_client_that_sends_ahead_without_end_has_to_wait():
    """What it sends is read for its next request up to a bound; the answer at hand goes on."""
    gate = Gate()
    async with serving(gate) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(get() + b"x" * (2 * MAX_HEAD + 100_000))
        await reader.readuntil(b"first")
        gate.gate.set()
        assert (await reader.readuntil(b"0\r\n\r\n")).endswith(b"last\r\n0\r\n\r\n")
        writer.close()
