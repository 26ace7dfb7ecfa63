"""A proxy between a real client and a real server: nothing buffered, nothing lost, nothing secret written down."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from headrace.errors import ConnectionLostError
from headrace.io.forward import Forwarder
from headrace.io.http_server import RefusedError, serving
from headrace.io.httpx_transport import HttpTransport
from headrace.io.record import RecordTransport
from headrace.io.replay import ReplayTransport
from headrace.io.transport import HTTPRequest, read_bounded
from servers import Close, Hold, Reply, Stall, free_port, scripted_server

KEY = "sk-very-secret-key-123456"


@asynccontextmanager
async def proxied(replies, transport, more_routes=()):
    """A scripted server, and a proxy in front of it."""
    async with (
        scripted_server(replies) as upstream,
        transport,
        serving(Forwarder(transport, {"": upstream.url, **dict(more_routes)})) as server,
    ):
        yield upstream, server


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/a/v1/x?y=1", "http://one/v1/x?y=1"),
        ("/a", "http://one"),
        ("/a?y", "http://one?y"),
        ("/a/b/c", "http://two/v2/c"),
        ("/ab/c", "http://all/ab/c"),
        ("/c", "http://all/c"),
    ],
)
async def test_the_longest_beginning_of_a_path_says_where_it_goes(path, url):
    replay = ReplayTransport([b"a"])
    forward = Forwarder(replay, {"": "http://all", "/a": "http://one", "/a/b": "http://two/v2/"})
    async with forward(HTTPRequest("POST", path, (), b"body")) as response:
        assert await read_bounded(response) == b"a"
    (request,) = replay.requests
    assert (request.method, request.url, request.body) == ("POST", url, b"body")


def test_a_path_that_nobody_has_is_refused():
    with pytest.raises(RefusedError, match="/a, /b") as caught:
        Forwarder(ReplayTransport([b"a"]), {"/b": "http://b", "/a": "http://a"})(HTTPRequest("GET", "/c?key=secret"))
    assert caught.value.status == 404
    assert "secret" not in str(caught.value)


async def test_headers_of_the_connection_stay_behind_and_the_others_go_on():
    async with proxied([[b"data: 1\n\n"]], HttpTransport()) as (upstream, server), HttpTransport() as client:
        headers = (
            ("authorization", f"Bearer {KEY}"),
            ("x-a", "b"),
            ("te", "gzip"),
            ("accept-encoding", "gzip"),
            ("user-agent", "mine"),
        )
        async with client.stream(HTTPRequest("POST", f"{server.url}/v1/x", headers, b"ask")) as response:
            assert await read_bounded(response) == b"data: 1\n\n"
    (request,) = upstream.requests
    assert (request.path, request.body) == ("/v1/x", b"ask")
    assert request.headers["host"] == upstream.url.removeprefix("http://")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (request.headers["x-a"], request.headers["user-agent"], request.headers["accept-encoding"]) == ("b", "mine", "identity")
    assert "te" not in request.headers


async def test_bytes_pass_while_the_upstream_still_speaks_and_are_recorded_without_the_key(tmp_path):
    gate = asyncio.Event()
    steps = [b"data: 1\n\n", Hold(gate), f"data: {KEY}\n\n".encode()]
    async with proxied([steps], RecordTransport(HttpTransport(), tmp_path)) as (_, server), HttpTransport() as client:
        request = HTTPRequest("POST", f"{server.url}/v1/x", (("authorization", f"Bearer {KEY}"),), b'{"a":1}')
        async with client.stream(request) as response:
            chunks = response.chunks()
            assert await anext(chunks) == b"data: 1\n\n"
            gate.set()
            assert b"".join([chunk async for chunk in chunks]) == steps[2]
    written = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert len(list(tmp_path.iterdir())) == 3
    assert KEY.encode() not in written
    assert b"data: 1\n\ndata: " + b"*" * len(KEY) in written


async def test_when_the_client_leaves_the_upstream_is_left_too():
    reply = Reply([b"data: 1\n\n", Stall()])
    async with proxied([reply], HttpTransport()) as (_, server):
        async with HttpTransport() as client, client.stream(HTTPRequest("GET", server.url)) as response:
            await anext(response.chunks())
        await asyncio.wait_for(reply.left.wait(), 10)


async def test_an_upstream_that_breaks_off_or_is_not_there_is_seen_as_such():
    nobody = {"/nobody": f"http://127.0.0.1:{free_port()}"}
    async with proxied([[b"data: 1\n\n", Close()]], HttpTransport(), nobody) as (_, server), HttpTransport() as client:
        with pytest.raises(ConnectionLostError):
            async with client.stream(HTTPRequest("GET", server.url)) as response:
                await read_bounded(response)
        async with client.stream(HTTPRequest("GET", f"{server.url}/nobody/x")) as response:
            assert (response.status, b"bad_gateway" in await read_bounded(response)) == (502, True)
