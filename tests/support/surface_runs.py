"""Runs for surfaces: played with scripted models, as lists of legs; and what is asked of every surface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from agent_plays import play
from agent_worlds import World
from headrace import _sync
from headrace.agent.agent import Agent
from headrace.agent.claims import MemoryClaims
from headrace.agent.events import Event
from headrace.errors import HeadraceError, RateLimitError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import TextDelta
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import MediaPart, ReasoningPart, TextPart, ToolCallPart
from headrace.messages.usage import Usage
from headrace.models.answer import AttemptDiscarded
from headrace.models.script import chunks_of
from headrace.models.scripted import ScriptedModel
from headrace.surfaces.surface import Counted, Surface, legs
from headrace.tools.context import Context
from headrace.tools.tool import Tool, tool


def call(name: str, identifier: str = "c1", /, **arguments: Any) -> ToolCallPart:
    """Make a call."""
    return ToolCallPart(id=identifier, name=name, arguments=arguments)


def calls(*parts: Any, **fields: Any) -> AssistantMessage:
    """Make an answer with calls."""
    return AssistantMessage(list(parts), **fields)


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"{city}: snow"


@tool(needs_approval=True)
def pay(to: str, euros: int) -> str:
    """Pay somebody."""
    return f"paid {euros} to {to}"


@tool
async def dig(depth: int, context: Context) -> Any:
    """Dig, and tell of it."""
    context.progress("half", done=1, total=2)
    yield "some "
    yield "earth"


@tool
def photo() -> MediaPart:
    """Take a photo."""
    return MediaPart(kind="image", data=b"\x89PNG", media_type="image/png")


LOOK = Tool(name="look", description="Look at the page.", parameters={"type": "object"}, external=True)
TOOLS = [weather, pay, dig, photo, LOOK]
THOUGHT = ReasoningPart("hm", signature="proof")
USED = Usage(input_tokens=3, output_tokens=2)


class Played:
    """A run, played over its pauses.

    Attributes:
        log: all its events.
        result: what it gave at the last stop.
        error: what it failed with.
    """

    def __init__(self, *answers: Any, given: Any = "go", **options: Any) -> None:
        """Play a run to its first stop."""
        self.agent = Agent(ScriptedModel(*answers), **{"claims": MemoryClaims(), "tools": TOOLS, **options})
        self.log: list[Event] = []
        self.error: HeadraceError | None = None
        self._play(lambda: self.agent.run(given, on_event=self.log.append))

    @classmethod
    def of(cls, log: list[Event]) -> Played:
        """Take a run that was played elsewhere."""
        played = cls.__new__(cls)
        played.log, played.error = log, None
        return played

    def _play(self, start: Callable[[], Any]) -> None:
        try:
            self.result = _sync.run(start())
        except HeadraceError as error:
            self.error, self.result = error, error.result

    def resume(self, *answers: Any) -> Played:
        """Go on."""
        state = json.dumps(self.result.state)
        self._play(lambda: self.agent.resume(state, list(answers), on_event=self.log.append))
        return self

    @property
    def legs(self) -> list[list[Event]]:
        """The legs."""
        return legs(self.log)

    @property
    def pending(self) -> dict[str, Any]:
        """What waits, by the tool's name."""
        return {pending.call.name: pending for pending in self.result.pending}


def with_tool() -> Played:
    """Thinking, text, a call with its result, the answer."""
    return Played(calls(THOUGHT, TextPart("Let me look. "), call("weather", city="Oslo"), usage=USED, model="m", provider="p"), "Cold.")


def with_question() -> Played:
    """A call that waits for a yes, then the answer."""
    return Played(calls(call("pay", to="Ada", euros=30)), "Paid.")


def with_external() -> Played:
    """A call that the client runs, then the answer."""
    return Played(calls(TextPart("I look."), call("look", at="page")), "Seen.")


def with_invalid() -> Played:
    """A call whose arguments are no JSON."""
    return Played(calls(ToolCallPart(id="c1", name="weather", arguments='{"city"')), "Sorry.")


def with_void() -> Played:
    """An answer that is taken back, after a round with a tool."""
    void = [AssistantMessageChunk.from_deltas((TextDelta("wrong"),), is_from_wire=True), AttemptDiscarded(1, "it died")]
    return Played(calls(call("weather", city="Oslo")), [*void, *chunks_of(AssistantMessage("right"), None)])


