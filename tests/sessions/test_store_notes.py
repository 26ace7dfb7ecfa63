"""Signals, workers, and what happens once, in every store."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from headrace.errors import NotFoundError, UsageError
from headrace.sessions.records import NewRun
from store_ground import START


async def test_signals_come_in_order_and_by_run(store):
    for run_id in ("a", "b", "c"):
        await store.create_run(NewRun(id=run_id))
    first = await store.signal("a", "interrupt")
    second = await store.signal("b", "steer", b'{"text":"left"}')
    third = await store.signal("a", "resume", b"[]")
    await store.signal("c", "interrupt")
    assert first < second < third
    heard = await store.signals(["a", "b"])
    assert [(one.id, one.run_id, one.kind, one.data) for one in heard] == [
        (first, "a", "interrupt", b"null"),
        (second, "b", "steer", b'{"text":"left"}'),
        (third, "a", "resume", b"[]"),
    ]
    assert [one.id for one in await store.signals(["a", "b"], after=first)] == [second, third]
    assert await store.signals(["a"], after=third) == ()
    assert await store.signals([]) == ()
    assert await store.signals(["not there"]) == ()


async def test_signals_that_were_heard_are_gone_and_their_numbers_do_not_come_again(store):
    await store.create_run(NewRun(id="a"))
    numbers = [await store.signal("a", "interrupt") for _ in range(3)]
    await store.forget_signals(numbers[1:])
    await store.forget_signals([])
    await store.forget_signals([10**9])
    assert [one.id for one in await store.signals(["a"])] == numbers[:1]
    assert await store.signal("a", "interrupt") > numbers[-1]


async def test_there_is_nothing_to_say_to_a_run_that_is_not_there(store):
    with pytest.raises(NotFoundError):
        await store.signal("a", "interrupt")


async def test_signals_for_very_many_runs(store):
    await store.create_run(NewRun(id="r7"))
    number = await store.signal("r7", "interrupt")
    assert [one.id for one in await store.signals([f"r{n}" for n in range(3000)])] == [number]
    await store.forget_signals(range(number, number + 3000))
    assert await store.signals(["r7"]) == ()


async def test_a_worker_is_entered_and_its_beats_are_counted(store):
    await store.beat("b")
    await store.beat("a")
    await store.beat("b")
    one, two = await store.workers()
    assert (one.id, one.beats, two.id, two.beats) == ("a", 1, "b", 2)
    assert START < two.started_at < one.started_at
    await store.forget_worker("b")
    await store.forget_worker("b")
    assert [worker.id for worker in await store.workers()] == ["a"]
    await store.beat("b")
    assert (await store.workers())[1].beats == 1


async def test_a_state_is_taken_up_once(store):
    assert await store.take("r", 3) is True
    assert await store.take("r", 3) is False
    assert await store.take("r", 4) is True
    assert await store.take("other", 3) is True
    await store.give_back("r", 3)
    await store.give_back("r", 99)
    assert await store.take("r", 3) is True
    results = await asyncio.gather(*(store.take("r", 5) for _ in range(8)))
    assert sorted(results) == [False] * 7 + [True]


def as_the_store_wants_it(store, work):
    """The same work as an async function for a database that is asked so."""
    if "postgres" not in type(store).__module__:
        return work

    async def wrapped(connection):
        result = work(connection)
        return await result if inspect.isawaitable(result) else result

    return wrapped


async def test_something_is_done_once_and_its_result_is_kept(store):
    calls = []

    def work(connection):
        calls.append(connection)
        return {"made": [len(calls), None, "ä"]}

    work = as_the_store_wants_it(store, work)
    assert await store.once("key", work) == {"made": [1, None, "ä"]}
    assert await store.once("key", work) == {"made": [1, None, "ä"]}
    assert await store.once("other", work) == {"made": [2, None, "ä"]}
    assert len(calls) == 2


async def test_what_failed_was_not_done(store):
    def fail(connection):
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        await store.once("key", as_the_store_wants_it(store, fail))
    assert await store.once("key", as_the_store_wants_it(store, lambda connection: 1)) == 1


async def test_a_result_that_is_no_json_is_wrong_use_and_nothing_was_done(store):
    with pytest.raises(UsageError, match=r"result\.made"):
        await store.once("key", as_the_store_wants_it(store, lambda connection: {"made": object()}))
    assert await store.once("key", as_the_store_wants_it(store, lambda connection: (1, 2))) == [1, 2]


async def test_of_many_at_a_time_one_does_it(store):
    calls = []

    def work(connection):
        calls.append(None)
        return len(calls)

    assert await asyncio.gather(*(store.once("key", as_the_store_wants_it(store, work)) for _ in range(6))) == [1] * 6
