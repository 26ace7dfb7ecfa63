"""openJiuwen: what its agent does when people and nested agents are in the loop, and when a run is broken off."""

from __future__ import annotations

import json

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from seed_runs import asks, call, check, check_requests, go_on, of, run


def acting():
    """A tool that a person must allow, and the list of what it did."""
    done = []

    @tool(needs_approval=True)
    async def act(what: str) -> str:
        """Do something."""
        done.append(what)
        return f"did {what}"

    return act, done


def acts(what, call_id="c"):
    return asks(call(call_id, "act", json.dumps({"what": what})))


async def test_a_question_of_a_nested_agent_names_the_outer_call():
    """Ids of a nested agent's questions are mapped to the outer call; the answer finds its way in."""
    act, done = acting()
    inner = Agent(ScriptedModel(acts("a"), "inner done"), tools=[act])
    agent = Agent(ScriptedModel(asks(call("o", "helper", '{"task": "t"}')), "done"), tools=[inner.as_tool("helper", "Helps.")])
    result, made = await run(agent)
    (question,) = result.pending
    (started,) = of(made, events.ToolStarted)
    assert question.path == (started.call_key,)
    assert question.call.parsed == {"what": "a"}
    result, made = await go_on(agent, result, [question.approve()], made)
    assert (done, result.output) == (["a"], "done")
    assert result.messages[2].results[0].text == "inner done"


async def test_no_placeholder_stands_in_the_history_while_a_call_waits():
    """There "[INTERRUPTED - Waiting for user input]" is the result meanwhile."""
    act, _ = acting()
    agent = Agent(ScriptedModel(acts("a"), "done"), tools=[act])
    result, made = await run(agent)
    assert [message.role for message in result.messages] == ["user", "assistant"]
    result, _ = await go_on(agent, result, [result.pending[0].approve()], made)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]


async def test_only_what_was_interrupted_runs_when_the_run_goes_on():
    """The other calls of the round had finished; they are not run again."""
    act, done = acting()
    looked = []

    @tool
    async def look() -> str:
        looked.append(1)
        return "seen"

    agent = Agent(ScriptedModel(asks(call("a", "look", "{}"), call("b", "act", '{"what": "b"}')), "done"), tools=[act, look])
    result, made = await run(agent)
    assert (looked, done) == ([1], [])
    result, _ = await go_on(agent, result, [result.pending[0].approve()], made)
    assert (looked, done, result.output) == ([1], ["b"], "done")


async def test_a_run_that_is_broken_off_puts_no_words_into_the_model_s_mouth():
    """There an assistant message "[Request cancelled by user]" is added, and incomplete rounds are dropped."""
    model = ScriptedModel("next")
    agent = Agent(model)
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.RoundStarted):
                break
    check(made, watched.result)
    assert [message.role for message in agent.sessions.get("s").messages] == ["user"]
    assert (await agent.run("go on", session="s")).output == "next"
    check_requests(model)


async def test_words_that_came_while_the_model_answered_lead_to_another_round():
    """There the same, with "[STEERING] " before the words."""
    model = ScriptedModel("an answer", "another")
    agent = Agent(model)
    made = []
    async with agent.stream("go", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.TextDelta) and event.text == "an answer":
                watched.steer("and shorter")
    check(made, watched.result)
    assert watched.result.output == "another"
    assert [message.text for message in model.requests[1].messages] == ["go", "an answer", "and shorter"]