def with_error() -> Played:
    """A model that fails."""
    return Played(RateLimitError("slow down", status=429))


def with_inner_question() -> Played:
    """A sub-agent that asks for a yes."""
    inner = Agent(ScriptedModel(calls(call("pay", "p1", to="Bob", euros=1)), "Done inside."), tools=[pay], claims=MemoryClaims())
    return Played(calls(call("clerk", task="Pay Bob.")), "Done.", tools=[inner.as_tool("clerk", "Pays.")])


def with_void_after_more() -> Played:
    """An answer with thinking and a call that is taken back, after a round with all kinds of parts and a bad argument."""
    first = calls(THOUGHT, TextPart("a"), call("weather", city="Oslo"), TextPart("b"), ToolCallPart(id="c2", name="weather", arguments="{"))
    void = list(chunks_of(calls(THOUGHT, TextPart("wrong"), call("weather", "c3", city="Rome")), 3))[:-2]
    return Played(first, [*void, AttemptDiscarded(1, "it died"), *chunks_of(AssistantMessage("right"), None)])


def with_nested() -> Played:
    """A sub-agent of a sub-agent, which asks for a yes; beside it one that fails."""
    fails = Agent(ScriptedModel(RateLimitError("slow down", status=429)), claims=MemoryClaims())
    innermost = Agent(ScriptedModel(calls(call("pay", "p1", to="Bob", euros=1)), "Paid inside."), tools=[pay], claims=MemoryClaims())
    inner = Agent(
        ScriptedModel(calls(call("clerk", "i1", task="Pay Bob.")), "Done inside."),
        tools=[innermost.as_tool("clerk", "Pays.")],
        claims=MemoryClaims(),
    )
    tools = [inner.as_tool("chief", "Has things paid."), fails.as_tool("broken", "Fails.")]
    return Played(calls(call("chief", "c1", task="Pay Bob."), call("broken", "c2", task="Fail.")), "Done.", tools=tools)


def with_meddling(meddle: Callable[[Any], None], *answers: Any) -> Played:
    """A run in whose first tool somebody meddles with it."""
    made: list[Event] = []

    @tool
    async def wait() -> str:
        """Wait."""
        meddle(run)
        await asyncio.sleep(0)
        return "ok"

    run = Agent(ScriptedModel(calls(TextPart("Wait."), call("wait")), *answers), tools=[wait]).stream("go", on_event=made.append)

    async def main() -> None:
        async with run:
            async for _ in run:
                pass

    _sync.run(main())
    return Played.of(made)


def interrupted() -> Played:
    """A run that somebody stops."""
    return with_meddling(lambda run: run.interrupt())


def steered() -> Played:
    """A run to which somebody says something."""
    return with_meddling(lambda run: run.steer("In French."), "Oui.")


SCENARIOS = (
    with_tool, with_question, with_external, with_invalid, with_void, with_error, with_inner_question, with_nested, with_void_after_more, interrupted, steered,
)  # fmt: skip


def said(surface: Surface[Any], leg: list[Event], *, earlier: list[Event] | tuple[()] = ()) -> list[Any]:
    """Return all items of a leg."""
    surface.recall(earlier)
    items = [item for event in leg for item in surface.feed(event)]
    return items + surface.close()


def world_legs(world: World) -> list[list[Event]]:
    """Play a random world and return its legs."""
    _, made, _ = _sync.run(play(world))
    return legs(made)


def check_resuming(make: Callable[[], Surface[Any]], log: list[list[Event]], cut: int, seen: int) -> None:
    """Check a client that comes back: whatever prefix of the log it read, and how much of that, it gets exactly the rest."""
    for n, leg in enumerate(log):
        earlier = [event for one in log[:n] for event in one]
        whole = said(make(), leg, earlier=earlier)
        head = Counted(make())
        head.surface.recall(earlier)
        first = [item for event in leg[: cut % (len(leg) + 1)] for item in head.feed(event)]
        assert [number for number, _ in first] == list(range(1, len(first) + 1))
        after = seen % (len(first) + 1)
        rest = Counted(make(), after=after)
        rest.surface.recall(earlier)
        again = [item for event in leg for item in rest.feed(event)] + rest.close()
        assert [item for _, item in first[:after]] + [item for _, item in again] == whole
        assert [number for number, _ in again] == list(range(after + 1, len(whole) + 1))
