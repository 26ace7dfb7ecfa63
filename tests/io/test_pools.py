"""Connections in small pools: which one a request gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.io.pools import SIZE, Pools


class Closable:
    """Stands where httpcore2's pool does; nothing is sent in these tests."""

    def __init__(self, size, closed):
        self.size = size
        self._closed = closed

    async def aclose(self):
        self._closed.append(self.size)


@pytest.fixture
def closed():
    return []


@pytest.fixture
def pools(closed):
    return Pools(lambda size: Closable(size, closed), max_connections=2 * SIZE + 3, keepalive_s=3600)


async def test_the_first_pool_with_room_is_taken_and_no_more_connections_than_allowed(pools):
    taken = [await pools.take() for _ in range(2 * SIZE + 3)]
    assert [pool.size for pool in dict.fromkeys(taken)] == [SIZE, SIZE, 3]
    assert all(pool.requests == pool.size for pool in taken)
    taken[SIZE].release()
    assert await pools.take() is taken[SIZE]
    taken[-1].release()
    taken[0].release()
    assert await pools.take() is taken[0]


async def test_where_there_is_no_room_a_request_waits_in_the_emptiest_one(pools):
    taken = [await pools.take() for _ in range(2 * SIZE + 3)]
    waiting = [await pools.take() for _ in range(4)]
    assert waiting[0] is taken[0]
    assert waiting[1] is taken[SIZE]
    assert sum(pool.requests for pool in {*taken}) == 2 * SIZE + 7


async def test_a_pool_that_was_not_used_for_long_is_closed_and_the_first_is_kept(closed):
    pools = Pools(lambda size: Closable(size, closed), max_connections=SIZE + 1, keepalive_s=-1)
    taken = [await pools.take() for _ in range(SIZE + 1)]
    for pool in taken:
        pool.release()
    assert await pools.take() is taken[0]
    assert closed == [1]
    again = [await pools.take() for _ in range(SIZE)]
    assert again[-1].size == 1
    assert again[-1] is not taken[-1]
    await pools.aclose()
    assert closed == [1, SIZE, 1]


@given(st.lists(st.booleans(), max_size=80), st.integers(1, 3 * SIZE))
async def test_however_requests_come_and_go_none_waits_while_a_connection_is_free(steps, max_connections):
    pools = Pools(lambda size: Closable(size, []), max_connections=max_connections, keepalive_s=3600)
    under_way = []
    for begins in steps:
        if begins:
            under_way.append(await pools.take())
            if len(under_way) <= max_connections and all(pool.requests <= pool.size for pool in under_way[:-1]):
                assert under_way[-1].requests <= under_way[-1].size
        elif under_way:
            under_way.pop(0).release()
    kept = set(under_way)
    assert sum(pool.requests for pool in kept) == len(under_way)
    assert sum(pool.size for pool in kept) <= max_connections
