"""Worlds for agents: what a model says, what tools do, what people answer; each world is a value that goes through JSON.

The rule of this file: what is played depends on the world alone (ids count, the clock stands still, answers follow from their questions), so
a run that is broken off anywhere and goes on elsewhere can be compared with one that was left in peace.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from headrace.agent.agent import Agent
from headrace.agent.approval import Pending, Reply
from headrace.agent.claims import MemoryClaims
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.hooks import Ask, GoOn, Hooks, Retry, Stop, Veto
from headrace.agent.limits import Limits
from headrace.agent.output.spec import OutputSpec
from headrace.agent.session import MemorySessions
from headrace.errors import HeadraceError, ToolError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import ToolCallFragment, ToolCallSettled
from headrace.messages.message import AssistantMessage, Message, ToolMessage
from headrace.messages.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage
from headrace.models.script import Scripted, chunks_of
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
IDEMPOTENT = ("pieces", "add", "flaky", "soon", "sub_soon")
TIMES = 20
"""How often the model plays its lines, with a plain answer behind the last one."""


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


@dataclass
class Point:
    """The answer's type, where a world has one."""

    n: int


# ---------------------------------------------------------------------------------------------- what is said


class Said(msgspec.Struct, frozen=True):
    """A part of an answer.

    Attributes:
        kind: `text`, `reasoning`, `refusal` or `call`.
        text: the text, or the arguments.
        name: the tool that is called.
        id: of the call.
    """

    kind: str
    text: str
    name: str = ""
    id: str = ""

    @property
    def part(self) -> Any:
        match self.kind:
            case "text":
                return TextPart(self.text)
            case "reasoning":
                return ReasoningPart(self.text, signature="signed")
            case "refusal":
                return RefusalPart(self.text)
            case _:
                return ToolCallPart(id=self.id, name=self.name, arguments=self.text)


class Line(msgspec.Struct, frozen=True):
    """One answer of a model.

    Attributes:
        said: its parts.
        finish_reason: the word, or None.
        dies_after: after so many chunks the connection breaks; None: never.
        slice_chars: how long the pieces are.
    """

    said: tuple[Said, ...]
    finish_reason: str | None = None
    dies_after: int | None = None
    slice_chars: int = 3

    @property
    def answer(self) -> Scripted:
        parts = [one.part for one in self.said]
        usage = Usage(input_tokens=10, output_tokens=5)
        message = AssistantMessage(parts, finish_reason=self.finish_reason, usage=usage, created_at=NOW)
        return Scripted(settled(message, self.slice_chars), dies_after=self.dies_after)


def settled(message: AssistantMessage, slice_chars: int) -> list[AssistantMessageChunk]:
    """Return the chunks of an answer on a wire that says where calls end: as soon as the next part begins."""
    chunks: list[AssistantMessageChunk] = []
    open_call: int | None = None
    for chunk in chunks_of(message, slice_chars):
        delta = chunk.deltas[0]
        part = getattr(delta, "part", None)
        if open_call is not None and part != open_call:
            chunks.append(AssistantMessageChunk.from_deltas((ToolCallSettled(open_call),), is_from_wire=True))
            open_call = None
        if isinstance(delta, ToolCallFragment):
            open_call = part
        chunks.append(chunk)
    return chunks


class World(msgspec.Struct, frozen=True, kw_only=True):
    """A world.

    Attributes:
        lines: what the model says, over and over, with a plain answer behind the last one.
        is_gated: tools wait until somebody lets them go; else they run through.
        in_part: people answer one question at a time.
        others: the options of the agent have the same names as its own.
    """

    lines: tuple[Line, ...]
    is_gated: bool = False
    in_part: bool = False
    max_rounds: int | None = 3
    max_parallel_tools: int = 2
    max_tool_calls: int | None = None
    calls_per_tool: int | None = None
    run_while_pending: bool = True
    early_start: bool = False
    stop_on_denial: bool = False
    max_messages: int | None = None
    output: str | None = None
    has_hooks: bool = False

    def model(self, ids: Iterator[int], mark: str, *, skip: int = 0) -> ScriptedModel:
        """Return the model, the first answers of which were consumed before."""
        last = '{"n": 1}' if self.output is not None else "the end"
        answers = [line.answer for line in (*self.lines, Line((Said("text", last),)))] * TIMES
        return ScriptedModel(*answers[skip:], new_id=lambda: f"{mark}m{next(ids)}", clock=Clock())

    def agent(self, *, mark: str = "", skip: int = 0, sessions: MemorySessions | None = None) -> Agent:
        """Return a new agent as a new process would make it; `mark` makes its ids others than those of processes before it."""
        ids = itertools.count(1)
        limits = None if self.calls_per_tool is None else Limits(calls_per_tool={"look": self.calls_per_tool})
        policy = None
        if self.max_messages is not None:
            policy = ContextPolicy(max_messages=self.max_messages, summarize=False)
        return Agent(
            self.model(ids, mark, skip=skip),
            tools=[*TOOLS, sub_agent(f"{mark}s").as_tool("sub", "An agent.")],
            instructions="Be good.",
            output_type=None if self.output is None else OutputSpec.of(Point, mode=self.output, name="answer"),
            max_rounds=self.max_rounds,
            max_tool_calls=self.max_tool_calls,
            max_parallel_tools=self.max_parallel_tools,
            run_while_pending=self.run_while_pending,
            early_start=self.early_start,
            stop_on_denial=self.stop_on_denial,
            limits=limits,
            context=policy,
            hooks=[Meddler()] if self.has_hooks else (),
            sessions=sessions,
            claims=MemoryClaims(),
            new_id=lambda: f"{mark}{next(ids)}",
            now=lambda: NOW,
        )


