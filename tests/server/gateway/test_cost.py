"""What a chunk costs, counted in Python calls, so that no clock is asked: flat, and few."""

from __future__ import annotations

import sys

import pytest

from chat_bytes import text_stream
from gateway_ground import PATHS, ground, question

MOST_CALLS = 100
"""Half of them are enough for the plainest protocol; more than these would be another await, task or copy for each chunk."""


async def calls_for(world, protocol):
    """Ask, and count the calls of the whole process: upstream and client are in it too, but deal with few large pieces."""
    count = 0

    def seen(_frame, event, _what):
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(seen)
    try:
        async with world.client.stream("POST", PATHS[protocol], json=question(protocol)) as response:
            size = 0
            async for piece in response.aiter_raw():
                size += len(piece)
    finally:
        sys.setprofile(None)
    assert size > 10_000
    return count


@pytest.mark.parametrize("protocol", PATHS)
async def test_a_chunk_that_is_there_costs_few_calls_however_many_came_before(protocol):
    sizes = (100, 500, 1000, 3000)
    async with ground(*[[b"".join(text_stream(*["word "] * size))] for size in sizes]) as world:
        counts = [await calls_for(world, protocol) for _ in sizes]
    early, late = (counts[2] - counts[1]) / 500, (counts[3] - counts[2]) / 2000
    assert late < MOST_CALLS
    assert late < early * 1.2
