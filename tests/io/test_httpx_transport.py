"""The transport over HTTP, against a real server on loopback that pauses, stalls, resets and lies about lengths."""

from __future__ import annotations

import asyncio
import base64
import gzip
import logging
import ssl
import sys
import traceback

import pytest

from headrace.errors import ConfigError, ConnectFailedError, ConnectionLostError, StateError, StreamTimeoutError
from headrace.io.httpx_transport import HttpTransport
from headrace.io.transport import HTTPRequest, Timeouts, read_bounded
from servers import Close, Hold, Pause, Reply, Reset, Stall, free_port, scripted_server

LIMITS = Timeouts(idle_s=20, first_chunk_s=20)
KEY = "sk-very-secret-key-123"


def post(url, **fields):
    return HTTPRequest("POST", f"{url}/v1/chat/completions", **fields)


async def read_all(transport, request, timeouts=LIMITS):
    got = []
    await read_into(got, transport, request, timeouts)
    return got


async def read_into(got, transport, request, timeouts=LIMITS, *, seen=None, then=lambda: None):
    """Read an answer into a list that is there also if reading fails; `seen` is set, and `then` called, after each chunk."""
    async with transport.stream(request, timeouts=timeouts) as response:
        async for chunk in response.chunks():
            got.append(chunk)
            if seen is not None:
                seen.set()
            then()


@pytest.fixture
async def transport():
    async with HttpTransport() as transport:
        yield transport


async def test_a_request_arrives_as_it_was_made(transport):
    async with scripted_server([[b"ok"]]) as server:
        request = post(server.url, headers=(("Authorization", f"Bearer {KEY}"), ("X-A", "1")), body=b'{"a": 1}')
        async with transport.stream(request) as response:
            assert response.status == 200
            assert response.headers["content-type"] == "text/event-stream"
            assert await read_bounded(response) == b"ok"
        (received,) = server.requests
    assert (received.method, received.path, received.body) == ("POST", "/v1/chat/completions", b'{"a": 1}')
    assert received.headers == {
        "host": server.url.removeprefix("http://"),
        "authorization": f"Bearer {KEY}",
        "x-a": "1",
        "accept": "*/*",
        "accept-encoding": "identity",
        "user-agent": "headrace",
        "content-length": "8",
    }


async def test_a_chunk_is_handed_on_while_the_rest_is_held_back(transport):
    rest = asyncio.Event()
    async with scripted_server([[b"data: 1\n\n", Hold(rest), b"data: 2\n\n"]]) as server, transport.stream(post(server.url)) as response:
        chunks = response.chunks()
        assert await anext(chunks) == b"data: 1\n\n"
        rest.set()
        assert await anext(chunks) == b"data: 2\n\n"
        with pytest.raises(StopAsyncIteration):
            await anext(chunks)


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
async def test_a_body_is_whole_in_every_framing(transport, framing):
    async with scripted_server([Reply([b"one", b"two"], framing=framing)]) as server:
        assert b"".join(await read_all(transport, post(server.url))) == b"onetwo"


async def test_a_body_that_was_read_to_its_end_leaves_the_connection_for_the_next_request(transport):
    async with scripted_server([[b"one"], [b"two"]]) as server:
        assert await read_all(transport, post(server.url)) == [b"one"]
        assert await read_all(transport, post(server.url)) == [b"two"]
        assert server.connections == 1


async def test_an_error_status_is_an_answer_and_its_body_is_read_within_a_bound(transport):
    steps = [b"x" * 1000 for _ in range(100)]
    async with scripted_server([Reply([*steps, Stall()], status=503, headers=[("Retry-After", "3")])]) as server:
        async with transport.stream(post(server.url)) as response:
            assert response.status == 503
            assert response.headers["retry-after"] == "3"
            assert await read_bounded(response, limit=50_500) == b"x" * 50_500
        await server.replies[0].left.wait()


async def test_a_redirect_is_not_followed(transport):
    async with scripted_server([Reply(status=307, headers=[("location", "http://127.0.0.1:1/")], framing="length")]) as server:
        async with transport.stream(post(server.url)) as response:
            assert response.status == 307
        assert len(server.requests) == 1


