"""Worlds for agents: what a model says, what hooks do, how the agent is set up; each world is a value that goes through JSON."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from agent_ground import NOW, TOOLS, Clock, sub_agent
from headrace.agent.agent import Agent
from headrace.agent.claims import MemoryClaims
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.hooks import Ask, GoOn, Hooks, Retry, Stop, Veto
from headrace.agent.limits import RunLimits
from headrace.agent.output.spec import OutputSpec
from headrace.agent.session import MemorySessions
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import ToolCallFragment, ToolCallSettled
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage
from headrace.models.script import Scripted, chunks_of
from headrace.models.scripted import ScriptedModel

TIMES = 20
"""How often the model plays its lines, with a plain answer behind the last one."""


@dataclass
class Point:
    """The answer's type, where a world has one."""

    n: int


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
        limits = None if self.calls_per_tool is None else RunLimits(calls_per_tool={"look": self.calls_per_tool})
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
