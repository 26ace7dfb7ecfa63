"""The limits on waiting, where the loop's own timing decides. The rest is tested through the transport."""

from __future__ import annotations

import asyncio
import time

import pytest

from headrace.errors import StreamTimeoutError
from headrace.io.transport import Timeouts
from headrace.io.watchdog import Watchdog


async def guarded(watchdog, awaitable):
    """One wait, as the transport does it."""
    watchdog.begin()
    try:
        value = await awaitable
    except asyncio.CancelledError as error:
        if (late := watchdog.ended_by(error)) is None:
            raise
        raise late from error
    watchdog.got_chunk()
    return value


@pytest.mark.parametrize("earlier", [0, 1], ids=["first chunk", "idle"])
async def test_bytes_that_came_while_the_whole_loop_stood_still_are_not_too_late(earlier):
    peer = asyncio.get_running_loop().create_future()

    async def serve(_, writer):
        peer.set_result(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        sender = await peer
        watchdog = Watchdog(Timeouts(first_chunk_s=0.1, idle_s=0.1), "GET x")
        for _ in range(earlier):
            sender.write(b"in time")
            await guarded(watchdog, reader.read(100))
        read = asyncio.ensure_future(guarded(watchdog, reader.read(100)))
        await asyncio.sleep(0)
        sender.write(b"in time")
        time.sleep(0.3)  # noqa: ASYNC251  (the whole loop is to stand still)
        assert await read == b"in time"
        watchdog.stop()
        for end in (sender, writer):
            end.close()
            await end.wait_closed()


async def test_a_cancellation_from_elsewhere_wins_over_a_limit_at_the_same_time():
    watchdog = Watchdog(Timeouts(first_chunk_s=0.01), "GET x")
    task = asyncio.ensure_future(guarded(watchdog, asyncio.Event().wait()))
    decide = watchdog._decide

    def both(began):
        decide(began)
        task.cancel()

    watchdog._decide = both
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_limit_leaves_no_trace_of_its_cancellation_in_the_task():
    watchdog = Watchdog(Timeouts(first_chunk_s=0.01), "GET x")
    with pytest.raises(StreamTimeoutError):
        await guarded(watchdog, asyncio.Event().wait())
    assert asyncio.current_task().cancelling() == 0
    await asyncio.sleep(0)


async def test_a_limit_inside_a_task_group_ends_as_the_timeout_and_not_as_a_cancellation():
    watchdog = Watchdog(Timeouts(first_chunk_s=0.01), "GET x")
    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group:
            group.create_task(guarded(watchdog, asyncio.Event().wait()))
    assert isinstance(caught.value.exceptions[0], StreamTimeoutError)


async def test_an_infinite_limit_is_no_limit():
    watchdog = Watchdog(Timeouts(first_chunk_s=float("inf"), idle_s=None), "GET x")
    watchdog.begin()
    assert watchdog._handle is None
