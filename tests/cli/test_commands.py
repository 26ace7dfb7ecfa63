"""What the commands of a chat do."""

from __future__ import annotations

import json
import stat
import sys

import pytest

from headrace.agent.agent import Agent
from headrace.agent.session import Session
from headrace.cli.commands import obey
from headrace.cli.conversation import Conversation
from headrace.cli.segments import plain
from headrace.cli.setup import Choices
from headrace.errors import SchemaVersionError, UsageError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.usage import Usage
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool


@pytest.fixture
async def conversation(monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k-deepseek")
    monkeypatch.setenv("MY_KEY", "k-mine")
    made = Conversation(Choices(model="openai-chat:m", base_url="http://127.0.0.1:1/v1", api_key_env="MY_KEY", tools=("time",)))
    yield made
    await made.aclose()


async def say(conversation, entry):
    return plain(await obey(conversation, entry))


async def test_help_lists_every_command(conversation):
    said = await say(conversation, "/help")
    for name in (
        "/help",
        "/model [ID]",
        "/system [TEXT]",
        "/tools [on|off GROUP]",
        "/mode [MODE]",
        "/usage",
        "/compact",
        "/clear",
        "/save FILE",
        "/load FILE",
        "/exit",
    ):
        assert f"{name} " in said


async def test_model_shows_and_changes_the_model_and_keeps_what_was_said(conversation):
    session = conversation.session
    assert await say(conversation, "/model") == "model: openai-chat:m\n"
    assert await say(conversation, "/model openai-chat:n") == "model: openai-chat:n\n"
    assert conversation.agent.model.id == "openai-chat:n"
    assert conversation.choices.base_url == "http://127.0.0.1:1/v1"
    assert conversation.session is session


async def test_another_provider_gets_neither_the_address_nor_the_key_of_the_first(conversation):
    await say(conversation, "/model deepseek:deepseek-chat")
    endpoint = conversation.agent.model._endpoint
    assert endpoint.base_url == "https://api.deepseek.com"
    assert endpoint.api_key.reveal() == "k-deepseek"


async def test_a_model_that_does_not_do_changes_nothing(conversation):
    agent = conversation.agent
    with pytest.raises(UsageError, match="nobody"):
        await obey(conversation, "/model nobody:m")
    assert conversation.agent is agent
    assert conversation.choices.model == "openai-chat:m"


async def test_system_shows_and_changes_the_instructions_and_keeps_the_model(conversation):
    model = conversation.agent.model
    assert await say(conversation, "/system") == "instructions: none\n"
    assert await say(conversation, "/system Be brief, please.") == "instructions: Be brief, please.\n"
    assert conversation.agent.model is model
    assert conversation.agent.tools.names == ("city_time",)


async def test_tools_lists_names_and_what_they_do(conversation):
    assert await say(conversation, "/tools") == "city_time  Tell the current local time in a city.\n"


async def test_clear_begins_anew(conversation):
    conversation.session = Session(messages=[UserMessage("hi")])
    assert await say(conversation, "/clear") == "a new conversation\n"
    assert conversation.session.messages == ()


async def test_what_was_said_can_be_saved_and_loaded(conversation, tmp_path):
    messages = (UserMessage("hi"), AssistantMessage(["hello"]))
    conversation.session = Session(messages=messages)
    path = tmp_path / "my talk.json"
    assert await say(conversation, f"/save '{path}'") == f"2 messages saved in {path}\n"
    assert json.loads(path.read_bytes())["schema_version"] >= 1
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    conversation.session = Session()
    assert await say(conversation, f"/load '{path}'") == f"2 messages loaded from {path}\n"
    assert conversation.session.messages == messages


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("/nope", "there is no /nope"),
        ("/save", "one file"),
        ("/save a b", "one file"),
        ("/load nowhere.json", "No such file"),
        ("/save nowhere/talk.json", "No such file"),
    ],
)
async def test_wrong_use_is_said(conversation, tmp_path, monkeypatch, entry, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        await obey(conversation, entry)


async def test_a_file_that_is_no_conversation_changes_nothing(conversation, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    session = conversation.session
    with pytest.raises((UsageError, SchemaVersionError)):
        await obey(conversation, f"/load {tmp_path}/a.json")
    assert conversation.session is session


@pytest.mark.parametrize("entry", ["/exit", "/quit", " /exit "])
async def test_exit_ends_it(conversation, entry):
    assert await say(conversation, entry) == ""
    assert conversation.is_over


# ---------------------------------------------------------------------------------------------- tools, mode, usage, compact


@tool(needs_approval=True, group="files")
def delete(path: str) -> str:
    """Delete a file.

    For ever.
    """
    return path


@tool(external=True, needs_approval=lambda arguments: "room" in arguments)
def sense(room: str) -> int:
    """Sense."""


@tool(read_only=True)
def look() -> str:
    """Look."""
    return "nothing"


@tool(edits=True, group="files")
def write() -> str:
    """Write."""
    return "done"


TOOLS = [delete, sense, look, write]


@pytest.fixture
async def talk(tmp_path):
    made = Conversation(Choices(model="openai-chat:m", base_url="http://127.0.0.1:1/v1", tools=(f"{__name__}:TOOLS",)))
    yield made
    await made.aclose()


async def test_tools_are_marked_with_what_a_person_should_know(talk):
    assert await say(talk, "/tools") == (
        "delete  Delete a file.  [needs approval, group files]\n"
        "sense  Sense.  [may need approval, runs elsewhere]\n"
        "look  Look.  [read-only]\n"
        "write  Write.  [edits, group files]\n"
        "groups: files on\n"
    )


async def test_a_group_of_tools_is_switched_off_and_on_again(talk):
    assert "groups: files off" in await say(talk, "/tools off files")
    assert talk.agent.tools.names == ("sense", "look")
    await say(talk, "/system Be brief.")
    assert talk.agent.tools.names == ("sense", "look")
    await say(talk, "/tools on files")
    assert talk.agent.tools.names == ("delete", "sense", "look", "write")


@pytest.mark.parametrize(
    ("entry", "words"), [("/tools off web", "no group 'web'; the groups are: files"), ("/tools of files", "/tools on GROUP")]
)
async def test_a_group_that_is_not_there_is_wrong_use(talk, entry, words):
    with pytest.raises(UsageError, match=words):
        await obey(talk, entry)


async def test_without_tools_it_says_where_tools_come_from():
    talk = Conversation(Choices(model="ollama:m"))
    assert "no tools; start with -T" in await say(talk, "/tools")
    await talk.aclose()


async def test_a_server_of_tools_that_cannot_be_reached_is_said_among_the_tools():
    talk = Conversation(Choices(model="ollama:m", mcp=("headrace-no-such-program",)))
    await talk.open()
    assert "headrace-no-such-program cannot be reached" in await say(talk, "/tools")
    await talk.aclose()


async def test_the_mode_is_shown_with_the_rules_and_changed(talk):
    talk.permissions = talk.permissions.with_rules("allow look")
    shown = await say(talk, "/mode")
    assert shown.startswith("mode: default (asks before tools that need approval)\n  allow look\n")
    assert "accept_edits, explore, bypass, dont_ask" in shown
    assert (await say(talk, "/mode accept-edits")).startswith("mode: accept_edits (")
    assert talk.permissions.mode == "accept_edits"
    with pytest.raises(UsageError, match="no mode 'loud'"):
        await obey(talk, "/mode loud")


async def test_clear_forgets_the_rules_that_were_chosen_and_keeps_the_mode(talk):
    talk.permissions = talk.permissions.with_rules("allow look").with_mode("explore")
    await say(talk, "/clear")
    assert (talk.permissions.rules, talk.permissions.mode) == ((), "explore")


async def test_usage_tells_the_last_answer_and_the_sum(talk):
    assert await say(talk, "/usage") == "last answer      0 rounds\nsince the start  0 rounds\n"
    for n in (1, 2):
        talk.note(await Agent(ScriptedModel(AssistantMessage(["hi"], usage=Usage(input_tokens=n, output_tokens=n)))).run("?"))
    assert await say(talk, "/usage") == "last answer      1 round · 2 tokens in, 2 out\nsince the start  2 rounds · 3 tokens in, 3 out\n"


async def test_nothing_is_summed_up_where_nothing_was_said(talk):
    assert await say(talk, "/compact") == "there is nothing to sum up yet\n"


async def test_compact_puts_a_summary_in_place_of_what_was_said_and_counts_what_it_cost(talk):
    turns = [message for n in range(4) for message in (UserMessage(f"question {n} " * 30), AssistantMessage([f"answer {n} " * 30]))]
    talk.session = Session("s", messages=turns)
    before, talk.model = talk.model, ScriptedModel(AssistantMessage(["## Goal\nTo know."], usage=Usage(input_tokens=9, output_tokens=3)))
    shown = await say(talk, "/compact")
    talk.model = before
    assert shown.startswith("## Goal\nTo know.\n8 → 3 messages, about ")
    assert [type(message) for message in talk.session.messages] == [UserMessage, UserMessage, AssistantMessage]
    assert "To know." in talk.session.messages[0].text
    assert talk.session.messages[1:] == tuple(turns[-2:])
    assert (talk.spent.rounds, talk.spent.usage.input_tokens) == (1, 9)
