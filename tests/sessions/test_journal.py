"""A run's journal in a store: batches, checkpoints, and what happens when nothing can be kept."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from headrace.agent.agent import Agent
from headrace.agent.event_codec import decode_event
from headrace.agent.fold import fold
from headrace.errors import FencedError, StoreError
from headrace.models.scripted import ScriptedModel
from headrace.sessions.checkpoint import Checkpoint
from headrace.sessions.journal import StoreJournal
from headrace.sessions.memory import MemoryStore
from headrace.sessions.records import Batch, NewRun
from headrace.tools.tool import tool
from lasting import begun, streamed
from pausing import call, calls


@tool
async def act(what: str) -> str:
    """Act."""
    return f"did {what}"


async def claimed(store: Any) -> Any:
    record = await store.create_run(NewRun(id="r"))
    return await store.claim(record.id, "w", epoch=0)


async def log(store: MemoryStore) -> list[Any]:
    return [decode_event(entry.data) for entry in await store.entries("r", 0, 10_000)]


async def test_the_log_of_a_run_folds_to_its_messages():
    store = MemoryStore()
    journal = StoreJournal(store, await claimed(store), coalesce_s=0)
    agent = Agent(ScriptedModel(calls("well", call("a", what="x")), "all done", slice_chars=2), tools=[act])
    result = await agent.run("go", journal=journal)
    await journal.aclose()
    record = await store.run("r")
    assert fold(await log(store)) == result.messages
    assert (record.status, record.generate_reason, result.run_id) == ("ended", "completed", "r")
    assert record.last_seq == journal.last_seq == (await log(store))[-1].seq


async def test_deltas_wait_for_each_other_and_all_else_for_nothing():
    store = MemoryStore()
    batches: list[Batch] = []
    journal = StoreJournal(store, await claimed(store), coalesce_s=1000, on_kept=batches.append)
    gate = asyncio.Event()
    agent = Agent(ScriptedModel(streamed("ab", "cd", gate, "ef")))
    run = asyncio.create_task(agent.run("go", journal=journal))
    await begun(store, "r")
    before = len(batches)
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(batches) == before  # the deltas wait
    gate.set()
    await run
    await journal.aclose()
    assert [event.text for event in await log(store) if event.type == "text_delta"] == ["abcdef"]


async def test_a_checkpoint_holds_what_is_open_and_not_the_talk():
    store = MemoryStore()
    sizes: list[int] = []
    journal = StoreJournal(
        store, await claimed(store), on_kept=lambda batch: sizes.append(len(batch.checkpoint or b"")) if batch.checkpoint else None
    )
    answers = [calls("x" * 500, call(f"c{n}", what="y" * 500)) for n in range(40)]
    await Agent(ScriptedModel(*answers, "done"), tools=[act], max_rounds=None).run("go", journal=journal)
    await journal.aclose()
    assert max(sizes) < 4_000


async def test_a_run_that_waits_is_kept_as_waiting_and_goes_on_from_its_checkpoint():
    @tool(needs_approval=True)
    async def sign(what: str) -> str:
        """Sign."""
        return f"signed {what}"

    store = MemoryStore()
    journal = StoreJournal(store, await claimed(store))
    agent = Agent(ScriptedModel(calls(call("a", "sign", what="x")), "done"), tools=[sign])
    result = await agent.run("go", journal=journal)
    await journal.aclose()
    record = await store.run("r")
    assert (record.status, record.generate_reason) == ("waiting", "awaiting_approval")
    state = Checkpoint(record.checkpoint, record.checkpoint_seq).state(await log(store))
    assert json.loads(json.dumps(state)) == json.loads(json.dumps(result.state))


async def kept(agent: Agent, journal: StoreJournal) -> None:
    await agent.run("go", journal=journal)
    await journal.aclose()


class Full(MemoryStore):
    """A store whose disk is full from some batch on."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    async def append(self, batch: Batch) -> None:
        self.at -= 1
        if self.at < 0:
            raise StoreError("the disk is full")
        await super().append(batch)


@pytest.mark.parametrize("at", range(5))
async def test_what_cannot_be_kept_ends_the_run_and_says_so_once(at):
    store, lost = Full(at), []
    journal = StoreJournal(store, await claimed(store), coalesce_s=0, on_lost=lost.append)
    agent = Agent(ScriptedModel(calls(call("a", what="x")), "done"), tools=[act])
    with pytest.raises(StoreError, match="full"):
        await kept(agent, journal)
    assert len(lost) == 1
    assert journal.lost is lost[0]
    record = await store.run("r")
    assert record.status != "ended"


async def test_one_that_lost_the_run_writes_nothing_more():
    store = MemoryStore()
    gate = asyncio.Event()
    journal = StoreJournal(store, await claimed(store), coalesce_s=0)
    run = asyncio.create_task(Agent(ScriptedModel(streamed(gate, "done"))).run("go", journal=journal))
    await begun(store, "r")
    await store.claim("r", "other", epoch=1)
    gate.set()
    with pytest.raises(FencedError):
        await run
    assert (await store.run("r")).last_seq == 2


async def test_one_that_was_let_go_of_writes_nothing_more():
    store = MemoryStore()
    gate = asyncio.Event()
    journal = StoreJournal(store, await claimed(store), coalesce_s=0)
    run = asyncio.create_task(Agent(ScriptedModel(streamed(gate, "done"))).run("go", journal=journal))
    await begun(store, "r")
    journal.let_go()
    gate.set()
    with pytest.raises(FencedError):
        await run
    await journal.aclose()
    record = await store.run("r")
    assert (record.last_seq, record.status) == (2, "running")


async def test_words_that_come_before_a_run_goes_on_wait_for_its_beginning():
    store = MemoryStore()
    journal = StoreJournal(store, await claimed(store), coalesce_s=0)
    async with Agent(ScriptedModel("done")).stream("go", journal=journal) as run:
        run.steer("and quickly")
        journal.change()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert journal.lost is None
        async for _ in run:
            pass
    await journal.aclose()
    assert [message.text for message in fold(await log(store))] == ["go", "and quickly", "done"]
