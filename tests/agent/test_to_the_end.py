"""What is done to its end, also when the one who waits is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from headrace.agent.to_the_end import to_the_end


class Work:
    """Waits to be let go on, and notes that it is done."""

    def __init__(self, error=None):
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.is_done = False
        self._error = error

    async def do(self):
        self.begun.set()
        await self.go_on.wait()
        self.is_done = True
        if self._error is not None:
            raise self._error


async def test_it_does_the_work_and_passes_on_what_it_raises():
    work = Work()
    work.go_on.set()
    await to_the_end(work.do())
    assert work.is_done
    failing = Work(ValueError("no"))
    failing.go_on.set()
    with pytest.raises(ValueError, match="no"):
        await to_the_end(failing.do())


async def test_a_cancellation_waits_until_it_is_done():
    work = Work()
    task = asyncio.create_task(to_the_end(work.do()))
    await work.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not task.done()
    work.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.is_done


async def test_a_second_cancellation_does_not_wait_and_the_work_goes_on():
    work = Work()
    task = asyncio.create_task(to_the_end(work.do()))
    await work.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not work.is_done
    (going,) = [one for one in asyncio.all_tasks() if one.get_name() == "headrace-to-the-end"]
    work.go_on.set()
    await going
    assert work.is_done


async def test_what_the_work_raises_is_not_lost_behind_a_cancellation():
    work = Work(ValueError("lost"))
    task = asyncio.create_task(to_the_end(work.do()))
    await work.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    work.go_on.set()
    with pytest.raises(ValueError, match="lost"):
        await task


async def test_a_timeout_around_it_is_a_timeout():
    work = Work()
    asyncio.get_running_loop().call_later(0.02, work.go_on.set)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await to_the_end(work.do())
    assert work.is_done
