"""What is said to runs is kept before anybody hears that it was taken, and nobody but the run forgets it."""

from __future__ import annotations

from headrace.errors import ConflictError, StoreError
from headrace.sessions.memory import MemoryStore
from headrace.sessions.runs import Runs
from headrace.sessions.signals import Signals, answers_form
from lasting import Effects, Lifeline

QUIET = {"beat_s": 1000, "listen_s": 1000, "coalesce_s": 0.001}


async def waiting(store, **options):
    async with Runs(Effects().agent(), store, worker_id="a", **QUIET, **options) as runs:
        await runs.start("Do it.", run_id="r", session_id="s")
        assert (await runs.wait("r")).status == "waiting"


async def test_an_interruption_of_a_run_that_waits_outlives_a_crash():
    store = MemoryStore()
    await waiting(store)
    line = Lifeline(store, 2, is_kept=True)  # the signal is kept and the run claimed, then the worker is gone
    try:
        async with Runs(Effects().agent(), line, worker_id="b", **QUIET) as runs:
            await runs.interrupt("r")
            await runs.wait("r")
    except StoreError:
        assert line.is_cut
    async with Runs(Effects().agent(), store, worker_id="c", dead_after_s=0, **QUIET) as runs:
        record = await runs.wait("r")
    assert (record.status, record.generate_reason) == ("ended", "interrupted")
    assert await store.signals(["r"]) == ()


async def test_what_is_answered_while_a_run_is_left_stays():
    store = MemoryStore()
    await waiting(store)
    signals = Signals(store)
    first = await store.signal("r", "resume", answers_form((), after=1))
    told = await signals.told("r")
    second = await store.signal("r", "resume", answers_form((), after=2))
    await signals.forget(told)
    assert told.ids == (first,)
    assert [signal.id for signal in await store.signals(["r"])] == [second]


async def test_a_run_that_another_worker_was_faster_to_take_up_is_begun_all_the_same():
    class Crowded(MemoryStore):
        async def claim(self, run_id, owner, *, epoch):
            if owner == "a":
                await super().claim(run_id, "b", epoch=epoch)
                raise ConflictError("too late")
            return await super().claim(run_id, owner, epoch=epoch)

    async with Runs(Effects().agent(), Crowded(), worker_id="a", **QUIET) as runs:
        assert (await runs.start("Do it.", run_id="r")).owner == "b"
