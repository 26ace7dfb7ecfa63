"""The tools of one round: side by side up to a limit, barriers, cancellation."""

from __future__ import annotations

import asyncio

import pytest

from headrace.agent import tool_round
from headrace.agent.loop import PlannedCall
from headrace.agent.tool_round import Ended, Output, Started, ToolRound
from headrace.messages.parts import TextPart, ToolCallPart, ToolResultPart


def planned(n, name="t", refusal=None):
    return PlannedCall(n, ToolCallPart(id=f"c{n}", name=name), refusal)


def result(call, text="ok"):
    return ToolResultPart(call_id=call.call.id, parts=text)


class Bench:
    """Tools that end when the test says so."""

    def __init__(self, names, *, limit=8, refused=()):
        self.gates = [asyncio.Event() for _ in names]
        self.begun = [asyncio.Event() for _ in names]
        self.running = 0
        self.most = 0
        self.cleaned = []
        calls = [planned(n, name, ToolResultPart(call_id=f"c{n}", state="error") if n in refused else None) for n, name in enumerate(names)]
        self.round = ToolRound(calls, self.run, is_parallel=lambda call: call.call.name != "alone", limit=limit)

    async def run(self, call, on_output):
        self.running += 1
        self.most = max(self.most, self.running)
        self.begun[call.place].set()
        try:
            on_output(TextPart(f"piece {call.place}"))
            await self.gates[call.place].wait()
        finally:
            self.running -= 1
            self.cleaned.append(call.place)
        return result(call)

    async def all(self):
        changes = []
        while not self.round.is_over:
            await self.round.wait()
            changes += self.round.taken()
        return changes


def kinds(changes, kind):
    return [change.place for change in changes if isinstance(change, kind)]


async def test_calls_run_side_by_side_and_end_in_any_order():
    bench = Bench(["t", "t", "t"])
    for event in bench.begun:
        await event.wait()
    seen = bench.round.taken()
    for n in (2, 0, 1):
        bench.gates[n].set()
        while kinds(seen, Ended)[-1:] != [n]:
            await bench.round.wait()
            seen += bench.round.taken()
    assert kinds(seen, Started) == [0, 1, 2]
    assert kinds(seen, Output) == [0, 1, 2]
    assert kinds(seen, Ended) == [2, 0, 1]
    assert bench.round.is_over


async def test_no_more_run_at_once_than_the_limit_allows():
    bench = Bench(["t"] * 1000, limit=8)
    await bench.begun[7].wait()
    for gate in bench.gates:
        gate.set()
    changes = await bench.all()
    assert bench.most == 8
    assert sorted(kinds(changes, Ended)) == list(range(1000))


async def test_a_call_that_is_not_parallel_runs_alone_after_those_before_and_before_those_behind():
    bench = Bench(["t", "alone", "t", "alone", "alone"])
    order = []
    for n in range(5):
        await bench.begun[n].wait()
        order.append((n, bench.running))
        bench.gates[n].set()
    changes = await bench.all()
    assert order == [(n, 1) for n in range(5)]
    assert kinds(changes, Started) == [0, 1, 2, 3, 4]


async def test_refused_calls_have_their_results_at_once_and_never_run():
    bench = Bench(["t", "t"], refused=(0, 1))
    assert await bench.all() == [
        Ended(0, ToolResultPart(call_id="c0", state="error")),
        Ended(1, ToolResultPart(call_id="c1", state="error")),
    ]
    assert not any(event.is_set() for event in bench.begun)


async def test_cancelling_awaits_what_runs_and_starts_nothing_more():
    bench = Bench(["t", "t", "t", "t"], limit=2)
    await bench.begun[1].wait()
    bench.gates[0].set()
    await bench.begun[2].wait()
    await bench.round.cancel()
    changes = bench.round.taken()
    assert sorted(bench.cleaned) == [0, 1, 2]
    assert bench.running == 0
    assert kinds(changes, Ended) == [0]
    assert not bench.begun[3].is_set()
    await bench.round.cancel()


async def test_a_tool_that_does_not_let_go_is_left_behind(monkeypatch):
    monkeypatch.setattr(tool_round, "GRACE_S", 0.001)
    release, begun = asyncio.Event(), asyncio.Event()

    async def stubborn(call, on_output):
        begun.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return result(call)

    tools = ToolRound([planned(0)], stubborn, is_parallel=lambda call: True, limit=1)
    await begun.wait()
    await tools.cancel()
    assert kinds(tools.taken(), Ended) == []
    release.set()
    await tools.wait()
    assert kinds(tools.taken(), Ended) == [0]


async def test_what_a_run_raises_is_kept_for_the_driver_and_nothing_more_starts():
    begun = []

    async def broken(call, on_output):
        begun.append(call.place)
        raise ValueError(f"{call.place}")

    tools = ToolRound([planned(0), planned(1), planned(2)], broken, is_parallel=lambda call: True, limit=2)
    await tools.wait()
    tools.taken()
    await tools.wait()
    assert tools.is_over
    assert str(tools.error) == "0"
    await tools.cancel()
    assert 2 not in begun


async def test_waiting_returns_at_once_when_nothing_runs():
    tools = ToolRound([], pytest.fail, is_parallel=lambda call: True, limit=1)
    await tools.wait()
    assert tools.is_over
