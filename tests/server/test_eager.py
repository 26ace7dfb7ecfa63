"""The two steps of an await, taken apart."""

from __future__ import annotations

import asyncio

import pytest

from headrace.server.eager import Resumed


async def items(event, seen):
    """One item that is there, one that is waited for."""
    yield 1
    try:
        await event.wait()
    except ValueError as error:
        seen.append(str(error))
        yield 3
        return
    finally:
        seen.append("over")
    yield 2


def first_steps(source):
    """Take the item that is there, and the beginning of the wait for the next."""
    with pytest.raises(StopIteration) as got:
        next(source.__anext__().__await__())
    step = source.__anext__().__await__()
    return got.value.value, step, next(step)


async def test_what_is_there_comes_without_waiting_and_the_rest_is_waited_for():
    event, seen = asyncio.Event(), []
    one, step, waiting = first_steps(items(event, seen))
    asyncio.get_running_loop().call_soon(event.set)
    assert (one, await Resumed(step, waiting)) == (1, 2)


async def test_what_was_waited_for_may_have_come_in_the_meantime():
    event, seen = asyncio.Event(), []
    _, step, waiting = first_steps(items(event, seen))
    event.set()
    await asyncio.sleep(0)
    assert await Resumed(step, waiting) == 2


async def test_an_error_of_the_meantime_is_raised_where_the_wait_stands():
    event, seen = asyncio.Event(), []
    _, step, waiting = first_steps(items(event, seen))
    assert await Resumed(step, waiting, ValueError("slow client")) == 3
    assert seen == ["slow client"]


async def test_an_error_that_nobody_takes_comes_back():
    event, seen = asyncio.Event(), []
    source = items(event, seen)
    _, step, waiting = first_steps(source)
    with pytest.raises(KeyError):
        await Resumed(step, waiting, KeyError("x"))
    assert seen == ["over"]
    with pytest.raises(StopAsyncIteration):
        await anext(source)


async def test_cancellation_reaches_what_is_waited_for():
    event, seen = asyncio.Event(), []
    _, step, waiting = first_steps(items(event, seen))

    async def wait():
        return await Resumed(step, waiting)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["over"]


async def test_a_timeout_inside_works_as_ever():
    async def slow():
        yield 1
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            yield "late"

    _, step, waiting = first_steps(slow())
    assert await Resumed(step, waiting) == "late"
