"""The gateway opened and closed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket

import pytest

from chat_bytes import text_stream
from gateway_ground import PATHS, asked, ground, opened, upstream
from headrace.errors import ConfigError
from headrace.server.gateway.config import config_of
from headrace.server.gateway.serve import refuse_open_door, serving
from headrace.server.keys import hash_of
from servers import Hold, Stall, scripted_server

UP = upstream("http://127.0.0.1:9")


def test_a_door_that_stands_open_to_the_network_is_refused():
    with pytest.raises(ConfigError, match="--insecure"):
        refuse_open_door(config_of({"host": "0.0.0.0", "upstreams": [UP]}), is_insecure=False)
    refuse_open_door(config_of({"host": "0.0.0.0", "upstreams": [UP]}), is_insecure=True)
    refuse_open_door(
        config_of({"host": "0.0.0.0", "upstreams": [UP], "clients": [{"name": "a", "key_sha256": hash_of("k")}]}), is_insecure=False
    )
    refuse_open_door(config_of({"upstreams": [UP]}), is_insecure=False)


async def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen at 127.0.0.1:{port}"):
            async with opened({"port": port, "upstreams": [UP]}):
                pass


async def test_a_key_that_is_missing_is_said_before_anything_is_opened():
    with pytest.raises(ConfigError, match="UP_KEY is not set"):
        async with serving(config_of({"port": 0, "upstreams": [UP]}), environ={}):
            pass


def raw_question():
    """A question as bytes, for a connection of one's own."""
    body = json.dumps(asked()).encode()
    head = (
        f"POST {PATHS['openai-chat']} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def test_an_open_stream_may_end_before_the_gateway_does():
    go = asyncio.Event()
    events = text_stream("first", "second")
    async with scripted_server([[*events[:2], Hold(go), *events[2:]]]) as up:
        async with opened({"upstreams": [upstream(up.url)]}) as (served, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(served.url.rpartition(":")[2]))
            writer.write(raw_question())
            await reader.readuntil(b"first")
            asyncio.get_running_loop().call_later(0.05, go.set)
        assert (await reader.read()).endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        writer.close()


async def test_a_stream_that_does_not_end_is_broken_off_after_a_while():
    async with scripted_server([[*text_stream("first")[:2], Stall()]]) as up:
        async with opened({"upstreams": [upstream(up.url)], "limits": {"shutdown_s": 1.0}}) as (served, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(served.url.rpartition(":")[2]))
            writer.write(raw_question())
            await reader.readuntil(b"first")
        assert b"[DONE]" not in await reader.read()
        await asyncio.wait_for(up.replies[0].left.wait(), 2)
        writer.close()


@pytest.mark.parametrize("size", [70_000, 400_000])
async def test_a_head_without_end_is_cut_off(size):
    async with ground() as world:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(world.served.url.rpartition(":")[2]))
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * size)
        async with asyncio.timeout(5):
            with contextlib.suppress(ConnectionError):  # the rest of what is on its way is refused by a reset
                await writer.drain()
                assert await reader.read() == b""
        writer.close()


async def test_requests_on_one_connection_follow_each_other():
    async with ground(text_stream("a"), text_stream("b")) as world:
        for _ in range(5):
            assert (await world.client.get("/healthz", headers={"x-padding": "p" * 20_000})).status_code == 200
        assert "b" in (await world.ask()).text + (await world.ask()).text


async def test_a_request_that_does_not_come_whole_is_not_waited_for():
    async with ground(text_stream("a"), limits={"arrival_s": 0.1}) as world:
        port = int(world.served.url.rpartition(":")[2])
        silent, nothing = await asyncio.open_connection("127.0.0.1", port)
        half, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(raw_question()[:-5])
        async with asyncio.timeout(5):
            assert await silent.read() == b""
            assert b" 408 " in await half.readline()
        assert (await world.ask()).status_code == 200
        writer.close()
        nothing.close()
