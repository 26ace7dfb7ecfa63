"""One HTTP/1.1 connection over a stream of scripted bytes: what it gives, and when it may be used again."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.io.exchange import Outgoing
from headrace.io.http11 import Http11Connection

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
BODY = b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"


class Scripted:
    """A stream that gives these reads, then its end, and takes all that is written."""

    def __init__(self, *reads, fails=False):
        self.reads = list(reads)
        self.written = b""
        self.is_closed = False
        self.is_readable = False
        self._fails = fails

    async def write(self, buffer):
        if self._fails:
            raise httpcore2.WriteError("the peer takes no more")
        self.written += buffer

    async def read(self, _max_bytes):
        await asyncio.sleep(0)
        return self.reads.pop(0) if self.reads else b""

    async def aclose(self):
        self.is_closed = True

    def get_extra_info(self, info):
        return {"is_readable": self.is_readable}[info]


def connected(stream, *, keepalive_s=60):
    connection = Http11Connection(httpcore2.Origin(b"http", b"model.example", 80), ssl_context=None, keepalive_s=keepalive_s)
    connection._stream = stream
    return connection


def asked(method="POST", content=b"{}", headers=()):
    own = [(b"host", b"model.example"), *headers]
    if content:
        own.append((b"content-length", b"%d" % len(content)))
    return Outgoing(method, httpcore2.URL("http://model.example/v1"), own, content, 1)


async def body_of(response):
    try:
        return b"".join([piece async for piece in response.body])
    finally:
        await response.body.aclose()


async def test_a_request_is_written_whole_and_its_answer_read_to_the_end():
    connection = connected(stream := Scripted(CHUNKED + BODY))
    response = await connection.ask(asked())
    assert (response.status, response.headers) == (200, [(b"transfer-encoding", b"chunked")])
    assert not connection.is_idle()
    assert await body_of(response) == b"onetwo"
    assert stream.written == b"POST /v1 HTTP/1.1\r\nhost: model.example\r\ncontent-length: 2\r\n\r\n{}"
    assert connection.is_idle()
    assert not connection.has_expired()


@given(st.lists(st.integers(1, len(CHUNKED + BODY) - 1), unique=True).map(sorted))
async def test_however_an_answer_is_cut_it_is_the_same_and_the_next_one_follows(cuts):
    whole = CHUNKED + BODY
    places = [0, *cuts, len(whole)]
    pieces = [whole[at:to] for at, to in pairwise(places)]
    connection = connected(Scripted(*pieces, *pieces))
    for _ in range(2):
        assert await body_of(await connection.ask(asked())) == b"onetwo"


@given(st.integers(0, len(CHUNKED + BODY) - 1))
async def test_an_answer_that_is_cut_off_anywhere_is_an_error_and_the_end_of_the_connection(at):
    connection = connected(stream := Scripted((CHUNKED + BODY)[:at]))
    with pytest.raises(httpcore2.RemoteProtocolError):
        await body_of(await connection.ask(asked()))
    assert stream.is_closed
    assert not connection.is_idle()


@pytest.mark.parametrize("content", [b"", b"{}"])
async def test_a_request_may_have_no_body(content):
    connection = connected(stream := Scripted(b"HTTP/1.1 204 No Content\r\n\r\n"))
    response = await connection.ask(asked("GET", content))
    assert await body_of(response) == b""
    assert stream.written.endswith(b"\r\n\r\n" + content)
    assert connection.is_idle()


async def test_what_a_peer_says_before_its_answer_is_passed_over():
    connection = connected(Scripted(b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED, BODY))
    response = await connection.ask(asked())
    assert response.status == 200
    assert await body_of(response) == b"onetwo"


async def test_a_peer_that_refuses_what_it_has_not_read_is_heard():
    connection = connected(stream := Scripted(b"HTTP/1.1 413 Too Large\r\nconnection: close\r\n\r\nno", fails=True))
    response = await connection.ask(asked())
    assert response.status == 413
    assert await body_of(response) == b"no"
    assert stream.is_closed


async def test_a_peer_that_changes_the_protocol_is_an_error():
    connection = connected(stream := Scripted(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"))
    with pytest.raises(httpcore2.RemoteProtocolError, match="protocol"):
        await connection.ask(asked(headers=[(b"upgrade", b"x"), (b"connection", b"upgrade")]))
    assert stream.is_closed


async def test_what_cannot_be_written_is_an_error_of_ours():
    connection = connected(stream := Scripted(CHUNKED + BODY))
    with pytest.raises(httpcore2.LocalProtocolError):
        await connection.ask(asked(headers=[(b"bad name", b"x")]))
    assert stream.written == b""
    assert stream.is_closed


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n") + BODY,
        CHUNKED + BODY + b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged",
        b"HTTP/1.0 200 OK\r\n\r\nonetwo",
    ],
    ids=["the peer says so", "something came behind its answer", "the answer ends with it"],
)
async def test_a_connection_that_is_of_no_more_use_is_closed(answer):
    connection = connected(stream := Scripted(answer))
    assert await body_of(await connection.ask(asked())) == b"onetwo"
    assert stream.is_closed
    assert not connection.is_idle()


async def test_an_answer_that_is_left_closes_the_connection_and_only_its_own():
    connection = connected(stream := Scripted(CHUNKED + BODY, CHUNKED + b"3\r\none\r\n"))
    first = await connection.ask(asked())
    assert await body_of(first) == b"onetwo"
    second = await connection.ask(asked())
    await first.body.aclose()
    assert not stream.is_closed
    assert await anext(aiter(second.body)) == b"one"
    await second.body.aclose()
    assert stream.is_closed
    assert [piece async for piece in second.body] == []


async def test_a_connection_expires_when_it_is_unused_for_long_or_its_peer_speaks(monkeypatch):
    connection = connected(stream := Scripted(CHUNKED + BODY), keepalive_s=5)
    assert not connection.has_expired()
    await body_of(await connection.ask(asked()))
    assert not connection.has_expired()
    stream.is_readable = True
    assert connection.has_expired()
    stream.is_readable = False
    later = time.monotonic() + 6
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert connection.has_expired()


async def test_cancellation_closes_the_connection():
    class Silent(Scripted):
        async def read(self, _max_bytes):
            await asyncio.Event().wait()

    connection = connected(stream := Silent())
    task = asyncio.ensure_future(connection.ask(asked()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stream.is_closed
