"""What a chunk costs, counted in Python calls, so that no clock is asked: flat, and few."""

from __future__ import annotations

import sys

import httpx2
import pytest

from chat_bytes import text_stream
from gateway_ground import PATHS, ground, question
from servers import Pause

MOST_CALLS = 100
"""Half of them are enough for the plainest protocol; more than these would be another await, task or copy for each chunk."""

MOST_CALLS_ALONE = 210
"""It takes 144 to 171, a third of them the loop's own turns; with a task that wakes for each event it would be 250 to 280."""


async def calls_for(world, protocol):
    """Ask, and count the calls of the whole process: upstream and client are in it too, but deal with few large pieces."""
    count, size = await counted(world.client, PATHS[protocol], question(protocol))
    assert size > 10_000
    return count


async def counted(client, path, asked):
    count = 0

    def seen(_frame, event, _what):
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(seen)
    try:
        async with client.stream("POST", path, json=asked) as response:
            size = 0
            async for piece in response.aiter_raw():
                size += len(piece)
    finally:
        sys.setprofile(None)
    return count, size


@pytest.mark.parametrize("protocol", PATHS)
async def test_a_chunk_that_is_there_costs_few_calls_however_many_came_before(protocol):
    sizes = (100, 500, 1000, 3000)
    async with ground(*[[b"".join(text_stream(*["word "] * size))] for size in sizes]) as world:
        counts = [await calls_for(world, protocol) for _ in sizes]
    early, late = (counts[2] - counts[1]) / 500, (counts[3] - counts[2]) / 2000
    assert late < MOST_CALLS
    assert late < early * 1.2


@pytest.mark.parametrize("protocol", PATHS)
async def test_a_chunk_that_comes_alone_wakes_no_task(protocol):
    """The same stream with and without the gateway: what the difference grows by, for each event more. The first of each opens connections."""
    sizes = (5, 20, 60)
    replies = [[step for event in text_stream(*["word "] * size) for step in (event, Pause(0.01))] for size in sizes for _ in range(2)]
    async with ground(*replies) as world, httpx2.AsyncClient(base_url=world.up.url) as direct:
        ways = ((world.client, PATHS[protocol], question(protocol)), (direct, "/", {}))
        (_, few, many), (_, few_direct, many_direct) = zip(*[[(await counted(*way))[0] for way in ways] for _ in sizes], strict=True)
    assert (many - many_direct - few + few_direct) / 40 < MOST_CALLS_ALONE
