"""The laws of the whole agent: whatever models say, tools do and people answer, and wherever a run is left or goes on."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import tracemalloc
from typing import Any

import msgspec
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import agent_plays
from agent_ground import NOW, Ground
from agent_laws import check_end, check_runs
from agent_machine import AgentMachine
from agent_plays import Left, play
from agent_world_strategies import ASKED_AGAIN, TEXTS, worlds
from agent_worlds import Line, Said, World
from headrace.agent.agent import Agent
from headrace.agent.fold import Folder
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.models.answer import AnswerStream
from headrace.models.script import chunks_of
from headrace.tools.tool import tool
from legal_history import problems

LAW = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink])  # to explain a failure costs more than all the rest


# ---------------------------------------------------------------------------------------------- from any event on


@LAW
@given(worlds(texts=(*TEXTS, ASKED_AGAIN), ids=("", "", "c0", "same")))
async def test_whatever_is_said_done_and_answered_the_history_is_legal_and_its_events_tell_it(world):
    ground = Ground()
    _, made, result = await play(world, ground=ground)
    check_end(made, result)
    check_runs(ground, made, world)


@LAW
@given(worlds(), st.integers(0, 20))
async def test_a_run_that_breaks_off_at_any_event_goes_on_elsewhere_to_the_same_end(world, first):
    whole, made, _ = await play(world)
    stride = 1 + len(made) // 5
    for at in range(1 + first % stride, len(made) + 1, stride):
        assert await gone_on(world, at) == whole, at


@LAW
@given(worlds(), st.lists(st.integers(1, 15), min_size=2, max_size=5))
async def test_a_run_that_breaks_off_again_and_again_comes_to_the_same_end(world, steps):
    whole, _, _ = await play(world)
    assert await gone_on(world, *itertools.accumulate(steps)) == whole


async def gone_on(world: World, *deaths: int) -> Any:
    """How a run ends whose processes die at these events, one after the other."""
    ground = Ground()
    known: list[Any] = []
    state, skip = None, 0
    for n, at in enumerate([*deaths, None]):
        made: list[Any] = []
        try:
            ended, _, result = await play(world, ground=ground, dies_at=at, mark=f"p{n}-", state=state, skip=skip, made=made)
        except Left as left:
            state, skip = left.state, left.skip
            ground.tries.clear()
            known += made[: left.seq - len(known)]
            continue
        known += made
        check_end(known, result, is_broken=True)
        check_runs(ground, known, world)
        return ended
    raise AssertionError


def test_runs_that_break_off_go_on_in_other_processes_to_the_same_end():
    world = World(
        lines=(
            Line((said("risky", 2), said("suspends", 3), said("sub", "3"), said("look", 1), said("pieces", 1), Said("text", "and so on"))),
            Line((Said("reasoning", "hm"), said("outside", 4), said("maybe", 3), said("nobody", 1), said("flaky", 1))),
        ),
        in_part=True,
        early_start=True,
        has_hooks=True,
    )
    whole, made, _ = asyncio.run(play(world))
    left = [at_event(world, at) for at in range(1, len(made), 3)]
    given = b"\n".join(msgspec.json.encode([world, one.state, one.skip]) for one in left)
    done = subprocess.run([sys.executable, agent_plays.__file__], input=given, capture_output=True, check=False)
    assert done.stderr == b""
    ends = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    assert ends == [msgspec.json.decode(msgspec.json.encode(whole))] * len(left)
    assert len(ends) > 20


def said(name: str, n: int | str) -> Said:
    return Said("call", f'{{"task": "{n}"}}' if name == "sub" else f'{{"n": {n}}}', name, f"c{name}")


def at_event(world: World, at: int) -> Left:
    """Leave a run at an event."""
    try:
        asyncio.run(play(world, dies_at=at))
    except Left as left:
        return left
    raise AssertionError(at)


# ---------------------------------------------------------------------------------------------- any order of things

TestAnyOrderOfThings = AgentMachine.TestCase
TestAnyOrderOfThings.settings = settings(LAW, stateful_step_count=40)


# ---------------------------------------------------------------------------------------------- long and wide


class Endless:
    """A model that keeps nothing of what it was asked: it calls a tool in each answer, then gives its last one."""

    id = "endless:model"
    provider = "endless"

    def __init__(self, rounds: int, calls: int = 1, at: Any = lambda _: None) -> None:
        self.rounds, self.calls, self.at = rounds, calls, at
        self.asked = 0

    def stream(self, messages: Any, **_: Any) -> AnswerStream:
        self.asked += 1
        self.at(self.asked)
        if self.asked > self.rounds:
            return OneAnswer(AssistantMessage([TextPart("the end")], created_at=NOW))
        calls = [ToolCallPart(id=f"c{n}", name="note", arguments=f'{{"n": {n}}}') for n in range(self.calls)]
        return OneAnswer(AssistantMessage(calls, created_at=NOW))

    async def request(self, messages: Any, **_: Any) -> AssistantMessage:
        raise AssertionError

    async def aclose(self) -> None:
        pass


class OneAnswer(AnswerStream):
    """An answer that is there already."""

    message, response, attempts = None, None, ()

    def __init__(self, message: AssistantMessage) -> None:
        super().__init__()
        self.chunks = list(chunks_of(message))
        self.message: Any = sum(self.chunks).to_message()

    @property
    def choices(self) -> Any:
        return (self.message,)

    async def _read(self) -> Any:
        for chunk in self.chunks:
            yield chunk

    def _settle(self) -> None:
        pass


@tool
async def note(n: int) -> int:
    """Note a number."""
    return n


class Count:
    """Counts the calls of Python functions."""

    def __init__(self) -> None:
        self.calls = 0

    def start(self) -> None:
        sys.setprofile(self._see)

    def stop(self) -> None:
        sys.setprofile(None)

    def _see(self, _frame: Any, what: str, _argument: Any) -> None:
        self.calls += what == "call"


async def test_ten_thousand_rounds_cost_as_much_each_at_the_end_as_at_the_beginning():
    counts: dict[int, Count] = {}
    held: dict[int, int] = {}

    def at(asked: int) -> None:
        match asked:
            case 500 | 9_500:
                counts[asked] = Count()
                counts[asked].start()
            case 600 | 9_600:
                counts[asked - 100].stop()
            case 1_000 | 9_000:
                tracemalloc.start()
            case 1_400 | 9_400:
                held[asked] = tracemalloc.get_traced_memory()[0]
                tracemalloc.stop()
            case _:
                pass

    result = await Agent(Endless(10_000, at=at), tools=[note], max_rounds=None).run("go")
    assert result.generate_reason == "completed"
    assert len(result.messages) == 20_002
    assert problems(result.messages) == []
    assert counts[9_500].calls <= counts[500].calls * 1.02
    assert held[9_400] < held[1_400] * 1.5, "more is kept of a late round than its messages"


async def test_a_thousand_calls_in_one_answer_keep_to_the_limit_and_their_order():
    running = most = 0
    is_full = asyncio.Event()

    @tool(name="note")
    async def busy(n: int) -> int:
        """Note a number when as many others do as may."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 8:
            is_full.set()
        await is_full.wait()
        await asyncio.sleep(0)
        running -= 1
        return n

    folder = Folder()
    async with Agent(Endless(1, 1_000), tools=[busy], max_parallel_tools=8).stream("go") as run:
        async for event in run:
            folder.feed(event)
    assert most == 8
    assert folder.messages == run.result.messages
    assert problems(run.result.messages) == []
    assert [one.parts[0].value for one in run.result.messages[2].results] == list(range(1_000))


async def test_a_thousand_calls_in_one_answer_cost_as_much_each_as_a_hundred():
    counts: dict[int, float] = {}
    peaks: dict[int, float] = {}
    for calls in (1, 100, 1_000):  # the first one only warms up
        count = Count()
        count.start()
        await Agent(Endless(1, calls), tools=[note]).run("go")
        count.stop()
        counts[calls] = count.calls / calls
        tracemalloc.start()
        await Agent(Endless(1, calls), tools=[note]).run("go")
        peaks[calls] = tracemalloc.get_traced_memory()[1] / calls
        tracemalloc.stop()
    assert counts[1_000] <= counts[100] * 1.1
    assert peaks[1_000] <= peaks[100] * 1.3
