"""The connections to one place: which one a request gets, who waits, and that none is lost."""

from __future__ import annotations

import asyncio

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import StateError
from headrace.io.pool import Pool


class Line:
    """A connection on which nothing is sent in these tests; httpcore2's call one `failed` to connect both idle and expired."""

    def __init__(self):
        self.state = "new"

    def is_idle(self):
        return self.state in ("idle", "failed")

    def has_expired(self):
        return self.state in ("expired", "failed")

    async def aclose(self):
        self.state = "closed"


async def used(pool, line, *, state="idle"):
    """A request over this connection has ended, and left it so."""
    line.state = state
    await pool.give_back(line)


@pytest.fixture
def pool():
    return Pool(Line, max_connections=3)


async def test_the_connection_that_was_used_last_is_taken_again(pool):
    first, second = await pool.take(1), await pool.take(1)
    await used(pool, second)
    await used(pool, first)
    assert await pool.take(1) is first
    assert await pool.take(1) is second
    assert await pool.take(1) not in (first, second)


async def test_a_connection_that_broke_makes_room_for_another(pool):
    lines = [await pool.take(1) for _ in range(3)]
    await used(pool, lines[0], state="closed")
    assert await pool.take(1) not in lines
    with pytest.raises(httpcore2.PoolTimeout):
        await pool.take(0.01)


async def test_a_connection_that_failed_goes_to_nobody(pool):
    lines = [await pool.take(1) for _ in range(3)]
    waiting = asyncio.ensure_future(pool.take(1))
    await asyncio.sleep(0)
    await used(pool, lines[0], state="failed")
    assert await waiting not in lines
    assert lines[0].state == "closed"


async def test_connections_that_were_unused_for_long_are_closed_by_the_next_request(pool):
    lines = [await pool.take(1) for _ in range(3)]
    for line in lines:
        await used(pool, line)
    lines[0].state = lines[1].state = "expired"
    assert await pool.take(1) is lines[2]
    assert [line.state for line in lines] == ["closed", "closed", "idle"]


async def test_a_connection_that_died_last_is_not_taken(pool):
    lines = [await pool.take(1) for _ in range(2)]
    for line in lines:
        await used(pool, line)
    lines[1].state = "expired"
    assert await pool.take(1) is lines[0]
    assert lines[1].state == "closed"


async def test_who_waits_gets_what_becomes_free_in_the_order_in_which_they_came(pool):
    lines = [await pool.take(None) for _ in range(3)]
    first, second, third = (asyncio.ensure_future(pool.take(None)) for _ in range(3))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    await used(pool, lines[1])
    await used(pool, lines[2], state="closed")
    assert await second is lines[1]
    assert await third not in lines
    assert first.cancelled()


async def test_who_stops_waiting_in_the_moment_of_getting_one_loses_none(pool):
    lines = [await pool.take(None) for _ in range(3)]
    waiting = asyncio.ensure_future(pool.take(None))
    await asyncio.sleep(0)
    await used(pool, lines[0])
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await pool.take(0.01) is lines[0]


async def test_a_pool_that_is_closed_closes_all_and_gives_none(pool):
    lines = [await pool.take(1) for _ in range(3)]
    waiting = asyncio.ensure_future(pool.take(1))
    await used(pool, lines[0], state="closed")
    assert await waiting not in lines
    waiting = asyncio.ensure_future(pool.take(1))
    await asyncio.sleep(0)
    await pool.aclose()
    assert [line.state for line in lines] == ["closed"] * 3
    for taking in (waiting, pool.take(1)):
        with pytest.raises(StateError, match="closed"):
            await taking
    await used(pool, lines[1])
    assert lines[1].state == "closed"
    with pytest.raises(StateError, match="closed"):
        await pool.take(1)


@given(st.lists(st.sampled_from(["begin", "idle", "closed", "failed", "give up", "expire"]), max_size=60), st.integers(1, 4))
async def test_however_requests_come_and_go_none_waits_while_there_is_room(steps, most):
    made = []

    def make():
        made.append(Line())
        return made[-1]

    pool = Pool(make, max_connections=most)
    takers = []
    for step in steps:
        holding = [one for one in takers if one.done()]
        waiting = [one for one in takers if not one.done()]
        if step == "begin":
            takers.append(asyncio.ensure_future(pool.take(None)))
        elif step == "give up" and waiting:
            waiting[0].cancel()
            takers.remove(waiting[0])
        elif step == "expire":
            for line in pool._idle:
                line.state = "expired"
        elif step in ("idle", "closed", "failed") and holding:
            takers.remove(holding[0])
            await used(pool, holding[0].result(), state=step)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        held = [one.result() for one in takers if one.done()]
        assert len(set(held)) == len(held), "a connection carries one request"
        assert len(held) == min(len(takers), most)
        assert sum(line.state != "closed" for line in made if line in pool._open) <= most
    for one in takers:
        one.cancel()
    await asyncio.gather(*takers, return_exceptions=True)