async def test_cookies_of_one_answer_do_not_go_along_with_the_next_request(transport):
    async with scripted_server([Reply([b"a"], headers=[("set-cookie", "session=1")]), [b"b"]]) as server:
        await read_all(transport, post(server.url))
        await read_all(transport, post(server.url))
        assert "cookie" not in server.requests[1].headers


async def test_a_gateway_that_compresses_unasked_is_understood(transport):
    reply = Reply([gzip.compress(b"data: 1\n\n")], framing="length", headers=[("content-encoding", "gzip")])
    async with scripted_server([reply]) as server, transport.stream(post(server.url)) as response:
        assert await read_bounded(response) == b"data: 1\n\n"
        assert "content-encoding" not in response.headers
        assert "content-length" not in response.headers


async def test_broken_compression_is_a_lost_connection(transport):
    async with scripted_server([Reply([b"no gzip"], headers=[("content-encoding", "gzip")])]) as server:
        with pytest.raises(ConnectionLostError):
            await read_all(transport, post(server.url))


# --- limits


async def test_a_stall_in_the_body_runs_into_the_idle_limit(transport):
    async with scripted_server([[b"one", b"two", Stall()]]) as server:
        got = []
        with pytest.raises(StreamTimeoutError, match=r"no bytes for 1 s") as caught:
            await read_into(got, transport, post(server.url), Timeouts(idle_s=1))
        assert b"".join(got) == b"onetwo"
        assert (caught.value.stage, caught.value.timeout_s, caught.value.chunks) == ("idle", 1, len(got))
        assert isinstance(caught.value, TimeoutError)
        assert asyncio.current_task().cancelling() == 0
        await server.replies[0].left.wait()


@pytest.mark.parametrize("reply", [Reply(before_headers=[Stall()]), Reply([Stall()])], ids=["before the headers", "after the headers"])
async def test_an_answer_that_does_not_begin_runs_into_the_first_chunk_limit(transport, reply):
    async with scripted_server([reply]) as server:
        with pytest.raises(StreamTimeoutError) as caught:
            await read_all(transport, post(server.url), Timeouts(first_chunk_s=0.05))
        assert (caught.value.stage, caught.value.timeout_s, caught.value.chunks) == ("first_chunk", 0.05, 0)
        await reply.left.wait()


async def test_the_time_until_the_headers_counts_towards_the_first_chunk(transport):
    async with scripted_server([Reply([Pause(0.2), b"late"], before_headers=[Pause(0.2)])]) as server:
        with pytest.raises(StreamTimeoutError, match="first bytes"):
            await read_all(transport, post(server.url), Timeouts(first_chunk_s=0.3))


async def test_comments_reset_the_idle_limit(transport):
    steps = [b"data: 1\n\n", *[step for _ in range(8) for step in (Pause(0.3), b": still here\n\n")], b"data: 2\n\n"]
    async with scripted_server([steps]) as server:
        # All pauses together are twice the limit.
        body = b"".join(await read_all(transport, post(server.url), Timeouts(idle_s=1.2)))
    assert body.endswith(b"data: 2\n\n")


async def test_a_short_idle_limit_is_kept_also_after_a_long_first_chunk_limit(transport):
    async with scripted_server([[b"one", Stall()]]) as server:
        with pytest.raises(StreamTimeoutError, match="no bytes"):
            await asyncio.wait_for(read_all(transport, post(server.url), Timeouts(first_chunk_s=1000, idle_s=0.05)), 20)


async def test_the_total_limit_ends_an_answer_that_never_ends(transport):
    async with scripted_server([[step for _ in range(1000) for step in (b"on and on", Pause(0.01))]]) as server:
        with pytest.raises(StreamTimeoutError) as caught:
            await read_all(transport, post(server.url), Timeouts(total_s=1))
    assert caught.value.stage == "total"
    assert caught.value.chunks > 1


