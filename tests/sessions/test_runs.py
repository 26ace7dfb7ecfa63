"""Runs in a store: begun, read, answered, steered, interrupted, deleted; by one process and by several."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from typing import Any

import pytest

from headrace.agent.agent import Agent
from headrace.agent.approval import Approve
from headrace.agent.event_codec import decode_event
from headrace.errors import ConflictError, NotFoundError, StateError, UsageError
from headrace.messages.message import UserMessage
from headrace.models.scripted import ScriptedModel
from headrace.sessions.memory import MemoryStore
from headrace.sessions.runs import Runs
from headrace.tools.tool import Tool, tool
from lasting import begun, streamed
from pausing import call, calls
from store_ground import Clock


@tool(needs_approval=True)
async def sign(what: str) -> str:
    """Sign."""
    return f"signed {what}"


@tool
async def act(what: str) -> str:
    """Act."""
    return f"did {what}"


def runs_of(*answers: Any, store: Any = None, tools: Any = (sign, act), **options: Any) -> Runs:
    """Runs of a new agent, as a process of its own would have them; nothing of it happens by time."""
    agent = Agent(ScriptedModel(*answers), tools=tools)
    return Runs(agent, MemoryStore() if store is None else store, **{"beat_s": 1000, "listen_s": 1000, "coalesce_s": 0, **options})


async def gated(gate: asyncio.Event, answer: Any) -> Any:
    await gate.wait()
    return answer


async def types(runs: Runs, run_id: str, after: int = 0, **options: Any) -> list[str]:
    return [decode_event(entry.data).type async for entry in runs.read(run_id, after, **options)]


async def test_a_run_goes_on_by_itself_and_is_read_from_anywhere():
    async with runs_of("done") as runs:
        record = await runs.start("go", session_id="s")
        assert (await types(runs, record.id))[-1] == "run_ended"
        ended = await runs.wait(record.id)
        assert (ended.status, ended.generate_reason) == ("ended", "completed")
        assert (await runs.result(record.id)).message.text == "done"
        assert [message.text for message in await runs.store.begin("s", "next")] == ["go", "done"]


async def test_a_reader_gets_every_event_once_wherever_it_begins():
    async with runs_of(calls("hm", call(what="x")), "all done", tools=[act]) as runs:
        run_id = (await runs.start("go")).id
        live = [entry async for entry in runs.read(run_id)]
        later = [entry async for entry in runs.read(run_id)]
        assert live == later
        for n, entry in enumerate(later):
            assert [one async for one in runs.read(run_id, entry.seq)] == later[n + 1 :]


async def test_a_reader_through_pauses_sees_the_run_to_its_end():
    async with runs_of(calls(call("a", "sign", what="x")), "done") as runs:
        run_id = (await runs.start("go")).id
        reader = asyncio.create_task(types(runs, run_id, follow=True))
        short = await types(runs, run_id)
        assert short[-2:] == ["approval_required", "run_ended"]
        (pending,) = (await runs.result(run_id)).pending
        await runs.resume(run_id, pending.approve())
        seen = await reader
        assert seen.count("run_ended") == 2
        assert seen[: len(short)] == short


async def test_asking_for_the_same_run_twice_begins_it_once():
    async with runs_of("done") as runs:
        first = await runs.start("go", run_id="mine", user="ann")
        again = await runs.start("go", run_id="mine", user="ann")
        assert first.id == again.id == "mine"
        with pytest.raises(ConflictError, match="another user"):
            await runs.start("go", run_id="mine", user="bob")
        await runs.wait("mine")
        assert (await runs.result("mine")).message.text == "done"


async def test_answers_that_do_not_fit_change_nothing():
    async with runs_of(calls(call("a", "sign", what="x")), "done") as runs:
        run_id = (await runs.start("go")).id
        await runs.wait(run_id)
        (pending,) = (await runs.result(run_id)).pending
        with pytest.raises(StateError):
            await runs.resume(run_id, Approve("foreign/0"))
        with pytest.raises(UsageError):
            await runs.resume(run_id, pending.approve({"no": "such"}))
        await runs.resume(run_id, pending.approve())
        await runs.wait(run_id)
        with pytest.raises(StateError, match="ended"):
            await runs.resume(run_id, pending.approve())


async def test_of_two_answers_at_the_same_time_one_counts():
    store = MemoryStore()
    async with runs_of(calls(call("a", "sign", what="x")), "done", store=store) as runs, runs_of("done", store=store) as other:
        run_id = (await runs.start("go")).id
        await runs.wait(run_id)
        (pending,) = (await runs.result(run_id)).pending
        said = await asyncio.gather(
            runs.resume(run_id, pending.approve()), other.resume(run_id, pending.deny("no")), return_exceptions=True
        )
        assert sum(isinstance(one, (ConflictError, StateError)) for one in said) == 1
        assert (await runs.wait(run_id)).status == "ended"


async def test_a_run_that_waits_goes_on_in_another_process():
    store = MemoryStore()
    async with runs_of(calls(call("a", "sign", what="x")), store=store) as runs:
        run_id = (await runs.start("go", session_id="s")).id
        await runs.wait(run_id)
    async with runs_of("done", store=store) as other:
        (pending,) = (await other.result(run_id)).pending
        await other.resume(run_id, pending.approve())
        await other.wait(run_id)
        assert [message.text for message in (await other.result(run_id)).messages][-1] == "done"
        assert (await store.session("s")).holder is None


async def test_when_the_process_ends_a_run_is_let_go_of_as_it_stands():
    store, gate = MemoryStore(), asyncio.Event()
    async with runs_of(streamed("half ", gate, "never"), store=store) as runs:
        run_id = (await runs.start("go", session_id="s")).id
        async for entry in runs.read(run_id):
            if decode_event(entry.data).type == "text_delta":
                break
    assert (await store.run(run_id)).status == "running"
    async with runs_of("whole", store=store) as other:
        await other.wait(run_id)
        seen = await types(other, run_id)
        assert seen.count("attempt_discarded") == 1
        assert (await other.result(run_id)).message.text == "whole"
        assert [message.text for message in await store.begin("s", "next")] == ["go", "whole"]


async def test_interrupting_ends_a_run_and_keeps_what_came():
    gate = asyncio.Event()
    async with runs_of(streamed("half ", gate)) as runs:
        run_id = (await runs.start("go")).id
        async for entry in runs.read(run_id):
            if decode_event(entry.data).type == "text_delta":
                await runs.interrupt(run_id)
        record = await runs.wait(run_id)
        assert (record.status, record.generate_reason) == ("ended", "interrupted")
        assert (await runs.result(run_id)).message.text == "half "


async def test_interrupting_a_run_that_waits_gives_it_up():
    async with runs_of(calls(call("a", "sign", what="x"))) as runs:
        run_id = (await runs.start("go", session_id="s")).id
        await runs.wait(run_id)
        await runs.interrupt(run_id)
        record = await runs.wait(run_id)
        assert (record.status, record.generate_reason) == ("ended", "interrupted")
        assert (await runs.store.session("s")).holder is None
        await runs.interrupt(run_id)  # over: nothing happens


async def test_runs_that_wait_for_too_long_are_given_up_and_no_others():
    clock = Clock()
    async with runs_of(*[calls(call("a", "sign", what="x"))] * 121, store=MemoryStore(now=clock)) as runs:
        old = [(await runs.start("go")).id for _ in range(120)]
        await asyncio.gather(*(runs.wait(run_id) for run_id in old))
        clock.advance(100)
        new = (await runs.start("go")).id
        await runs.wait(new)
        assert await runs.give_up_waiting(50) == 120
        ended = await asyncio.gather(*(runs.wait(run_id) for run_id in old))
        assert {(record.status, record.generate_reason) for record in ended} == {("ended", "interrupted")}
        assert (await runs.store.run(new)).status == "waiting"
        assert await runs.give_up_waiting(50) == 0
        with pytest.raises(UsageError, match="age_s is -1"):
            await runs.give_up_waiting(-1)


async def test_words_from_outside_reach_a_run_in_another_process_once():
    store, gate = MemoryStore(), asyncio.Event()
    async with (
        runs_of(lambda _: gated(gate, calls(call(what="x"))), "done", store=store, tools=[act], listen_s=0) as runs,
        runs_of(store=store, dead_after_s=1000) as other,
    ):
        run_id = (await runs.start("go")).id
        await begun(store, run_id)
        await other.steer(run_id, "and quickly")
        while await store.signals([run_id]):
            await store.changed(run_id, 10_000, 0.01)
        gate.set()
        await runs.wait(run_id)
        texts = [message.text for message in (await runs.result(run_id)).messages if isinstance(message, UserMessage)]
        assert texts == ["go", "and quickly"]


async def test_an_interruption_reaches_a_run_in_another_process():
    store, gate = MemoryStore(), asyncio.Event()
    async with (
        runs_of(streamed("half", gate), store=store, listen_s=0) as runs,
        runs_of(store=store, dead_after_s=1000) as other,
    ):
        run_id = (await runs.start("go")).id
        await begun(store, run_id)
        await other.interrupt(run_id)
        assert (await other.wait(run_id)).generate_reason == "interrupted"


async def test_words_for_a_run_that_does_not_go_on_are_refused():
    async with runs_of("done") as runs:
        run_id = (await runs.start("go")).id
        await runs.wait(run_id)
        with pytest.raises(StateError, match="ended"):
            await runs.steer(run_id, "more")


async def test_a_conversation_that_is_held_is_refused_at_once():
    async with runs_of(calls(call("a", "sign", what="x")), "done") as runs:
        run_id = (await runs.start("go", session_id="s")).id
        await runs.wait(run_id)
        with pytest.raises(ConflictError, match="'s'"):
            await runs.start("more", session_id="s")


async def test_a_run_that_fails_says_so_in_its_log_and_nowhere_else():
    async with runs_of(UsageError("the model is broken")) as runs:
        run_id = (await runs.start("go")).id
        record = await runs.wait(run_id)
        assert (record.status, record.generate_reason) == ("ended", "error")
        assert (await types(runs, run_id))[-2:] == ["error", "run_ended"]


async def test_a_deleted_run_is_gone_and_its_conversation_is_free():
    async with runs_of(calls(call("a", "sign", what="x"))) as runs:
        run_id = (await runs.start("go", session_id="s")).id
        await runs.wait(run_id)
        await runs.delete(run_id)
        with pytest.raises(NotFoundError):
            await runs.result(run_id)
        assert (await runs.store.session("s")).holder is None


async def test_no_more_runs_than_allowed_are_worked_on_at_once():
    gates = [asyncio.Event() for _ in range(3)]
    async with runs_of(*[streamed(gate, "done") for gate in gates], max_running=1) as runs:
        ids = [(await runs.start("go")).id for _ in range(3)]
        await begun(runs.store, ids[0])
        assert [(await runs.store.run(run_id)).last_seq > 0 for run_id in ids] == [True, False, False]
        for gate in gates:
            gate.set()
        assert [(await runs.wait(run_id)).status for run_id in ids] == ["ended"] * 3


async def test_without_its_block_nothing_is_worked_on():
    with pytest.raises(StateError, match="async with"):
        await runs_of("done").start("go")


async def test_each_agent_goes_on_with_its_own_runs():
    store, gate = MemoryStore(), asyncio.Event()
    async with runs_of(streamed("half", gate), store=store, name="mine") as runs:
        run_id = (await runs.start("go")).id
        await begun(store, run_id)
    async with runs_of("other's", store=store, name="other"):
        assert (await store.run(run_id)).epoch == 1
    async with runs_of("whole", store=store, name="mine") as again:
        assert (await again.wait(run_id)).generate_reason == "completed"


async def test_a_conversation_gets_its_title_from_its_first_question():
    async with runs_of("done", "done again") as runs:
        await runs.wait((await runs.start("What is the time in Oslo?\nPlease.", session_id="s")).id)
        assert (await runs.store.session("s")).title == "What is the time in Oslo?"
        await runs.store.set_title("s", "My own")
        await runs.wait((await runs.start("And in Rome?", session_id="s")).id)
        assert (await runs.store.session("s")).title == "My own"


async def test_a_caller_brings_tools_of_its_own_and_answers_for_them():
    measure = Tool(name="measure", description="Measure.", parameters={"type": "object"}, external=True)
    store = MemoryStore()
    async with runs_of(calls(call("a", "measure", of="it")), store=store) as runs:
        run_id = (await runs.start("go", tools=[measure])).id
        assert (await runs.wait(run_id)).generate_reason == "awaiting_external"
    async with runs_of("done", store=store) as other:
        (pending,) = (await other.result(run_id)).pending
        await other.resume(run_id, pending.answer(42))
        await other.wait(run_id)
        assert (await other.result(run_id)).message.text == "done"
        with pytest.raises(UsageError, match="not external"):
            await other.start("go", tools=[act])
        with pytest.raises(UsageError, match="two tools"):
            await other.start("go", tools=[measure.replace(name="act")])


async def test_a_run_that_has_ended_leaves_nothing_for_a_look_at_circles():
    async with runs_of(*[one for _ in range(6) for one in (calls(call("a", "act", what="x")), "done")]) as runs:
        await runs.wait((await runs.start("go")).id)
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                await runs.wait((await runs.start("go")).id)
            while runs.here((await runs.store.runs(limit=1))[0].id) is not None:
                await runs.store.changed("nobody", 0, 0.01)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = Counter(type(one).__name__ for one in gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert not left.keys() & {"Engine", "Standing", "Ledger", "Execution", "StoreJournal", "Run", "Recent"}
