"""Tools that say when they run, and answers of the Messages protocol that call them, for tests of early start."""

from __future__ import annotations

import asyncio
import json

import messages_bytes
from headrace.agent.agent import Agent
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool


class Desk:
    """Tools that say when they run: `log` holds what happened, in order; `ran` is set when the first has run."""

    def __init__(self):
        self.log = []
        self.ran = asyncio.Event()
        self.never = asyncio.Event()
        self.began = asyncio.Event()
        desk = self

        @tool(idempotent=True, resource="{spot}")
        async def look(n: int, context: Context, spot: str | None = None) -> str:
            """Look."""
            desk.log.append(f"look {n}" + (f"@{spot}" if spot else ""))
            context.progress("looking", done=n)
            desk.ran.set()
            return f"seen {n}"

        @tool(idempotent=True)
        async def hang(n: int) -> str:
            """Hang until it is cancelled."""
            desk.log.append(f"hang {n}")
            desk.began.set()
            try:
                await desk.never.wait()
            except asyncio.CancelledError:
                desk.log.append(f"cancelled {n}")
                raise
            return "never"

        @tool(resource="{spot}")
        async def write(n: int, spot: str | None = None) -> str:
            """Write."""
            desk.log.append(f"write {n}" + (f"@{spot}" if spot else ""))
            return f"wrote {n}"

        @tool(idempotent=True, parallel=False)
        async def alone(n: int) -> str:
            """Run alone."""
            desk.log.append(f"alone {n}")
            return f"alone {n}"

        @tool(idempotent=True, needs_approval=lambda arguments: arguments["n"] > 9)
        async def asks(n: int) -> str:
            """Ask for large numbers."""
            desk.log.append(f"asks {n}")
            return f"asked {n}"

        @tool(idempotent=True, external=True)
        async def outside(n: int) -> str:
            """Run outside."""

        @tool(idempotent=True)
        async def waits(n: int, context: Context) -> str:
            """Wait for somebody."""
            desk.log.append(f"waits {n}")
            desk.ran.set()
            if context.resumption is None:
                raise Suspend(state={"n": n})
            return f"told {context.resumption.replies[0].value}"

        @tool(idempotent=True)
        async def breaks(n: int) -> str:
            """Break."""
            desk.log.append(f"breaks {n}")
            desk.ran.set()
            raise ValueError("broken")

        self.tools = [look, hang, write, alone, asks, outside, waits, breaks]


def call(index, name="look", call_id=None, **arguments):
    """A whole block of the Messages protocol that calls a tool."""
    return messages_bytes.call(index, name, json.dumps(arguments), id=call_id or f"toolu_{index}")


def ended(word="tool_use"):
    return messages_bytes.ended(word) + messages_bytes.STOP


def script(*steps, word="tool_use"):
    """An answer of the Messages protocol, with gates between its blocks."""
    return [messages_bytes.start(), *steps, ended(word)]


DONE = messages_bytes.body(messages_bytes.text(0, "It is done."))


def agent_of(desk, *answers, early=True, **fields):
    model = ScriptedModel(*answers, protocol="anthropic-messages")
    return Agent(model, tools=desk.tools, early_start=early, **fields)


def states(result):
    return [part.state for message in result.messages if message.role == "tool" for part in message.parts]


def texts(result):
    return [part.text for message in result.messages if message.role == "tool" for part in message.parts]