async def test_the_total_limit_counts_the_readers_own_time_but_does_not_interrupt_it(transport):
    async with (
        scripted_server([[b"one", Stall()]]) as server,
        transport.stream(post(server.url), timeouts=Timeouts(total_s=1)) as response,
    ):
        chunks = response.chunks()
        await anext(chunks)
        await asyncio.sleep(1.2)
        with pytest.raises(StreamTimeoutError, match=r"not whole after 1 s"):
            await anext(chunks)


async def test_a_slow_reader_is_not_taken_for_a_slow_peer(transport):
    async with scripted_server([[b"one", b"two"]]) as server:
        async with transport.stream(post(server.url), timeouts=Timeouts(first_chunk_s=1, idle_s=1)) as response:
            await asyncio.sleep(1.25)
            got = []
            async for chunk in response.chunks():
                got.append(chunk)
                await asyncio.sleep(1.25)
        assert b"".join(got) == b"onetwo"


async def test_no_limits_means_no_limits_and_no_timer(transport):
    loop = asyncio.get_running_loop()
    gate = asyncio.Event()
    async with scripted_server([[b"one", Hold(gate), b"two"]]) as server:
        limits = Timeouts(connect_s=None, first_chunk_s=None, idle_s=None, total_s=None)
        async with transport.stream(post(server.url), timeouts=limits) as response:
            chunks = response.chunks()
            await anext(chunks)
            assert not loop._scheduled
            gate.set()
            assert await anext(chunks) == b"two"


async def test_a_stream_of_many_chunks_has_one_timer(transport):
    loop = asyncio.get_running_loop()
    made = []
    call_at = loop.call_at

    def counted(when, callback, *args, **kwargs):
        made.append(callback)
        return call_at(when, callback, *args, **kwargs)

    async with scripted_server([[b"x"] * 500]) as server:
        loop.call_at = counted
        try:
            await read_all(transport, post(server.url))
        finally:
            del loop.call_at
    # One to the first chunk, one after it, and a few for connecting.
    assert len(made) <= 6


async def test_waiting_for_a_free_connection_has_the_connect_limit():
    async with HttpTransport(max_connections=1) as transport, scripted_server([[b"one", Stall()]]) as server:
        async with transport.stream(post(server.url)):
            with pytest.raises(StreamTimeoutError) as caught:
                await read_all(transport, post(server.url), Timeouts(connect_s=0.05))
        assert caught.value.stage == "connect"


# --- breaks


@pytest.mark.parametrize(
    "reply",
    [
        Reply([b"one", Reset()]),
        Reply([b"one", Close()]),
        Reply([b"one"], framing="length", length=100),
        Reply([b"one", Reset()], framing="length", length=100),
        Reply([b"one", Reset()], framing="close"),
    ],
    ids=["reset", "no last chunk", "short of its length", "reset short of its length", "reset until close"],
)
async def test_a_body_that_breaks_off_is_a_lost_connection_after_its_bytes(transport, reply):
    # The client must have the first bytes before the reset, which may throw away what it has not read.
    seen = asyncio.Event()
    reply.steps = [reply.steps[0], Hold(seen), *reply.steps[1:]]
    async with scripted_server([reply]) as server:
        got = []
        with pytest.raises(ConnectionLostError, match="after 1 chunks") as caught:
            await read_into(got, transport, post(server.url), seen=seen)
        assert got == [b"one"]
        assert caught.value.__cause__ is not None


@pytest.mark.parametrize("step", [Reset(), Close(), b"this is no HTTP\r\n\r\n"])
async def test_a_peer_that_breaks_before_the_answer_is_a_lost_connection(transport, step):
    async with scripted_server([Reply(before_headers=[step, Close()])]) as server:
        with pytest.raises(ConnectionLostError, match="before the answer"):
            await read_all(transport, post(server.url))


async def test_a_refused_connection_is_a_connection_that_failed(transport):
    with pytest.raises(ConnectFailedError, match="no connection") as caught:
        await read_all(transport, post(f"http://127.0.0.1:{free_port()}"))
    assert caught.value.__cause__ is not None


