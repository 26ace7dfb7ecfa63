"""What the `/commands` of a chat do.

The rule of this file: a command returns what to show and changes nothing but the conversation that it is given; it prints nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from headrace.agent.permission.judging import Mode
from headrace.cli.compacting import shortened_by
from headrace.cli.conversation import Conversation
from headrace.cli.segments import Segment
from headrace.cli.setup import mode_of, model_id, tools_of
from headrace.cli.spending import Spent, cost_of, price_for
from headrace.errors import UsageError
from headrace.messages.codec import decode_document, encode_document
from headrace.messages.usage import Usage
from headrace.tools.tool import Tool

Said: TypeAlias = list[Segment]
_MODES: Final[dict[Mode, str]] = {
    "default": "asks before tools that need approval",
    "accept_edits": "as default, but edits run without asking",
    "explore": "only tools that change nothing run",
    "bypass": "everything runs that no rule denies",
    "dont_ask": "what would be asked about is denied",
}


async def obey(conversation: Conversation, entry: str) -> Said:
    """Do what an entry that begins with `/` says, and return what to show.

    Raises:
        UsageError: there is no such command, or its argument does not do.
        HeadraceError: a model that was asked failed.
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
            said += [Segment(f"{name} {usage}".strip().ljust(24), "label"), Segment(f"{words}\n")]
    keys = (
        "Enter sends; Esc Enter, or a line that ends with \\, begins a new line. Ctrl-C interrupts an answer; Ctrl-D leaves.\n"
        "What is typed while the model works is said to it before its next call.\n"
    )
    return [*said, Segment(keys, "note")]


async def _model(conversation: Conversation, argument: str) -> Said:
    if argument:
        await conversation.change(model=argument)
    return _note(f"model: {model_id(conversation.choices)}")


async def _system(conversation: Conversation, argument: str) -> Said:
    if argument:
        await conversation.change(system=argument)
    return _note(f"instructions: {conversation.choices.system or 'none'}")


async def _tools(conversation: Conversation, argument: str) -> Said:
    if argument:
        word, _, group = argument.partition(" ")
        if word not in ("on", "off") or not group.strip():
            raise UsageError("/tools lists them; /tools on GROUP and /tools off GROUP switch a group", argument="/tools")
        conversation.switch(group.strip(), is_on=word == "on")
    tools = tools_of(conversation.agent)
    said: Said = []
    for tool in tools:
        said += [Segment(f"{tool.name}  ", "call"), Segment(tool.description.partition("\n")[0])]
        said += [Segment(f"{marks}\n" if (marks := _marks(tool)) else "\n", "note")]
    if conversation.groups:
        switched = (f"{group} {'off' if group in conversation.off_groups else 'on'}" for group in conversation.groups)
        said += _note(f"groups: {', '.join(switched)}")
    said += [Segment(f"{problem}\n", "warning") for problem in conversation.problems]
    return said or _note("no tools; start with -T module:function, -T time, -T calculate or --mcp SERVER")


def _marks(tool: Tool[..., Any]) -> str:
    options = tool.options
    marks = {
        "needs approval": options.needs_approval is True,
        "may need approval": callable(options.needs_approval) or options.check is not None,
        "runs elsewhere": options.external,
        "read-only": options.read_only,
        "edits": options.edits,
        f"group {options.group}": options.group is not None,
    }
    said = ", ".join(mark for mark, is_so in marks.items() if is_so)
    return f"  [{said}]" if said else ""


async def _mode(conversation: Conversation, argument: str) -> Said:
    if argument:
        conversation.set_mode(mode_of(argument))
    permissions = conversation.permissions
    said = [Segment(f"mode: {permissions.mode} ", "note"), Segment(f"({_MODES[permissions.mode]})\n", "note")]
    said += [Segment(f"  {rule}\n", "note") for rule in permissions.rules]
    return said if argument else [*said, Segment(f"/mode MODE changes it: {', '.join(get_args(Mode))}\n", "note")]


async def _usage(conversation: Conversation, _argument: str) -> Said:
    rows = (("last answer", conversation.last), ("since the start", conversation.spent))
    return [part for name, spent in rows for part in (Segment(name.ljust(17), "label"), Segment(f"{spent.words}\n"))]


async def _compact(conversation: Conversation, _argument: str) -> Said:
    short = await shortened_by(conversation.model, await conversation.messages())
    if short is None:
        return _note("there is nothing to sum up yet")
    await conversation.go_on_with(short.messages)
    answer, done = short.answer, short.compacted
    conversation.spend(Spent(1, answer.usage or Usage(), cost_of((answer,), price_for(conversation.model.id))))
    return [
        Segment(f"{short.summary.text}\n", "reasoning"),
        *_note(
            f"{done.messages_before} → {done.messages_after} messages, about {done.tokens_before:,} → {done.tokens_after:,} tokens; "
            "the summary stands for what is gone"
        ),
    ]


async def _clear(conversation: Conversation, _argument: str) -> Said:
    await conversation.clear()
    return _note("a new conversation")


async def _save(conversation: Conversation, argument: str) -> Said:
    path = _path(argument, "/save")
    messages = await conversation.messages()
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
    await conversation.go_on_with(messages)
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


def _note(text: str) -> Said:
    return [Segment(f"{text}\n", "note")]


_Command: TypeAlias = Callable[[Conversation, str], Awaitable[Said]]
# What it does, its argument, and words for /help; a name without words is another one's second name.
_COMMANDS: Final[dict[str, tuple[_Command, str, str]]] = {
    "/help": (_help, " ", "this list"),
    "/model": (_model, "[ID]", "show the model, or go on with another one"),
    "/system": (_system, "[TEXT]", "show the instructions, or change them"),
    "/tools": (_tools, "[on|off GROUP]", "list the tools; switch a group of them"),
    "/mode": (_mode, "[MODE]", "show what may run without asking, or change it"),
    "/usage": (_usage, " ", "tokens and cost, of the last answer and since the start"),
    "/compact": (_compact, " ", "have the model sum up what was said, and go on with that"),
    "/clear": (_clear, " ", "begin a new conversation"),
    "/save": (_save, "FILE", "save what was said, as JSON"),
    "/load": (_load, "FILE", "go on with what was saved"),
    "/exit": (_exit, " ", "leave; so do /quit and Ctrl-D"),
    "/quit": (_exit, "", ""),
}
