"""A conversation is its user's: a run of another one neither reads it nor adds to it."""

from __future__ import annotations

from headrace.agent.agent import Agent
from headrace.agent.event_codec import decode_event
from headrace.models.scripted import ScriptedModel
from headrace.sessions.memory import MemoryStore
from headrace.sessions.runs import Runs


async def test_a_run_of_another_user_gets_nothing_of_a_conversation_whose_id_it_guesses():
    model = ScriptedModel("the code is 1234", "never asked")
    async with MemoryStore() as store, Runs(Agent(model), store) as runs:
        first = await runs.start("remember the code", session_id="talk", user="anna")
        await runs.wait(first.id)
        second = await runs.start("what is the code?", session_id="talk", user="bert")
        ended = await runs.wait(second.id)
        events = [decode_event(entry.data) async for entry in runs.read(second.id)]
        assert (ended.status, ended.generate_reason) == ("ended", "error")
        assert "another user's" in events[-2].message
        assert len(model.requests) == 1
        kept = await store.session("talk")
        assert (kept.user, kept.messages, kept.holder) == ("anna", 2, None)