async def test_a_peer_without_tls_is_a_connection_that_failed(transport):
    async def plain(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server:
        with pytest.raises(ConnectFailedError, match="SSL"):
            await read_all(transport, post(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"))


async def test_a_handshake_that_stalls_has_the_connect_limit(transport):
    async with scripted_server([]) as server:
        with pytest.raises(StreamTimeoutError) as caught:
            await read_all(transport, post(server.url.replace("http:", "https:")), Timeouts(connect_s=0.1))
    assert (caught.value.stage, caught.value.timeout_s) == ("connect", 0.1)


# --- leaving


async def test_leaving_early_closes_the_connection(transport):
    async with scripted_server([[b"one", Stall()]]) as server:
        async with transport.stream(post(server.url)) as response:
            async for _ in response.chunks():
                break
        await server.replies[0].left.wait()


async def test_closing_the_answer_closes_the_connection_inside_the_block_too(transport):
    async with scripted_server([[b"one", Stall()]]) as server, transport.stream(post(server.url)) as response:
        await response.aclose()
        await server.replies[0].left.wait()
        await response.aclose()


async def test_an_exception_of_the_reader_passes_and_closes_the_connection(transport):
    async with scripted_server([[b"one", Stall()]]) as server:
        with pytest.raises(ZeroDivisionError):
            await read_into([], transport, post(server.url), then=lambda: 1 / 0)
        await server.replies[0].left.wait()


async def test_cancellation_passes_and_closes_the_connection_before_the_answer(transport):
    async with scripted_server([Reply(before_headers=[Stall()])]) as server:
        task = asyncio.ensure_future(read_all(transport, post(server.url)))
        await server.replies[0].asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.replies[0].left.wait()


async def test_cancellation_passes_and_closes_the_connection_within_the_answer(transport):
    async with scripted_server([[b"one", Stall()]]) as server:
        seen = asyncio.Event()
        task = asyncio.ensure_future(read_into([], transport, post(server.url), seen=seen))
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.replies[0].left.wait()


async def test_a_timeout_of_the_caller_raises_as_the_callers(transport):
    async with scripted_server([[b"one", Stall()]]) as server:
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0.05):
                await read_all(transport, post(server.url))
        assert not isinstance(caught.value, StreamTimeoutError)


async def test_closing_from_another_task_ends_the_read(transport):
    async with scripted_server([[b"one", Stall()]]) as server, transport.stream(post(server.url)) as response:
        chunks = response.chunks()
        assert await anext(chunks) == b"one"

        async def read_next():
            return await anext(chunks)

        reader = asyncio.ensure_future(read_next())
        await asyncio.sleep(0)
        await response.aclose()
        with pytest.raises(ConnectionLostError):
            await reader


# --- wrong use


async def test_a_body_can_be_read_once(transport):
    async with scripted_server([[b"one"]]) as server, transport.stream(post(server.url)) as response:
        assert [chunk async for chunk in response.chunks()] == [b"one"]
        with pytest.raises(StateError, match="once"):
            response.chunks()


async def test_a_closed_transport_sends_nothing():
    transport = HttpTransport()
    await transport.aclose()
    with pytest.raises(StateError, match="closed"):
        await read_all(transport, post("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1/v1", "ftp://host/", "http://", "http://host:port/", "http://[::1/", "http://user:hidden-pw@host:x/"]
)
async def test_what_is_no_url_is_said(transport, url):
    with pytest.raises(ConfigError) as caught:
        await read_all(transport, HTTPRequest("GET", url))
    assert caught.value.argument == "url"
    assert "hidden-pw" not in str(caught.value)


@pytest.mark.parametrize("value", [f"{KEY}\n", f" {KEY}", f"{KEY}\r\nx: y", f"{KEY}é", f"{KEY}\x00"])
async def test_a_header_that_cannot_be_sent_is_named_and_its_value_is_not(transport, value):
    with pytest.raises(ConfigError, match="x-api-key") as caught:
        await read_all(transport, HTTPRequest("GET", "http://127.0.0.1:1", headers=(("x-api-key", value),)))
    assert caught.value.argument == "x-api-key"
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["", "a b", "a:", "host", "Content-Length", "transfer-encoding"])
async def test_a_header_that_breaks_the_framing_is_refused(transport, name):
    with pytest.raises(ConfigError, match="cannot be set"):
        await read_all(transport, HTTPRequest("GET", "http://127.0.0.1:1", headers=((name, "x"),)))


@pytest.mark.parametrize("settings", [{"proxy": "localhost:8080"}, {"verify": "/no/such/file.pem"}])
def test_settings_that_cannot_work_are_refused_at_once(settings):
    with pytest.raises(ConfigError) as caught:
        HttpTransport(**settings)
    assert caught.value.argument in settings


def test_a_file_that_holds_no_authorities_is_refused(tmp_path):
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(ConfigError, match=r"ca\.pem") as caught:
        HttpTransport(verify=tmp_path / "ca.pem")._tls_context()
    assert caught.value.argument == "verify"


def test_certificates_are_checked_unless_told_otherwise(tmp_path):
    own = ssl.create_default_context()
    modes = [HttpTransport(verify=verify)._tls_context().verify_mode for verify in (True, tmp_path, False)]
    assert modes == [ssl.CERT_REQUIRED, ssl.CERT_REQUIRED, ssl.CERT_NONE]
    assert HttpTransport(verify=own)._tls_context() is own


async def test_a_socks_proxy_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "socksio", None)
    with pytest.raises(ConfigError, match="socksio"):
        await read_all(HttpTransport(proxy="socks5://127.0.0.1:1"), post("http://model.example"))


