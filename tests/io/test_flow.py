"""A body as it comes: read, or handed on by the event loop; whole, broken, late; and whether its connection is used again."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from contextlib import asynccontextmanager

import pytest

from headrace.errors import ConnectionLostError, StreamTimeoutError
from headrace.io.httpx_transport import HttpTransport
from headrace.io.transport import HTTPRequest, Timeouts, flow, read_bounded
from servers import Close, Hold, Pause, Reply, Reset, Stall, scripted_server

LONG = Timeouts(idle_s=20, first_chunk_s=20)


@asynccontextmanager
async def answered(*replies, timeouts=LONG):
    """Ask once; gives the pieces of the answer, the server and the transport."""
    async with (
        scripted_server(replies) as server,
        HttpTransport() as transport,
        transport.stream(HTTPRequest("POST", server.url), timeouts=timeouts) as response,
    ):
        yield response.chunks(), server, transport


@asynccontextmanager
async def raw_server(*answers):
    """Answer the requests of a connection with these bytes; gives the address and a list that grows with each connection."""
    connections = []

    async def serve(reader, writer):
        connections.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError):
            for pieces in answers:
                await reader.readuntil(b"\r\n\r\n")
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0.01)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", connections
        for writer in connections:
            writer.close()


def collected(got, *, until=None):
    """What to give to `flow`: it wants no more once a piece ends with `until`."""

    def take(piece):
        got.append(piece)
        return until is None or not piece.endswith(until)

    return take


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
async def test_a_body_is_handed_on_whole_in_every_framing(framing):
    got = []
    async with answered(Reply([b"one", Pause(0.01), b"two"], framing=framing)) as (pieces, _, _):
        assert await flow(pieces, collected(got)) is False
        assert b"".join(got) == b"onetwo"
        assert [piece async for piece in pieces] == []


async def test_a_piece_is_handed_on_before_the_next_one_has_come_and_no_task_wakes_for_it():
    go, came, wakes = asyncio.Event(), asyncio.Event(), []

    def take(piece):
        wakes.append(asyncio.current_task())
        came.set()
        return True

    async with answered([b"first", Hold(go), b"second"]) as (pieces, _, _):
        task = asyncio.ensure_future(flow(pieces, take))
        await came.wait()
        go.set()
        await task
    assert wakes[-1] is None


async def test_reading_and_handing_on_may_take_turns():
    got, go = [], asyncio.Event()
    async with answered([b"a", b"b.", Hold(go), b"c", b"d."]) as (pieces, _, _):
        first = await anext(pieces)
        if not first.endswith(b"."):
            assert await flow(pieces, collected(got, until=b"b.")) is True
        go.set()
        rest = [piece async for piece in pieces]
    assert first + b"".join(got) + b"".join(rest) == b"ab.cd."


async def test_what_comes_while_nobody_wants_it_waits():
    got = []
    async with answered([b"a.", Pause(0.01), b"b.", Pause(0.01), b"c"]) as (pieces, _, _):
        assert await flow(pieces, collected(got, until=b".")) is True
        assert got == [b"a."]
        await asyncio.sleep(0.1)
        assert await flow(pieces, collected(got)) is False
    assert b"".join(got) == b"a.b.c"


@pytest.mark.parametrize("end", [Close(), Reset()])
async def test_a_connection_that_breaks_is_an_error_behind_what_came(end):
    got = []
    async with answered([b"one", Pause(0.02), end]) as (pieces, _, _):
        with pytest.raises(ConnectionLostError, match="after 1 chunks"):
            await flow(pieces, collected(got))
    assert got == [b"one"]


async def test_a_coding_that_is_broken_is_a_lost_connection():
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    async with raw_server([head, b"3\r\nabc\r\n", b"xyz\r\n"]) as (url, _), HttpTransport() as transport:
        got = []
        async with transport.stream(HTTPRequest("GET", url)) as response:
            with pytest.raises(ConnectionLostError, match="no size"):
                await flow(response.chunks(), collected(got))
        assert got == [b"abc"]


async def test_a_peer_that_stalls_is_left_in_time_and_one_that_speaks_now_and_then_is_not():
    got, limits = [], Timeouts(idle_s=1.2, first_chunk_s=20)
    async with answered([b"a", *[step for _ in range(3) for step in (Pause(0.5), b"b")], Stall()], timeouts=limits) as (pieces, _, _):
        with pytest.raises(StreamTimeoutError) as late:
            await flow(pieces, collected(got))
    assert (late.value.stage, b"".join(got)) == ("idle", b"abbb")


async def test_the_limit_of_the_whole_answer_holds_while_pieces_are_handed_on():
    limits = Timeouts(idle_s=20, first_chunk_s=20, total_s=0.2)
    async with answered([Pause(0.02), b"a"] * 100, timeouts=limits) as (pieces, _, _):
        with pytest.raises(StreamTimeoutError) as late:
            await flow(pieces, collected([]))
    assert late.value.stage == "total"


async def test_what_the_taker_raises_is_raised_where_the_flow_is_awaited():
    def take(piece):
        raise ValueError(piece.decode())

    async with answered([Pause(0.02), b"odd", Stall()]) as (pieces, _, _):
        with pytest.raises(ValueError, match="odd"):
            await flow(pieces, take)


async def test_cancellation_ends_the_flow():
    async with answered([b"a", Stall()]) as (pieces, server, _):
        got, came = [], asyncio.Event()
        task = asyncio.ensure_future(flow(pieces, lambda piece: got.append(piece) or came.set() or True))
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert got == [b"a"]
    assert server.connections == 1


@pytest.mark.parametrize("is_flowing", [False, True])
async def test_a_body_that_came_whole_leaves_the_connection_for_the_next_request(is_flowing):
    replies = [[b"one", Pause(0.01), b"1"], [b"two"], Reply([b"three"], framing="length"), [b"four"]]
    async with scripted_server(replies) as server, HttpTransport() as transport:
        for expected in (b"one1", b"two", b"three", b"four"):
            async with transport.stream(HTTPRequest("POST", server.url)) as response:
                got = []
                if is_flowing:
                    await flow(response.chunks(), collected(got))
                else:
                    got.append(await read_bounded(response))
                assert b"".join(got) == expected
        assert server.connections == 1


async def test_an_answer_that_was_left_early_closes_its_connection():
    async with scripted_server([[b"one", Stall()], [b"two"]]) as server, HttpTransport() as transport:
        async with transport.stream(HTTPRequest("POST", server.url)) as response:
            assert await flow(response.chunks(), lambda _piece: False) is True
        await asyncio.wait_for(server.replies[0].left.wait(), 5)
        async with transport.stream(HTTPRequest("POST", server.url)) as response:
            assert await read_bounded(response) == b"two"
        assert server.connections == 2


HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
BODY = b"3\r\nabc\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "is_used_again"),
    [
        ([HEAD + BODY], True),
        ([HEAD[:20], HEAD[20:-2], HEAD[-2:], BODY[:4], BODY[4:]], True),
        ([b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + HEAD + BODY], True),
        ([HEAD.replace(b"\r\n", b"\n") + BODY], True),
        ([HEAD + BODY + b"more than was asked for"], False),
    ],
    ids=["at once", "cut", "hints before", "bare line feeds", "more behind"],
)
async def test_wherever_the_head_was_cut_the_body_is_the_same(pieces, is_used_again):
    async with raw_server(pieces, pieces) as (url, connections), HttpTransport() as transport:
        for _ in range(2):
            async with transport.stream(HTTPRequest("GET", url)) as response:
                got = []
                await flow(response.chunks(), collected(got))
                assert b"".join(got) == b"abc"
        assert len(connections) == (1 if is_used_again else 2)


async def test_an_answer_without_a_body_has_none_whatever_its_head_says():
    async with raw_server([HEAD.replace(b"200 OK", b"204 None")], [HEAD + BODY]) as (url, connections), HttpTransport() as transport:
        for expected in (b"", b"abc"):
            async with transport.stream(HTTPRequest("GET", url)) as response:
                assert await read_bounded(response) == expected
        assert len(connections) == 1


async def test_a_compressed_body_in_chunks_is_unpacked():
    packed = gzip.compress(b"hello")
    got = []
    async with answered(Reply([packed[:9], packed[9:]], headers=[("content-encoding", "gzip")])) as (pieces, _, _):
        await flow(pieces, collected(got))
    assert b"".join(got) == b"hello"


async def test_a_slow_taker_slows_its_peer():
    """While nobody wants more, no more is read than the connection holds."""
    sent = 0

    async with answered([b"x" * 65536] * 400) as (pieces, server, _):
        assert await flow(pieces, lambda _piece: False) is True
        await asyncio.sleep(0.3)
        assert not server.replies[0].done.is_set()
        async for piece in pieces:
            sent += len(piece)
    assert sent >= 398 * 65536
