"""The client's end by itself: what goes at once, what has to wait, and who has left."""

from __future__ import annotations

import asyncio

import pytest

from headrace.server.asgi import ClientLeftError
from headrace.server.caller import COMMENTED, Caller


class Client:
    """An ASGI server's two functions: it takes what comes unless it is told to be slow."""

    def __init__(self):
        self.got = []
        self.room = asyncio.Event()
        self.room.set()

    async def receive(self):
        return await asyncio.Event().wait()

    async def send(self, message):
        await self.room.wait()
        self.got.append(message)

    @property
    def body(self):
        return b"".join(message.get("body", b"") for message in self.got)


def caller_of(client, **limits):
    caller = Caller(client.receive, client.send, (), **{"keep_alive_s": 60.0, "stall_s": 60.0, **limits})
    caller.will_stream(COMMENTED)
    return caller


async def test_a_piece_goes_at_once_when_the_answer_has_begun():
    client = Client()
    async with caller_of(client) as caller:
        assert not caller.is_free
        await caller.write(b"one ")
        assert caller.is_free
        assert caller.pour(b"two ")
        assert client.body == b"one two "
        await caller.end(b"three")
    assert client.body == b"one two three"
    assert caller.sent_bytes == len(client.body)


async def test_a_slow_client_is_waited_for_and_gets_everything_in_order():
    client = Client()
    async with caller_of(client) as caller:
        await caller.write(b"one ")
        client.room.clear()
        assert not caller.pour(b"two ")
        assert not caller.is_free
        writing = asyncio.ensure_future(caller.write(b"three "))
        await asyncio.sleep(0)
        client.room.set()
        await writing
        assert caller.is_free
        assert caller.pour(b"four")
    assert client.body == b"one two three four"


async def test_a_client_that_takes_nothing_of_a_piece_has_left_after_a_while():
    client = Client()
    async with caller_of(client, stall_s=0.02) as caller:
        await caller.write(b"one ")
        client.room.clear()
        assert not caller.pour(b"two ")
        with pytest.raises(ClientLeftError):
            await caller.settle()


async def test_a_piece_that_nobody_waits_for_any_more_is_given_up():
    client = Client()
    async with caller_of(client) as caller:
        await caller.write(b"one ")
        client.room.clear()
        assert not caller.pour(b"two ")
    client.room.set()
    await asyncio.sleep(0)
    assert client.body == b"one "


async def test_no_sign_of_life_stands_inside_of_a_piece_and_none_where_pieces_come():
    client = Client()
    async with caller_of(client, keep_alive_s=0.05) as caller:
        await caller.write(b"one ")
        for _ in range(10):
            await asyncio.sleep(0.02)
            assert caller.pour(b"x")
        assert b"keep-alive" not in client.body
        client.room.clear()
        assert not caller.pour(b"two ")
        await asyncio.sleep(0.15)
        client.room.set()
        await caller.settle()
        assert client.body.endswith(b"xtwo ")
        async with asyncio.timeout(30):
            while not client.body.endswith(b": keep-alive\n\n"):  # noqa: ASYNC110 - a fake client, which says nothing
                await asyncio.sleep(0.01)


async def test_nothing_is_poured_while_a_sign_of_life_is_sent():
    client = Client()
    async with caller_of(client, keep_alive_s=0.02) as caller:
        await caller.write(b"one ")
        client.room.clear()
        async with asyncio.timeout(30):
            while caller.is_free:  # noqa: ASYNC110 - the caller says it by this alone
                await asyncio.sleep(0.005)
        client.room.set()
        await caller.settle()
        assert caller.is_free
