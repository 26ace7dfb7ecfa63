"""A chat's state."""

from __future__ import annotations

import pytest

from headrace.agent.agent import Agent
from headrace.agent.permission.rules import Rule
from headrace.cli.conversation import Conversation
from headrace.cli.setup import Choices
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart
from headrace.messages.usage import Usage
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool


@pytest.fixture
async def conversation():
    made = Conversation(Choices(model="openai-chat:m", base_url="http://127.0.0.1:1/v1", tools=("time",), rules=(("deny", "shell"),)))
    yield made
    await made.aclose()


@tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete."""
    return path


async def test_the_options_give_the_permissions_to_begin_with(conversation):
    assert [str(rule) for rule in conversation.permissions.rules] == ["deny shell"]


async def test_rules_that_were_chosen_in_a_run_stay_for_the_conversation(conversation):
    call = AssistantMessage([ToolCallPart(id="c", name="delete", arguments={"path": "a"})], usage=Usage(input_tokens=1))
    agent = Agent(ScriptedModel(call, AssistantMessage(["done"], usage=Usage(input_tokens=2))), tools=[delete])
    paused = await agent.run("?", permissions=conversation.permissions)
    result = await agent.resume(paused.state, [paused.pending[0].approve(rules=(Rule("allow", "delete"),))])
    conversation.note(result)
    assert [str(rule) for rule in conversation.permissions.rules] == ["deny shell", "allow delete"]
    assert (conversation.last.rounds, conversation.spent.usage.input_tokens) == (2, 3)


async def test_another_model_keeps_what_was_allowed_and_switched(conversation):
    conversation.set_mode("explore")
    await conversation.change(model="openai-chat:n")
    assert conversation.permissions.mode == "explore"


async def test_a_tool_is_found_by_its_name(conversation):
    assert conversation.tool_of("city_time").name == "city_time"
    assert conversation.tool_of("nothing") is None


async def test_sources_of_tools_are_opened_once_and_closed():
    talk = Conversation(Choices(model="ollama:m", mcp=("headrace-no-such-program",)))
    assert talk.problems == []
    await talk.open()
    agent = talk.agent
    (source,) = agent.sources
    await talk.change(system="Be brief.")
    assert talk.agent is not agent
    assert talk.agent.sources == (source,)
    assert "headrace-no-such-program" in talk.problems[0]
    await talk.aclose()


@pytest.mark.parametrize(("choices", "words"), [({"mode": "loud"}, "no mode 'loud'"), ({"mcp": ("",)}, "--mcp is empty")])
def test_a_choice_that_does_not_do_is_wrong_use(choices, words):
    with pytest.raises(UsageError, match=words):
        Conversation(Choices(model="ollama:m", **choices))
