"""Groups of tools in a run: the model switches them, a tool may, and what is on goes along with a state."""

from __future__ import annotations

import json

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve, Deny
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.tool import tool
from run_checks import run_checked, sent


@tool
def clock() -> str:
    """Tell the time."""
    return "noon"


@tool(group="files")
def read(path: str) -> str:
    """Read a file."""
    return f"text of {path}"


@tool(group="files", needs_approval=True)
def write(path: str) -> str:
    """Write a file."""
    return f"wrote {path}"


@tool(group="web")
def fetch(url: str) -> str:
    """Fetch a page."""
    return f"page {url}"


@tool
def tidy(context: Context) -> str:
    """Switch everything off."""
    return ", ".join(sorted(context.switch_groups(off=["files", "web"]))) or "nothing is on"


TOOLS = [clock, read, write, fetch, tidy]


def call(name, call_id="a", **arguments):
    return ToolCallPart(id=call_id, name=name, arguments=arguments)


def calls(*parts):
    return AssistantMessage(list(parts))


def switch(call_id="s", **arguments):
    return call("switch_tools", call_id, **arguments)


def agent_of(*answers, groups=(), **fields):
    model = ScriptedModel(*answers)
    return Agent(model, tools=TOOLS, groups=groups, **fields), model


def offered(model):
    """Return the names of the tools that each request had."""
    return [[spec.name for spec in request.tools] for request in model.requests]


def results(result):
    return {part.name: part for message in result.messages if message.role == "tool" for part in message.parts}


def changes(made):
    return [event for event in made if isinstance(event, events.ToolsChanged)]


async def test_without_groups_every_tool_is_offered_and_none_switches():
    agent, model = agent_of("fine", groups=None)
    _, made = await run_checked(agent)
    assert offered(model) == [["clock", "read", "write", "fetch", "tidy"]]
    assert changes(made) == []


async def test_a_run_begins_with_the_groups_that_are_on():
    agent, model = agent_of("fine", groups=["web"])
    _, made = await run_checked(agent)
    assert offered(model) == [["clock", "fetch", "tidy", "switch_tools"]]
    assert changes(made) == []
    (spec,) = [spec for spec in model.requests[0].tools if spec.name == "switch_tools"]
    assert "- files: read, write" in spec.description


async def test_the_model_switches_a_group_on_and_its_tools_are_offered_in_the_next_round():
    agent, model = agent_of(calls(switch(on=["files"])), calls(call("read", path="x")), "fine")
    result, made = await run_checked(agent)
    assert offered(model)[0] == ["clock", "tidy", "switch_tools"]
    assert offered(model)[1] == offered(model)[2] == ["clock", "read", "write", "tidy", "switch_tools"]
    assert results(result)["switch_tools"].text == "On: files (read, write). Off: web."
    assert results(result)["read"].text == "text of x"
    (change,) = changes(made)
    assert change.tools == ("clock", "read", "write", "tidy", "switch_tools")
    assert change.round == 1
    sent(model.requests[2])


async def test_a_call_of_a_tool_that_is_off_says_what_there_is():
    agent, _ = agent_of(calls(call("read", path="x")), "fine")
    result, made = await run_checked(agent)
    part = results(result)["read"]
    assert part.state == "error"
    assert "switch_tools" in part.text
    assert not [event for event in made if isinstance(event, events.ToolStarted)]


async def test_a_call_beside_the_switch_that_would_allow_it_is_too_early():
    agent, _ = agent_of(calls(switch(on=["files"]), call("read", "b", path="x")), calls(call("read", "c", path="x")), "fine")
    result, _ = await run_checked(agent)
    parts = [part for message in result.messages if message.role == "tool" for part in message.parts]
    assert [part.state for part in parts] == ["success", "error", "success"]


async def test_a_call_beside_the_switch_that_takes_it_away_still_runs():
    agent, model = agent_of(calls(switch(off=["files"]), call("read", "b", path="x")), "fine", groups=["files"])
    result, _ = await run_checked(agent)
    assert results(result)["read"].text == "text of x"
    assert "read" not in offered(model)[1]


async def test_a_tool_of_ones_own_may_switch():
    agent, model = agent_of(calls(call("tidy")), "fine", groups=["files", "web"])
    result, made = await run_checked(agent)
    assert results(result)["tidy"].text == "nothing is on"
    assert offered(model)[1] == ["clock", "tidy", "switch_tools"]
    assert len(changes(made)) == 1


