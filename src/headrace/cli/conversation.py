"""A chat's state and what `/commands` do to it.

The rule of this file: a command returns what to show and changes nothing but the conversation that it is given; it prints nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from headrace.agent.agent import Agent
from headrace.agent.session import Session
from headrace.cli.segments import Segment
from headrace.cli.setup import Choices, make_agent, make_model, model_id
from headrace.errors import UsageError
from headrace.messages.codec import decode_document, encode_document
from headrace.models.config_file import load_config
from headrace.models.model import Model
from headrace.providers.resolve import split_id

Said: TypeAlias = list[Segment]


class Conversation:
    """One chat: what was chosen, the model and agent made of it, and what was said.

    Attributes:
        choices: the model, instructions and tools.
        agent: made of the choices.
        session: what was said.
        is_over: whether somebody wants to leave.
    """

    def __init__(self, choices: Choices) -> None:
        """Begin.

        Raises:
            UsageError: a choice does not do.
        """
        self.choices = choices
        self._model: Model = make_model(choices)
        self.agent: Agent = make_agent(choices, self._model)
        self.session = Session()
        self.is_over = False

    async def change(self, **changes: str | None) -> None:
        """Go on with other choices; what was said stays.

        Raises:
            UsageError: a choice does not do; then nothing changes.
        """
        choices = msgspec.structs.replace(self.choices, **changes)
        if _provider(choices) != _provider(self.choices):
            # The address and the key were another provider's; together with this one's they would go where they should not.
            choices = msgspec.structs.replace(choices, base_url=None, api_key_env=None)
        if changes.keys() - {"system"}:
            model = make_model(choices)
            self.agent = make_agent(choices, model)
            before, self._model = self._model, model
            await before.aclose()
        else:
            self.agent = make_agent(choices, self._model)
        self.choices = choices

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self._model.aclose()


async def obey(conversation: Conversation, entry: str) -> Said:
    """Do what an entry that begins with `/` says, and return what to show.

    Raises:
        UsageError: there is no such command, or its argument does not do.
    """
    name, _, argument = entry.strip().partition(" ")
    command = _COMMANDS.get(name)
    if command is None:
        raise UsageError(f"there is no {name}; /help lists the commands (a question that begins with / is written with //)", argument=name)
    return await command[0](conversation, argument.strip())


async def _help(_conversation: Conversation, _argument: str) -> Said:
    said: Said = []
    for name, (_, usage, words) in _COMMANDS.items():
        if usage:
            said += [Segment(f"{name} {usage}".strip().ljust(16), "label"), Segment(f"{words}\n")]
    keys = "Enter sends; Esc Enter, or a line that ends with \\, begins a new line. Ctrl-C interrupts an answer; Ctrl-D leaves.\n"
    return [*said, Segment(keys, "note")]


async def _model(conversation: Conversation, argument: str) -> Said:
    if argument:
        await conversation.change(model=argument)
    return _note(f"model: {model_id(conversation.choices)}")


async def _system(conversation: Conversation, argument: str) -> Said:
    if argument:
        await conversation.change(system=argument)
    return _note(f"instructions: {conversation.choices.system or 'none'}")


async def _tools(conversation: Conversation, _argument: str) -> Said:
    tools = conversation.agent.tools
    if not len(tools):
        return _note("no tools; start with -T module:function, -T time or -T calculate")
    said: Said = []
    for tool in tools:
        said += [Segment(f"{tool.name}  ", "call"), Segment(f"{tool.description.partition(chr(10))[0]}\n")]
    return said


async def _clear(conversation: Conversation, _argument: str) -> Said:
    conversation.session = Session()
    return _note("a new conversation")


async def _save(conversation: Conversation, argument: str) -> Said:
    path = _path(argument, "/save")
    messages = conversation.session.messages
    data = encode_document(messages)
    try:
        # What was said is nobody else's business, so a new file is the user's alone; one that is there keeps its rights.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(data + b"\n")
    except OSError as error:
        raise UsageError(f"/save {path}: {error.strerror or error}", argument="/save") from error
    return _note(f"{len(messages)} messages saved in {path}")


async def _load(conversation: Conversation, argument: str) -> Said:
    path = _path(argument, "/load")
    try:
        messages = decode_document(path.read_bytes()).messages
    except OSError as error:
        raise UsageError(f"/load {path}: {error.strerror or error}", argument="/load") from error
    conversation.session = Session(messages=messages)
    return _note(f"{len(messages)} messages loaded from {path}")


async def _exit(conversation: Conversation, _argument: str) -> Said:
    conversation.is_over = True
    return []


def _path(argument: str, command: str) -> Path:
    try:
        words = shlex.split(argument)
    except ValueError:
        words = [argument]
    if len(words) != 1:
        raise UsageError(f"{command} takes the name of one file", argument=command)
    return Path(words[0]).expanduser()


def _provider(choices: Choices) -> str:
    return split_id(model_id(choices), load_config())[0]


def _note(text: str) -> Said:
    return [Segment(f"{text}\n", "note")]


_Command: TypeAlias = Callable[[Conversation, str], Awaitable[Said]]
# What it does, its argument, and words for /help; a name without words is another one's second name.
_COMMANDS: Final[dict[str, tuple[_Command, str, str]]] = {
    "/help": (_help, " ", "this list"),
    "/model": (_model, "[ID]", "show the model, or go on with another one"),
    "/system": (_system, "[TEXT]", "show the instructions, or change them"),
    "/tools": (_tools, " ", "list the tools"),
    "/clear": (_clear, " ", "begin a new conversation"),
    "/save": (_save, "FILE", "save what was said, as JSON"),
    "/load": (_load, "FILE", "go on with what was saved"),
    "/exit": (_exit, " ", "leave; so do /quit and Ctrl-D"),
    "/quit": (_exit, "", ""),
}