# --- secrets


async def test_no_secret_stands_in_an_error_or_a_log(transport, caplog):
    caplog.set_level(logging.DEBUG)
    port = free_port()
    headers = (("authorization", f"Bearer {KEY}"),)
    async with scripted_server([Reply([b"one", Close()]), Reply(before_headers=[Close()]), [b"fine"]]) as server:
        base = server.url.removeprefix("http://")
        for host in (base, base, f"127.0.0.1:{port}"):
            request = HTTPRequest("POST", f"http://user:long-password@{host}/v1?key=query-key-123&alt=sse", headers=headers)
            with pytest.raises((ConnectionLostError, ConnectFailedError)) as caught:
                await read_all(transport, request)
            text = "".join(traceback.format_exception(caught.value)) + repr(request)
            assert "alt=sse" in text
            for secret in (KEY, "long-password", "query-key-123"):
                assert secret not in text
        assert await read_all(transport, HTTPRequest("GET", f"{server.url}?key=query-key-123", headers=headers)) == [b"fine"]
    for secret in (KEY, "long-password", "query-key-123"):
        assert secret not in caplog.text


async def test_a_user_in_the_url_becomes_a_basic_header_unless_there_is_one(transport):
    async with scripted_server([[b"a"], [b"b"]]) as server:
        url = server.url.replace("://", "://me:p%40ss@")
        await read_all(transport, HTTPRequest("GET", url))
        await read_all(transport, HTTPRequest("GET", url, headers=(("Authorization", "Bearer x"),)))
        first, second = server.requests
    assert first.headers["authorization"] == "Basic " + base64.b64encode(b"me:p@ss").decode()
    assert second.headers["authorization"] == "Bearer x"


# --- proxies and loops


async def test_a_proxy_is_asked_for_everything():
    async with scripted_server([[b"from the proxy"]]) as proxy, HttpTransport(proxy=proxy.url) as transport:
        assert await read_all(transport, post("http://model.example")) == [b"from the proxy"]
        assert proxy.requests[0].path == "http://model.example/v1/chat/completions"


def test_one_transport_serves_several_event_loops():
    transport = HttpTransport()

    async def once():
        async with scripted_server([[b"one"]]) as server:
            try:
                return await read_all(transport, post(server.url))
            finally:
                for pool in transport._pools.pop(asyncio.get_running_loop()).values():
                    await pool.aclose()

    assert asyncio.run(once()) == asyncio.run(once()) == [b"one"]
