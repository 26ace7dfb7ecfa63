"""A worker dies at any of its writes: the next one goes on, and nothing is lost, doubled or mixed up."""

from __future__ import annotations

from collections import Counter

import pytest

from headrace.agent.event_codec import decode_event
from headrace.agent.events import RunEnded, SubRun
from headrace.agent.fold import fold
from headrace.errors import StoreError
from headrace.sessions.memory import MemoryStore
from headrace.sessions.runs import Runs
from lasting import FINAL, Effects, Lifeline
from legal_history import problems


async def drive(runs: Runs, run_id: str) -> None:
    """Say yes to what is asked, and "run it again" never: what is in doubt gets its result from a person."""
    while True:
        record = await runs.wait(run_id)
        if record.status == "ended":
            return
        result = await runs.result(run_id)
        for pending in result.pending:
            reply = pending.answer(f"a person says: {pending.call.name} was done") if pending.kind == "in_doubt" else pending.approve()
            await runs.resume(run_id, reply)
            await runs.wait(run_id)


async def through_a_crash(cut_at: int, *, is_kept: bool) -> tuple[MemoryStore, Effects, bool]:
    store, effects = MemoryStore(), Effects()
    line = Lifeline(store, cut_at, is_kept=is_kept)
    try:
        async with Runs(effects.agent(), line, worker_id="a", beat_s=1000, listen_s=1000, coalesce_s=0.001) as runs:
            await runs.start("Do it.", run_id="r", session_id="s")
            while not line.is_cut:
                record = await runs.wait("r")
                if record.status == "ended":
                    return store, effects, False
                for pending in (await runs.result("r")).pending:
                    await runs.resume("r", pending.approve())
    except StoreError:
        assert line.is_cut
    async with Runs(effects.agent(), store, worker_id="b", beat_s=1000, listen_s=1000, dead_after_s=0) as runs:
        try:
            await runs.store.run("r")
        except StoreError:
            await runs.start("Do it.", run_id="r", session_id="s")
        await drive(runs, "r")
    return store, effects, True


async def check(store: MemoryStore, effects: Effects) -> None:
    record = await store.run("r")
    assert (record.status, record.generate_reason) == ("ended", "completed")
    events = [decode_event(entry.data) for entry in await store.entries("r", 0, 10_000)]
    seqs = [event.seq for event in events]
    assert seqs == sorted(set(seqs))
    messages = fold(events)
    assert messages[-1].text == FINAL
    assert not problems(messages)
    assert [message.text for message in (await store.begin("s", "next"))] == [message.text for message in messages]
    assert isinstance(events[-1], RunEnded)
    doubled = {what: n for what, n in Counter(effects.done).items() if n > 1 and not what.startswith("look")}
    assert not doubled
    opened: set[object] = set()
    for event in [event.event if isinstance(event, SubRun) else event for event in events]:
        key = getattr(event, "call_key", None) or (getattr(event, "message_id", None), getattr(event, "part", None))
        match event.type:
            case "text_started" | "tool_call_started":
                assert key not in opened
                opened.add(key)
            case "text_ended" | "tool_call_ended":
                opened.remove(key)
            case "text_delta" | "tool_call_arguments":
                assert key in opened
    assert not opened


async def test_without_a_crash_it_ends():
    store, effects, is_cut = await through_a_crash(10_000, is_kept=True)
    assert not is_cut
    await check(store, effects)
    assert Counter(effects.done) == Counter(["look a", "pay one", "pay two", "sign paper", "pay inside", "look b"])


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("cut_at", range(1, 60))
async def test_a_crash_at_any_write(cut_at, is_kept):
    store, effects, _ = await through_a_crash(cut_at, is_kept=is_kept)
    await check(store, effects)
