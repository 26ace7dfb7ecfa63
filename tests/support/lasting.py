"""A run with everything that a crash can hit, and workers that can die at any write."""

from __future__ import annotations

from typing import Any

from headrace.agent.agent import Agent
from headrace.errors import StoreError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.messages.request import Request
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool

FINAL = "All is done."


def rounds_of(request: Request) -> int:
    """How many answers of a model the request holds."""
    return sum(isinstance(message, AssistantMessage) for message in request.messages)


def answer(text: str, *calls: tuple[str, dict[str, Any]], at: int = 0) -> AssistantMessage:
    parts = [ToolCallPart(id=f"c{at}_{n}", name=name, arguments=arguments) for n, (name, arguments) in enumerate(calls)]
    return AssistantMessage([TextPart(text), *parts], finish_reason="tool_calls" if calls else "stop")


def inner_answer(request: Request) -> AssistantMessage:
    at = rounds_of(request)
    if at == 0:
        return answer("Inside, I pay first.", ("pay", {"what": "inside"}), at=100)
    return answer("The inside is done.")


def outer_answer(request: Request) -> AssistantMessage:
    at = rounds_of(request)
    script = [
        lambda: answer("Let me look at it.", ("look", {"what": "a"}), ("pay", {"what": "one"}), ("pay", {"what": "two"}), at=0),
        lambda: answer("This one needs a yes.", ("sign", {"what": "paper"}), at=1),
        lambda: answer("Now for the helper.", ("helper", {"task": "pay inside"}), ("look", {"what": "b"}), at=2),
        lambda: answer(FINAL),
    ]
    return script[min(at, 3)]()


def streamed(*pieces: Any) -> list[Any]:
    """An answer in pieces, with events to wait for in between; the last text ends it."""
    chunks = [AssistantMessageChunk(content=piece) if isinstance(piece, str) else piece for piece in pieces]
    return [*chunks, AssistantMessageChunk(finish_reason="stop")] if isinstance(pieces[-1], str) else chunks


async def begun(store: Any, run_id: str, seq: int = 2) -> None:
    """Wait until the log of a run has got so far."""
    while (last_seq := (await store.run(run_id)).last_seq) < seq:
        await store.changed(run_id, last_seq, 10)


class Effects:
    """What tools did in the world, which a crash does not undo."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def agent(self, **options: Any) -> Agent:
        """An agent as a new process would make it."""
        effects = self

        @tool(idempotent=True)
        async def look(what: str) -> str:
            """Look."""
            effects.done.append(f"look {what}")
            return f"saw {what}"

        @tool
        async def pay(what: str) -> str:
            """Pay."""
            effects.done.append(f"pay {what}")
            return f"paid {what}"

        @tool(needs_approval=True)
        async def sign(what: str) -> str:
            """Sign."""
            effects.done.append(f"sign {what}")
            return f"signed {what}"

        inner = Agent(ScriptedModel(*[inner_answer] * 50, slice_chars=5), tools=[pay])
        return Agent(
            ScriptedModel(*[outer_answer] * 200, slice_chars=5),
            tools=[look, pay, sign, inner.as_tool("helper", "Helps.")],
            **options,
        )


class Lifeline:
    """A worker's way to a store, which is cut at one of its writes: from then on the worker is as good as dead.

    Attributes:
        writes: how many there were.
        is_cut: whether it is cut.
    """

    def __init__(self, store: Any, cut_at: int | None = None, *, is_kept: bool = False) -> None:
        """Cut at the write of this number, from 1; the write itself is kept or not."""
        self._store = store
        self._cut_at = cut_at
        self._is_kept = is_kept
        self.writes = 0
        self.is_cut = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name.startswith("__") or not callable(method):
            return method

        async def through(*args: Any, **keywords: Any) -> Any:
            self._check()
            if name in ("append", "commit", "claim", "create_run", "signal"):
                self.writes += 1
                if self.writes == self._cut_at:
                    if self._is_kept:
                        await method(*args, **keywords)
                    self.is_cut = True
                    self._check()
            return await method(*args, **keywords)

        return through

    def _check(self) -> None:
        if self.is_cut:
            raise StoreError("the line is cut")
