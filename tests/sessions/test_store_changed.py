"""Waiting for a run to change, in every store."""

from __future__ import annotations

import asyncio
import time

import pytest

from headrace.sessions.records import NewRun
from store_ground import batch, entries, started

LONG_S = 60.0
"""So long that a test which really waited for it would fail by its own time."""


@pytest.fixture(autouse=True)
async def in_time():
    async with asyncio.timeout(30):
        yield


async def waiting(store, run_id, after):
    """A task that waits, and has had time to look first; what happens before it looked must be noticed as well."""
    task = asyncio.create_task(store.changed(run_id, after, LONG_S))
    await asyncio.sleep(0)
    return task


async def test_who_is_behind_does_not_wait(store):
    await started(store)
    await store.append(batch("r", 1))
    await store.changed("r", 0, LONG_S)


async def test_new_events_wake(store):
    await started(store)
    task = await waiting(store, "r", 0)
    await store.append(batch("r", 1))
    await task
    assert await store.entries("r") == entries(1)


@pytest.mark.parametrize("n", range(10))
async def test_new_events_wake_whenever_they_come(store, n):
    await started(store)
    task = asyncio.create_task(store.changed("r", 0, LONG_S))
    for _ in range(n):
        await asyncio.sleep(0.0005)
    await store.append(batch("r", 1))
    await task


@pytest.mark.parametrize("step", ["claim", "append", "delete"])
async def test_a_claim_a_new_status_and_a_deletion_wake(store, step):
    await store.create_run(NewRun(id="r"))
    if step != "claim":
        await store.claim("r", "me", epoch=0)
    tasks = [await waiting(store, "r", 9) for _ in range(2)]
    match step:
        case "claim":
            await store.claim("r", "me", epoch=0)
        case "append":
            await store.append(batch("r", 1, status="waiting", generate_reason="awaiting_approval"))
        case _:
            await store.delete_run("r")
    await asyncio.gather(*tasks)


async def test_many_wait_for_one_run_and_one_waits_for_many(store):
    for n in range(3):
        await started(store, f"r{n}")
    tasks = [await waiting(store, f"r{n % 3}", 0) for n in range(12)]
    for n in range(3):
        await store.append(batch(f"r{n}", 1))
    await asyncio.gather(*tasks)


async def test_nothing_new_ends_when_the_time_is_up(store):
    await started(store)
    began = time.monotonic()
    while time.monotonic() - began < 0.05:  # it may return early
        await store.changed("r", 0, 0.05)
    await store.changed("r", 0, 0)
    await store.changed("not there", 0, 0)


async def test_who_does_not_wait_any_more_is_forgotten(store):
    await started(store)
    task = await waiting(store, "r", 0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.append(batch("r", 1))
    assert await store.entries("r") == entries(1)


async def test_a_reader_follows_a_writer(store):
    await started(store)
    last = 200

    async def read():
        seen = []
        while not seen or seen[-1] < last:
            seen += [entry.seq for entry in await store.entries("r", seen[-1] if seen else 0)]
            if not seen or seen[-1] < last:
                await store.changed("r", seen[-1] if seen else 0, LONG_S)
        return seen

    readers = [asyncio.create_task(read()) for _ in range(3)]
    for seq in range(1, last + 1):
        await store.append(batch("r", seq))
    for reader in readers:
        assert await reader == list(range(1, last + 1))
