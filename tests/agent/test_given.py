"""What a run is given: a conversation as input is the run's history, and none of its work."""

from __future__ import annotations

import json

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.usage import Usage
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from seed_runs import asks, call, check, check_requests, go_on, of, run


@tool
async def note(a: int = 0) -> str:
    """Note a number."""
    return f"a={a}"


@tool(needs_approval=True)
async def act() -> str:
    """Do something."""
    return "done so"


def conversation(*last):
    usage = Usage(input_tokens=900, output_tokens=90)
    return [
        UserMessage("note one"),
        asks(call("x"), usage=usage, generate_reason="tool_calls", run_id="another"),
        ToolMessage("a=1", call_id="x", name="note"),
        AssistantMessage("noted", usage=usage, generate_reason="completed", run_id="another"),
        *last,
    ]


async def test_the_answers_of_the_input_use_up_no_limit_of_the_run():
    model = ScriptedModel(asks(call("y")), "done")
    agent = Agent(model, tools=[note], max_rounds=1, limits={"tokens": 500, "tool_calls": 1})
    result, made = await run(agent, conversation(UserMessage("and two")))
    assert (result.output, result.generate_reason) == ("done", "max_rounds")
    assert [request.tool_choice for request in model.requests] == ["auto", "none"]
    assert len(of(made, events.ToolStarted)) == 1
    assert result.usage == Usage()
    check_requests(model)


@pytest.mark.parametrize(
    "last",
    [
        [],
        [AssistantMessage("half of", generate_reason="interrupted")],
        [AssistantMessage("", finish_reason="error", generate_reason="error")],
        [UserMessage("say", origin="framework", reminder_kind="empty_response")],
    ],
    ids=["an answer", "a broken answer", "an error", "a reminder"],
)
async def test_the_model_is_asked_whatever_the_input_ends_with(last):
    model = ScriptedModel("", "done")
    result, made = await run(Agent(model), conversation(*last))
    assert result.output == "done"
    assert len(of(made, events.ReminderAdded)) == 1
    assert result.messages[: len(made[0].input)] == made[0].input


async def test_a_run_that_was_given_a_conversation_goes_on_elsewhere_in_the_same_way():
    def agent(*answers):
        return Agent(ScriptedModel(*answers), tools=[act, note], max_rounds=2)

    result, made = await run(agent(asks(call("y", "act", "{}"))), conversation(UserMessage("act")))
    result, made = await go_on(agent(asks(call("z")), "forced"), result, [result.pending[0].approve()], made)
    assert (result.output, result.generate_reason) == ("forced", "max_rounds")
    assert len(of(made, events.ToolStarted)) == 2


async def test_a_state_from_before_the_first_answer_asks_the_model():
    made, states = [], []

    def on_event(event):
        made.append(event)
        if isinstance(event, events.RoundStarted):
            states.append((json.dumps(watched.state), list(made)))

    async with Agent(ScriptedModel("never")).stream(conversation(), on_event=on_event) as watched:
        await watched.finish()
    state, before = states[0]
    again = list(before)
    result = await Agent(ScriptedModel("done")).resume(state, on_event=again.append)
    check(again, result)
    assert result.output == "done"


async def test_a_session_that_keeps_answers_keeps_those_of_the_input_and_no_calls():
    agent = Agent(ScriptedModel("done", "next"))
    by_hand = [
        UserMessage("a"),
        asks(call("x")),
        ToolMessage("1", call_id="x", name="note"),
        AssistantMessage("answer to a"),
        UserMessage("b"),
    ]
    await run(agent, by_hand, session="s", keep="answers")
    assert [message.text for message in agent.sessions.get("s").messages] == ["a", "answer to a", "b", "done"]
    await run(agent, conversation(UserMessage("c")), session="t", keep="answers")
    assert [message.text for message in agent.sessions.get("t").messages] == ["note one", "noted", "c", "next"]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (asks(call("x")), "input[0]"),
        ([UserMessage("u"), asks(call("x"))], "input[1]"),
        ([UserMessage("u"), asks(call("x")), UserMessage("v")], "input[1]"),
        ([asks(call("x"), call("y")), ToolMessage("1", call_id="x", name="note"), UserMessage("v")], "input[0]"),
    ],
)
async def test_a_call_without_a_result_in_the_input_is_refused_with_its_place(given, place):
    model = ScriptedModel("never")
    with pytest.raises(UsageError, match="no result for") as caught:
        await Agent(model, tools=[note]).run(given)
    assert caught.value.argument == place
    assert model.requests == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tools": note}, r"tools is one tool; give a list: tools=\[note\]"),
        ({"tools": len}, r"tools is one tool; give a list: tools=\[len\]"),
        ({"tools": "note"}, "tools is a str; give a list of functions"),
        ({"tools": 5}, "tools is a int; give a list of functions"),
        ({"context": 5}, "context is a int; give a ContextPolicy, or None"),
        ({"reminders": {}}, "reminders is a dict; give a ReminderRules, or None"),
        ({"sessions": {}}, "sessions is a dict without begin and commit"),
        ({"claims": set()}, "claims is a set without take and give_back"),
        ({"settings": 0.5}, "settings is a float; give Settings"),
    ],
)
def test_what_an_agent_cannot_be_made_of_is_said_with_what_can(options, said):
    with pytest.raises(UsageError, match=said):
        Agent(ScriptedModel("x"), **options)


async def test_what_cannot_see_events_is_refused_before_the_run_begins():
    model = ScriptedModel("x")
    with pytest.raises(UsageError, match="on_event is a list; give a function of one event"):
        await Agent(model).run("go", on_event=[])
    assert not model.requests


async def test_the_limit_on_calls_has_a_short_name_and_what_limits_say_counts():
    async def ran(**given):
        model = ScriptedModel(asks(call("a", name="note"), call("b", name="note"), call("c", name="note")), "done")
        result = await Agent(model, tools=[note], **given).run("go")
        return [one.state for one in result.messages[2].results], result.generate_reason

    assert await ran(max_tool_calls=2) == (["success", "success", "not_run"], "limit")
    assert await ran(max_tool_calls=2, limits={"tokens": 10**6}) == await ran(limits={"tool_calls": 2})
    assert await ran(max_tool_calls=2, limits={"tool_calls": 3}) == (["success"] * 3, "limit")