# ---------------------------------------------------------------------------------------------- what tools do


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
            await asyncio.sleep(0)
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
        await asyncio.sleep(0)
        raise ValueError(f"not {n}")


@tool(idempotent=True, retries=1)
async def flaky(n: int, context: Context[Ground]) -> int:
    """Fail the first time."""
    with context.deps.at_work(context):
        context.deps.tries[context.call_key] += 1
        await asyncio.sleep(0)
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
        await asyncio.sleep(0)
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


class Meddler(Hooks):
    """Changes what it sees by what it sees alone."""

    async def before_tool_call(self, here: Any, call: Any) -> Any:
        match (call.parsed or {}).get("n"):
            case 4:
                return {"n": 1}
            case 5:
                return Veto("not five")
            case 6:
                return Ask("six is much")
            case 7:
                return ToolResultPart(call_id=call.id, name=call.name, parts=(TextPart("seven, unseen"),))
            case _:
                return None

    async def after_tool_call(self, here: Any, call: Any, result: Any) -> Any:
        return msgspec.structs.replace(result, parts=(*result.parts, TextPart(" (seen)"))) if result.state == "success" else None

    async def after_model_call(self, here: Any, message: AssistantMessage) -> Any:
        if "swap" in message.text:
            return message.replace(parts=[TextPart("swapped"), *message.tool_calls])
        if "again" in message.text:
            return Retry("say it otherwise")
        return Stop("enough") if "stop" in message.text else None

    async def after_run(self, here: Any, message: AssistantMessage) -> Any:
        has_asked = any("is that all?" in getattr(one, "text", "") for one in here.messages)
        return GoOn("is that all?") if "more" in message.text and not has_asked else None


# ---------------------------------------------------------------------------------------------- what people answer


def reply_to(pending: Pending) -> Reply:
    """Return a person's answer, which follows from the question alone."""
    n = (pending.call.parsed or {}).get("n")
    number = n if isinstance(n, int) else 0
    if pending.kind == "in_doubt":
        return pending.approve()
    if pending.kind == "external":
        return pending.deny("not now") if number == 2 else pending.answer(number * 10)
    match number % 4:
        case 1:
            return pending.deny("no")
        case 2 if pending.call.name != "sub":
            return pending.approve({"n": number + 1})
        case 3:
            return pending.approve(rules=pending.suggestions[:1])
        case _:
            return pending.approve()


def replies_to(world: World, pending: tuple[Pending, ...]) -> list[Reply]:
    """Return the answers that people give at once."""
    return [reply_to(one) for one in (pending[:1] if world.in_part else pending)]


# ---------------------------------------------------------------------------------------------- playing


class Left(Exception):  # noqa: N818 - the process that plays dies here
    """The run was left.

    Attributes:
        state: its state, as JSON.
        seq: the number of its last event by then.
        skip: how many answers the model has given that count.
    """

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = json.dumps(state)
        self.seq = state["open"]["seq"]
        self.skip = sum(message["role"] == "assistant" for message in state["messages"])


async def play(
    world: World,
    *,
    ground: Ground | None = None,
    dies_at: int | None = None,
    mark: str = "",
    state: str | None = None,
    skip: int = 0,
    made: list[Any] | None = None,
) -> tuple[dict[str, Any], list[Any], Any]:
    """Play a world to its end, in one process: people answer as soon as they are asked.

    Args:
        dies_at: the event with this number is the last one that this process reads, if the run is open then.
        mark: what the process' ids begin with.
        state: go on with this run.
        skip: how many answers the model has given already.
        made: where the events go.

    Returns:
        How the run ended, as plain values, without ids; its events; its result.

    Raises:
        Left: at `dies_at`.
    """
    ground = ground or Ground()
    agent = world.agent(mark=mark, skip=skip)
    made = [] if made is None else made
    sink = made.append
    run = agent.stream("go", deps=ground, on_event=sink) if state is None else agent.resume_stream(state, deps=ground, on_event=sink)
    for _ in range(200):
        failure: Exception | None = None
        left: Left | None = None
        async with run:
            try:
                async for event in run:
                    state_now: Any = run.state if dies_at is not None and event.seq >= dies_at else None
                    if state_now is not None and state_now["open"] is not None:
                        left = Left(state_now)
                        break
            except HeadraceError as error:
                failure = error
        if left is not None:
            raise left
        result = run.result
        if not result.is_waiting:
            return ending(result, failure), made, result
        text = json.dumps(result.state)
        run = agent.resume_stream(json.loads(text), replies_to(world, result.pending), deps=ground, on_event=sink)
    raise AssertionError(f"the run does not end; it waits for {result.pending}")


def ending(result: Any, failure: Exception | None) -> dict[str, Any]:
    """Return how a run ended, without ids: as JSON, so that it can be compared with that of another process."""
    return {
        "reason": result.generate_reason,
        "messages": [_plain(message) for message in result.messages],
        "output": msgspec.to_builtins(result.output),
        "failure": None if failure is None else f"{type(failure).__name__}: {failure}",
        "usage": msgspec.to_builtins(result.usage),
    }


def _plain(message: Message) -> Any:
    form = msgspec.to_builtins(message)
    form.pop("id", None)
    form.pop("run_id", None)
    form.get("metadata", {}).pop("response_id", None)
    return form


def main() -> None:
    """Go on with runs that other processes left: reads JSON lines of world, state and skip, writes how each of them ended."""
    for line in sys.stdin:
        world, state, skip = msgspec.json.decode(line)
        ended, _, _ = asyncio.run(play(msgspec.convert(world, World), state=state, skip=skip, mark="q"))
        sys.stdout.write(json.dumps(ended) + "\n")


if __name__ == "__main__":
    main()
