"""Which leg of a run is whose workflow, and which legs are over."""

from __future__ import annotations

from headrace.durable.legs import Leg, run_of
from headrace.sessions.memory import MemoryStore
from headrace.sessions.records import Batch, Entry, NewRun

END = b'{"type":"run_ended"}'


async def run_with(store, *data, status="running"):
    """A run whose log holds these."""
    await store.create_run(NewRun(id="a:b"))
    await store.claim("a:b", "me", epoch=0)
    entries = tuple(Entry(n, one) for n, one in enumerate(data, 1))
    await store.append(Batch(run_id="a:b", epoch=1, after=0, entries=entries, status=status))
    return await store.run("a:b")


def test_a_workflow_s_id_names_its_run():
    leg = Leg("a:b", 7, 255)
    assert (leg.workflow_id, run_of(leg.workflow_id)) == ("a:b:ff:7", "a:b")


async def test_the_leg_that_a_run_is_on_begins_after_its_last_pause():
    store = MemoryStore()
    record = await run_with(store, b"{}", END, b"{}", END, b"{}")
    leg = await Leg.present(store, record)
    assert (leg.after, await leg.is_over(store, record)) == (4, False)
    first = Leg.first(record)
    assert await first.is_over(store, record)


async def test_a_leg_is_over_where_its_run_waits_or_is_another_one():
    store = MemoryStore()
    record = await run_with(store, b"{}", END, status="waiting")
    assert await Leg.first(record).is_over(store, record)
    assert await Leg.next(record).is_over(store, record)  # until somebody has answered
    claimed = await store.claim("a:b", "me", epoch=1)
    assert not await Leg.next(record).is_over(store, claimed)
    assert await Leg("a:b", 2, 0).is_over(store, claimed)
    assert await Leg("a:b", 3, Leg.first(record).born).is_over(store, claimed)
