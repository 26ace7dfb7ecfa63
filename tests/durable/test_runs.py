"""Runs on DBOS: begun, answered, recorded as steps, taken over, cancelled; the store decides, and DBOS's records may be lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter

import pytest
from dbos import DBOSClient, DBOSPortableJSONSerializer

import early_desk
from headrace.agent.agent import Agent
from headrace.agent.event_codec import decode_event
from headrace.durable import Database, DurableRuns, Pace
from headrace.durable.legs import Leg
from headrace.durable.runs import MAX_FRUITLESS
from headrace.errors import ConfigError, StateError, StoreError
from headrace.models.scripted import ScriptedModel
from headrace.sessions.memory import MemoryStore
from headrace.sessions.records import NewRun
from headrace.sessions.request import Request
from headrace.sessions.runs import Runs
from headrace.tools.tool import tool
from lasting import FINAL, Effects, answer, rounds_of
from lasting_fleet import check_events

QUICK = Pace(beat_s=0.2, listen_s=0.05, poll_s=0.02, dead_after_s=1.0, coalesce_s=0.005)


async def driven(runs, run_id="r"):
    """Say yes to whatever is asked, until the run has ended."""
    while (record := await runs.wait(run_id)).status != "ended":
        for pending in (await runs.result(run_id)).pending:
            await runs.resume(run_id, pending.answer("done") if pending.kind == "in_doubt" else pending.approve())
    return record


async def workflows(store):
    """What DBOS has recorded: the steps of each workflow, in the order of their making."""
    engine = Database.beside(store).engine()
    client = DBOSClient(system_database_engine=engine, serializer=DBOSPortableJSONSerializer())
    try:
        listed = await client.list_workflows_async()
        return [(one, await client.list_workflow_steps_async(one.workflow_id)) for one in listed]
    finally:
        client.destroy()
        engine.dispose()


async def test_a_run_through_all_that_can_happen_ends_as_any_other(store):
    effects = Effects()
    async with DurableRuns(effects.agent(), store, pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r", session_id="s")
        record = await driven(runs)
        assert record.generate_reason == "completed"
        events = [decode_event(entry.data) async for entry in runs.read("r")]
    messages = check_events(events)
    assert [message.text for message in await store.begin("s", "next")] == [message.text for message in messages]
    assert Counter(effects.done) == Counter(["look a", "pay one", "pay two", "sign paper", "pay inside", "look b"])


async def test_each_leg_is_a_workflow_and_each_call_of_a_model_or_a_tool_a_step_without_content(store):
    async with DurableRuns(Effects().agent(), store, pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        await driven(runs)
    (first, first_steps), (second, second_steps) = await workflows(store)
    assert [first.status, second.status] == ["SUCCESS", "SUCCESS"]
    assert [step["function_name"] for step in first_steps] == [
        "claim",
        "model:scripted:model",
        *["tool:look", "tool:pay", "tool:pay"],
        "model:scripted:model",
    ]
    assert [step["function_name"] for step in second_steps][:3] == ["claim", "tool:sign", "model:scripted:model"]
    outputs = [step["output"] for step in (*first_steps, *second_steps)]
    assert all(output.keys() <= {"epoch", "seq", "call_key", "state"} for output in outputs)
    assert [output["state"] for output in outputs if "state" in output] == ["success"] * 6
    assert (first.input["args"][0], first.output) == ("r", None)


async def test_a_run_that_waits_has_no_workflow(store):
    async with DurableRuns(Effects().agent(), store, pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        assert (await runs.wait("r")).status == "waiting"
        async with asyncio.timeout(10):
            while [one.status for one, _ in await workflows(store)] != ["SUCCESS"]:
                await asyncio.sleep(0.05)
                await asyncio.sleep(0)


async def test_a_process_may_only_begin_runs_and_read_them(store):
    async with DurableRuns(Effects().agent(), store, works=False, pace=QUICK) as front:
        record = await front.start("Do it.", run_id="r")
        assert (record.status, record.owner) == ("queued", None)
        async with DurableRuns(Effects().agent(), store, pace=QUICK):
            await driven(front)
        assert (await front.result("r")).message.text == FINAL


async def test_a_run_that_was_kept_and_never_queued_gets_a_workflow(store):
    agent = Effects().agent()
    request = Request(input=agent.messages_of("Do it."))
    await store.create_run(NewRun(id="r", request=request.encoded()))
    await store.create_run(NewRun(id="other", request=Request(input=request.input, agent="another one").encoded()))
    async with DurableRuns(agent, store, pace=QUICK) as runs:
        await driven(runs)
    assert (await store.run("other")).status == "queued"


def gated(gate):
    """An agent whose tool waits."""
    began = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        began.set()
        await gate.wait()
        return "waited"

    return Agent(
        ScriptedModel(*[lambda request: answer("", ("wait", {})) if rounds_of(request) == 0 else answer(FINAL)] * 9), tools=[wait]
    ), began


async def test_when_a_worker_leaves_its_runs_are_back_in_the_queue_at_once(store):
    agent, began = gated(asyncio.Event())
    async with DurableRuns(agent, store, worker_id="a", pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        await began.wait()
    ((workflow, _),) = await workflows(store)
    assert workflow.status == "ENQUEUED"
    assert (await store.run("r")).status == "running"
    assert [worker.id for worker in await store.workers()] == []
    async with DurableRuns(agent, store, worker_id="b", pace=QUICK) as runs:
        await runs.wait("r")
        (pending,) = (await runs.result("r")).pending
        assert pending.kind == "in_doubt"
        await driven(runs)
    (_, steps), _ = await workflows(store)
    assert [step["function_id"] for step in steps] == [1, 2, 3]  # what was recorded stays, and the claim of the second comes behind it
    assert [step["function_name"] for step in steps] == ["claim", "model:scripted:model", "claim"]


async def test_with_its_records_lost_dbos_goes_on_with_what_the_store_knows(store):
    agent, began = gated(asyncio.Event())
    async with DurableRuns(agent, store, worker_id="a", pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        await began.wait()
    for file in store.path.parent.glob("runs.db-dbos*"):
        file.unlink()
    async with DurableRuns(agent, store, worker_id="b", pace=QUICK) as runs:
        assert (await driven(runs)).generate_reason == "completed"


async def test_what_dbos_cannot_record_is_done_all_the_same(store):
    gate = asyncio.Event()
    agent, began = gated(gate)
    async with DurableRuns(agent, store, pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        await began.wait()
        with sqlite3.connect(Database.beside(store).path) as connection:
            connection.execute("CREATE TRIGGER full BEFORE INSERT ON operation_outputs BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
        connection.close()
        gate.set()
        record = await runs.wait("r")
    assert (record.status, record.generate_reason) == ("ended", "completed")


async def test_a_workflow_that_is_cancelled_with_dbos_s_own_tools_ends_its_run_as_interrupted(store):
    gate = asyncio.Event()
    agent, began = gated(gate)
    async with DurableRuns(agent, store, pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        await began.wait()
        engine = Database.beside(store).engine()
        client = DBOSClient(system_database_engine=engine)
        await client.cancel_workflow_async(Leg.first(await store.run("r")).workflow_id)
        client.destroy()
        engine.dispose()
        gate.set()
        record = await runs.wait("r")
    assert (record.status, record.generate_reason) == ("ended", "interrupted")


async def heard(store):
    """Wait until what was said to the run is kept in it."""
    while True:
        if not await store.signals(["r"]):
            return
        await asyncio.sleep(0.02)


async def test_interruptions_and_words_reach_a_run_wherever_it_is(store):
    gate = asyncio.Event()
    agent, began = gated(gate)
    async with DurableRuns(agent, store, works=False, pace=QUICK) as front:
        async with DurableRuns(agent, store, pace=QUICK):
            await front.start("Do it.", run_id="r")
            await began.wait()
            await front.steer("r", "And be quick.")
            await heard(store)
            gate.set()
            assert (await front.wait("r")).generate_reason == "completed"
            assert [message.text for message in (await front.result("r")).messages if message.role == "user"] == ["Do it.", "And be quick."]
            gate.clear()
            began.clear()
            await front.start("Do it.", run_id="r2")
            await began.wait()
            await front.interrupt("r2")
            assert (await front.wait("r2")).generate_reason == "interrupted"
        await front.start("Do it.", run_id="r3")
        await front.interrupt("r3")  # nobody works
        async with DurableRuns(agent, store, pace=QUICK):
            assert (await front.wait("r3")).generate_reason == "interrupted"


async def test_no_more_runs_than_allowed_are_worked_on_at_once(store):
    now, most = 0, 0

    @tool
    async def count() -> str:
        """Count."""
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.05)
        now -= 1
        return ""

    agent = Agent(
        ScriptedModel(*[lambda request: answer("", ("count", {})) if rounds_of(request) == 0 else answer(FINAL)] * 99), tools=[count]
    )
    async with DurableRuns(agent, store, concurrency=2, pace=QUICK) as runs:
        for n in range(8):
            await runs.start("Do it.", run_id=f"r{n}")
        for n in range(8):
            await runs.wait(f"r{n}")
    assert most == 2


async def test_two_agents_in_one_store_have_queues_of_their_own(store):
    one, other = Agent(ScriptedModel("one")), Agent(ScriptedModel("other"))
    async with DurableRuns(other, store, name="other", works=False, pace=QUICK) as front:
        await front.start("Do it.", run_id="o")
        async with DurableRuns(one, store, name="one", pace=QUICK) as runs:
            await runs.start("Do it.", run_id="r")
            await runs.wait("r")
            await asyncio.sleep(0.5)
        assert (await store.run("o")).status == "queued"
        async with DurableRuns(other, store, name="other", pace=QUICK):
            await front.wait("o")
        assert (await front.result("o")).message.text == "other"


async def test_a_deleted_run_can_be_begun_again_under_its_id(store):
    async with DurableRuns(Agent(ScriptedModel("one", "two")), store, pace=QUICK) as runs:
        for text in ("one", "two"):
            await runs.start("Do it.", run_id="r")
            await runs.wait("r")
            assert (await runs.result("r")).message.text == text
            await runs.delete("r")


async def test_there_is_one_that_works_in_each_process(store, tmp_path):
    async with DurableRuns(Effects().agent(), store, pace=QUICK):
        with pytest.raises(StateError, match="already"):
            async with DurableRuns(Effects().agent(), store, pace=QUICK):
                pass
    await asyncio.to_thread(lambda: None)  # the loop's own threads are there again


async def test_a_store_that_is_in_no_database_needs_one_to_be_named(tmp_path):
    with pytest.raises(ConfigError, match="database="):
        DurableRuns(Effects().agent(), MemoryStore())
    async with MemoryStore() as store, DurableRuns(Effects().agent(), store, database=tmp_path / "dbos.db", pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        assert (await driven(runs)).generate_reason == "completed"


async def test_runs_begun_without_dbos_go_on_with_it(store):
    agent, began = gated(asyncio.Event())
    async with Runs(agent, store, worker_id="plain") as runs:
        await runs.start("Do it.", run_id="r")
        await began.wait()
    async with DurableRuns(agent, store, pace=QUICK) as runs:
        assert (await driven(runs)).generate_reason == "completed"


async def test_a_tool_that_starts_while_the_model_still_speaks_is_a_step_too(store):
    desk = early_desk.Desk()
    gate = asyncio.Event()
    agent = early_desk.agent_of(desk, early_desk.script(early_desk.call(0, n=1), gate), early_desk.DONE)
    async with DurableRuns(agent, store, pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        await desk.ran.wait()
        gate.set()
        assert (await runs.wait("r")).generate_reason == "completed"
    ((_, steps),) = await workflows(store)
    assert sorted(step["function_name"] for step in steps) == ["claim", "model:scripted:model", "model:scripted:model", "tool:look"]
    assert [step["output"]["state"] for step in steps if step["function_name"] == "tool:look"] == ["success"]


async def test_a_run_that_stops_since_its_store_fails_is_tried_again_here(store):
    class Failing:
        """A store that fails once, in the middle of a run."""

        def __init__(self):
            self.appends = 0

        def __getattr__(self, name):
            return getattr(store, name)

        async def append(self, batch):
            self.appends += 1
            if self.appends == 3:
                raise StoreError("the disk is full")
            await store.append(batch)

    effects = Effects()
    async with DurableRuns(effects.agent(), Failing(), database=Database.beside(store), pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r", session_id="s")
        assert (await driven(runs)).generate_reason == "completed"
        check_events([decode_event(entry.data) async for entry in runs.read("r")])
    assert {what: n for what, n in Counter(effects.done).items() if n > 1 and not what.startswith("look")} == {}


async def test_a_run_that_ends_each_worker_is_given_up(store):
    began = asyncio.Event()

    @tool(idempotent=True)
    async def fatal() -> str:
        """Hang until the worker is gone."""
        began.set()
        await asyncio.Event().wait()

    script = [lambda request: answer("", ("fatal", {}))] * 99
    for _ in range(MAX_FRUITLESS + 1):
        began.clear()
        async with DurableRuns(Agent(ScriptedModel(*script), tools=[fatal]), store, pace=QUICK) as runs:
            await runs.start("Do it.", run_id="r")
            await began.wait()
    async with DurableRuns(Agent(ScriptedModel(*script), tools=[fatal]), store, pace=QUICK) as runs:
        assert (await runs.wait("r")).generate_reason == "interrupted"


async def test_a_run_whose_workflow_is_over_too_early_gets_another_one(store):
    async with DurableRuns(Effects().agent(), store, pace=QUICK) as runs:
        await runs.start("Do it.", run_id="r")
        record = await runs.wait("r")
        await runs._system.enqueue(Leg.next(record))  # by mistake: nobody has answered yet
        while (await runs._system.workflow(Leg.next(record).workflow_id)).status != "SUCCESS":
            await asyncio.sleep(0.02)
            await asyncio.sleep(0)
        runs._sweeper.know = lambda record: None
        assert (await driven(runs)).generate_reason == "completed"


async def test_a_run_that_comes_to_wait_while_it_is_looked_at_is_left_alone(store):
    effects = Effects()
    async with DurableRuns(effects.agent(), store, pace=Pace(beat_s=1000, poll_s=0.02)) as runs:
        await runs.start("Do it.", run_id="r")
        async for _ in runs.read("r"):
            stale = await store.run("r")
            if stale.status == "running":
                break
        await runs.wait("r")
        await runs._sweeper._adopt_one(stale)
        assert [one.workflow_id for one, _ in await workflows(store)] == [Leg.first(stale).workflow_id]
        assert (await driven(runs)).generate_reason == "completed"
