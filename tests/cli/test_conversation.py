"""A chat's state and its commands."""

from __future__ import annotations

import json
import stat
import sys

import pytest

from headrace.agent.session import Session
from headrace.cli.commands import obey
from headrace.cli.conversation import Conversation
from headrace.cli.segments import plain
from headrace.cli.setup import Choices
from headrace.errors import SchemaVersionError, UsageError
from headrace.messages.message import AssistantMessage, UserMessage


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
    for name in ("/help", "/model [ID]", "/system [TEXT]", "/tools", "/clear", "/save FILE", "/load FILE", "/exit"):
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
