"""What happens outside of agents in random worlds: tools of all kinds, an agent as a tool, and a ground that notes which calls were run.

The rule of this file: nothing sleeps. A tool waits for its gate, or lets others run once.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from headrace.agent.agent import Agent
from headrace.agent.claims import MemoryClaims
from headrace.errors import ToolError
from headrace.messages.message import AssistantMessage, ToolMessage
from headrace.messages.parts import ToolCallPart
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
IDEMPOTENT = ("pieces", "add", "flaky", "soon")


class Clock:
    """Stands still."""

    def elapsed_s(self) -> float:
        return 0.0

    def now(self) -> datetime:
        return NOW

    def chance(self) -> float:
        return 0.5

    async def sleep(self, delay_s: float) -> None:
        raise AssertionError(f"nothing here waits for {delay_s} s")


class Ground:
    """What happens outside of the agent: which calls were run and how often, which run now, which wait at their gate."""

    def __init__(self, *, is_gated: bool = False) -> None:
        self.is_gated = is_gated
        self.ran: Counter[str] = Counter()
        self.names: dict[str, str] = {}
        self.running: dict[str, dict[str, str]] = {}
        self.most: Counter[str] = Counter()
        self.faults: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.fates: dict[str, str] = {}
        self.tries: Counter[str] = Counter()

    @contextlib.contextmanager
    def at_work(self, context: Context[Ground], thing: str = "") -> Iterator[None]:
        """Note that a call runs."""
        key, name = context.call_key, context.tool_name
        if context.resumption is None and not (name == "flaky" and self.tries[key]):
            self.ran[key] += 1
        self.names[key] = name
        running = self.running.setdefault(context.run_id, {})
        what = f"{name} {thing}" if thing else name
        if key in running:
            self.faults.append(f"{key} runs twice at once")
        if running and "alone" in (name, *running.values()):
            self.faults.append(f"{name} runs beside {running}, one of which runs alone")
        if thing and what in running.values():
            self.faults.append(f"two calls work on {thing}")
        running[key] = what
        self.most[context.run_id] = max(self.most[context.run_id], len(running))
        try:
            yield
        finally:
            del running[key]

    async def gate(self, context: Context[Ground]) -> None:
        """Wait until somebody lets the call go on, or has it fail."""
        if not self.is_gated:
            await turns()
            return
        gate = self.gates[context.call_key] = asyncio.Event()
        try:
            await gate.wait()
        finally:
            del self.gates[context.call_key]
        if self.fates.get(context.call_key) == "fail":
            raise ToolError("as it was told to")

    def open(self, key: str, fate: str = "pass") -> None:
        """Let a call go on."""
        self.fates[key] = fate
        self.gates[key].set()


async def turns() -> None:
    """Let others run for a while, so that runs can be left in the middle of a call."""
    for _ in range(5):
        await asyncio.sleep(0)


@tool
async def look(n: int, context: Context[Ground]) -> str:
    """Take a while."""
    with context.deps.at_work(context):
        context.progress("half", done=1, total=2)
        await context.deps.gate(context)
        return f"seen {n}"


@tool(idempotent=True)
async def pieces(n: int, context: Context[Ground]) -> Any:
    """Give the result in pieces."""
    with context.deps.at_work(context):
        yield f"first {n}, "
        await context.deps.gate(context)
        yield {"second": n}


@tool(idempotent=True, parallel=True)
async def soon(n: int, context: Context[Ground]) -> int:
    """May start early."""
    with context.deps.at_work(context):
        await context.deps.gate(context)
        return n


@tool(idempotent=True)
def add(n: int, context: Context[Ground]) -> int:
    """Run in a thread."""
    context.deps.ran[context.call_key] += 1
    context.deps.names[context.call_key] = "add"
    return n + 1


@tool
async def fails(n: int, context: Context[Ground]) -> str:
    """Fail."""
    with context.deps.at_work(context):
        await turns()
        raise ValueError(f"not {n}")


@tool(idempotent=True, retries=1)
async def flaky(n: int, context: Context[Ground]) -> int:
    """Fail the first time."""
    with context.deps.at_work(context):
        context.deps.tries[context.call_key] += 1
        await turns()
        if context.deps.tries[context.call_key] % 2:
            raise ValueError(n)
        return n


@tool(parallel=False)
async def alone(n: int, context: Context[Ground]) -> int:
    """Run alone."""
    with context.deps.at_work(context):
        await context.deps.gate(context)
        return n


@tool(resource="thing {n}")
async def turn(n: int, context: Context[Ground]) -> int:
    """Work on one thing."""
    with context.deps.at_work(context, f"thing {n}"):
        await context.deps.gate(context)
        return n


@tool(needs_approval=True)
async def risky(n: int, context: Context[Ground]) -> int:
    """Need a yes."""
    with context.deps.at_work(context):
        await context.deps.gate(context)
        return n


@tool(needs_approval=lambda arguments: arguments["n"] > 2)
async def maybe(n: int, context: Context[Ground]) -> int:
    """Need a yes for large numbers."""
    with context.deps.at_work(context):
        await turns()
        return n


@tool(external=True)
def outside(n: int) -> int:
    """Run elsewhere."""
    raise AssertionError


@tool
async def suspends(n: int, context: Context[Ground]) -> Any:
    """Ask its own question first."""
    with context.deps.at_work(context):
        resumption: Any = context.resumption
        if resumption is None:
            await context.deps.gate(context)
            raise Suspend(state={"n": n})
        await context.deps.gate(context)
        return [resumption.state["n"], getattr(resumption.replies[0], "value", "denied")]


TOOLS = (look, pieces, soon, add, fails, flaky, alone, turn, risky, maybe, outside, suspends)
NAMES = (*(one.name for one in TOOLS), "sub", "nobody", "")


def sub_agent(mark: str) -> Agent:
    """Return an agent that calls two tools, one of which needs a yes, and then says that it is done; what it says follows from what it is sent."""

    def play(request: Any) -> AssistantMessage | str:
        if any(isinstance(message, ToolMessage) for message in request.messages):
            return "the sub-agent is done"
        n = 3 if "3" in request.messages[-1].text else 1
        return AssistantMessage(
            [ToolCallPart(id="i1", name="maybe", arguments=json.dumps({"n": n})), ToolCallPart(id="i2", name="look", arguments='{"n": 1}')]
        )

    ids = itertools.count(1)
    model = ScriptedModel(*[play] * 1000, new_id=lambda: f"{mark}m{next(ids)}", clock=Clock())
    return Agent(model, tools=[look, maybe], claims=MemoryClaims(), new_id=lambda: f"{mark}{next(ids)}", now=lambda: NOW)
