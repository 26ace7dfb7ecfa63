"""`headrace chat`: a conversation.

The rule of this file: whatever happens in one answer (an error, Ctrl-C), the conversation goes on, with what was said kept; only leaving
ends it.
"""

from __future__ import annotations

import sys

from headrace import _sync
from headrace.cli.conversation import Conversation, obey
from headrace.cli.exits import DONE, FAILED, INTERRUPTED
from headrace.cli.reader import Reader, reader_of_terminal
from headrace.cli.run import shower, tell, watch
from headrace.cli.screen import Screen, screen_of
from headrace.cli.segments import Segment
from headrace.cli.setup import Choices, model_id
from headrace.errors import HeadraceError


def chat_command(choices: Choices) -> int:
    """Talk until somebody leaves; returns the exit status: in a pipe 1 if an answer failed.

    Raises:
        UsageError: a choice does not do.
    """
    return _sync.run(_chat(choices))


async def _chat(choices: Choices) -> int:
    conversation = Conversation(choices)
    reader, screen = reader_of_terminal(), screen_of(sys.stdout)
    if reader.is_prompt:
        screen.write(_greeting(conversation))
    try:
        code = await _talk(conversation, reader, screen)
    finally:
        await conversation.aclose()
    # At a prompt a person saw what failed; a script sees the status alone.
    return DONE if reader.is_prompt and code == FAILED else code


async def _talk(conversation: Conversation, reader: Reader, screen: Screen) -> int:
    code, was_interrupted = DONE, False
    while not conversation.is_over:
        try:
            entry = await reader.read()
        except KeyboardInterrupt:
            if not reader.is_prompt:
                raise
            if was_interrupted:
                return code
            was_interrupted = True
            screen.write([Segment("Ctrl-C again, or Ctrl-D, leaves\n", "note")])
            continue
        was_interrupted = False
        if entry is None:
            return code
        if not entry.strip():
            continue
        try:
            if await _take(conversation, entry, screen) == INTERRUPTED and not reader.is_prompt:
                return INTERRUPTED
        except HeadraceError as error:
            tell(error)
            code = FAILED
    return code


async def _take(conversation: Conversation, entry: str, screen: Screen) -> int:
    if entry.startswith("/") and not entry.startswith("//"):
        screen.write(await obey(conversation, entry))
        return DONE
    question = entry[1:] if entry.startswith("//") else entry
    code = await watch(conversation.agent, question, shower(conversation.agent), session=conversation.session)
    if sys.stdout.isatty():
        screen.write([Segment("\n")])
    return code


def _greeting(conversation: Conversation) -> list[Segment]:
    tools = ", ".join(conversation.agent.tools.names)
    return [
        Segment("headrace", "title"),
        Segment(f" · {model_id(conversation.choices)}{f' · tools: {tools}' if tools else ''} · /help, Ctrl-D leaves\n\n", "note"),
    ]
