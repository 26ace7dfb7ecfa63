"""Checkpoints: what they hold, and what is refused."""

from __future__ import annotations

import json

import pytest

from headrace.agent.agent import Agent
from headrace.agent.run_result import RunResult
from headrace.errors import SchemaVersionError, StoreError
from headrace.models.scripted import ScriptedModel
from headrace.sessions.checkpoint import Checkpoint, checkpoint_of
from headrace.tools.tool import tool
from pausing import call, calls


@tool
async def act(what: str) -> str:
    """Act."""
    return f"did {what}"


async def test_log_checkpoint_and_history_are_the_state_at_every_event():
    """The state that is put together is the state that the run itself gives, wherever it stands."""
    made, checked = [], 0
    agent = Agent(ScriptedModel(calls("one", call("a", what="x"), call("b", what="y")), "done", slice_chars=2), tools=[act])
    history = (await Agent(ScriptedModel("before")).run("earlier")).messages
    async with agent.stream("go", history=history, on_event=made.append) as run:
        async for _ in run:
            state = run.state
            result = RunResult.from_state(state)
            if result.open is None:
                continue
            checkpoint = Checkpoint(checkpoint_of(result), result.open.seq)
            assert checkpoint.state(made, history) == json.loads(json.dumps(state))
            checked += 1
    assert checked > 10


async def result() -> RunResult:
    return await Agent(ScriptedModel("done")).run("go")


async def test_one_of_a_later_version_is_refused():
    data = checkpoint_of(await result()).replace(b'"checkpoint_version":1', b'"checkpoint_version":2')
    with pytest.raises(SchemaVersionError, match="version 2"):
        Checkpoint(data, 1)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"checkpoint_version": 1}', b'{"checkpoint_version": 1, "messages": -1}'])
def test_what_is_none_is_refused(data):
    with pytest.raises(StoreError, match="event 7"):
        Checkpoint(data, 7)


async def test_one_that_counts_more_messages_than_the_log_makes_is_refused():
    checkpoint = Checkpoint(checkpoint_of(await result()), 9)
    with pytest.raises(StoreError, match="fewer messages"):
        checkpoint.state([])