async def test_a_tool_may_switch_also_where_the_model_may_not():
    agent, model = agent_of(calls(call("tidy")), calls(call("read", "b", path="x")), "fine", groups=None)
    result, _ = await run_checked(agent)
    assert offered(model)[1] == ["clock", "tidy"]
    assert results(result)["read"].state == "error"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"on": ["nowhere"]}, "There is no group 'nowhere'. The groups are: files, web."),
        ({"on": ["files"], "off": ["files"]}, "cannot be switched on and off at once"),
        ({"on": [1]}, "list of names"),
    ],
)
async def test_a_switch_that_cannot_be_says_why_and_changes_nothing(arguments, said):
    agent, model = agent_of(calls(switch(**arguments)), "fine", groups=["web"])
    result, made = await run_checked(agent)
    assert results(result)["switch_tools"].state == "error"
    assert said in results(result)["switch_tools"].text
    assert offered(model)[0] == offered(model)[1]
    assert changes(made) == []


async def test_two_switches_in_one_round_both_count():
    agent, model = agent_of(calls(switch("a", on=["files"]), switch("b", on=["web"], off=["files"])), "fine")
    await run_checked(agent)
    assert offered(model)[1] == ["clock", "fetch", "tidy", "switch_tools"]


async def test_switching_what_is_on_already_is_no_change():
    agent, _ = agent_of(calls(switch(on=["web"])), "fine", groups=["web"])
    result, made = await run_checked(agent)
    assert results(result)["switch_tools"].state == "success"
    assert changes(made) == []


async def test_what_is_on_goes_along_with_a_state():
    first, _ = agent_of(calls(switch(on=["files"])), calls(call("write", path="x")))
    paused, _ = await run_checked(first)
    assert paused.is_waiting
    second, model = agent_of(calls(call("read", path="y")), "fine")
    more = []
    result = await second.resume(json.loads(json.dumps(paused.state)), Approve(paused.pending[0].call_key), on_event=more.append)
    assert results(result)["write"].text == "wrote x"
    assert results(result)["read"].text == "text of y"
    assert offered(model)[0] == ["clock", "read", "write", "tidy", "switch_tools"]
    assert changes(more) == []


async def test_a_call_that_waits_is_not_lost_when_its_group_is_switched_off_beside_it():
    first, _ = agent_of(calls(switch(off=["files"]), call("write", "w", path="x")), groups=["files"])
    paused, _ = await run_checked(first)
    second, model = agent_of("fine", groups=["files"])
    more = []
    result = await second.resume(json.loads(json.dumps(paused.state)), Approve(paused.pending[0].call_key), on_event=more.append)
    assert results(result)["write"].text == "wrote x"
    assert offered(model) == [["clock", "tidy", "switch_tools"]]
    assert len(changes(more)) == 1


async def test_what_was_switched_counts_for_one_run():
    agent, model = agent_of(calls(switch(on=["files"])), "fine", "again")
    await run_checked(agent, session="s")
    await run_checked(agent, session="s")
    assert offered(model)[2] == offered(model)[0]
    sent(model.requests[2])


async def test_the_switch_needs_nobody_in_the_mode_that_only_reads():
    agent, model = agent_of(calls(switch(on=["files"])), "fine", permissions="explore")
    result, _ = await run_checked(agent)
    assert results(result)["switch_tools"].state == "success"
    assert "read" in offered(model)[1]


async def test_a_forced_answer_comes_after_a_switch_too():
    agent, model = agent_of(calls(switch(on=["files"])), "fine", max_rounds=1)
    result, _ = await run_checked(agent)
    assert result.generate_reason == "max_rounds"
    assert model.requests[1].tool_choice == "none"


async def test_a_denied_call_in_a_group_leaves_the_groups_as_they_are():
    first, _ = agent_of(calls(switch(on=["files"])), calls(call("write", path="x")))
    paused, _ = await run_checked(first)
    second, model = agent_of("fine")
    await second.resume(paused.state, Deny(paused.pending[0].call_key, "no"))
    assert "write" in offered(model)[0]


@pytest.mark.parametrize(
    ("groups", "said"), [(["nowhere"], "there is no group 'nowhere'"), ("files", "list of names"), ([1], "there is no group 1")]
)
def test_wrong_groups_are_told_at_once(groups, said):
    with pytest.raises(UsageError, match=said):
        Agent(ScriptedModel(), tools=TOOLS, groups=groups)


def test_groups_without_any_group_are_wrong_use():
    with pytest.raises(UsageError, match="no tool has a group"):
        Agent(ScriptedModel(), tools=[clock], groups=[])


def test_a_tool_cannot_have_the_name_of_the_switch():
    @tool
    def switch_tools() -> str:
        """Switch."""
        return ""

    with pytest.raises(UsageError, match="switch_tools"):
        Agent(ScriptedModel(), tools=[*TOOLS, switch_tools], groups=[])
