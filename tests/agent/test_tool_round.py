"""The tools of one round: side by side up to a limit, in order on a resource, barriers, suspension, cancellation."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.agent import tool_round
from headrace.agent.execution import run_tool
from headrace.agent.steps import PlannedCall
from headrace.agent.tool_round import Ended, Forwarded, Output, Progress, Started, Suspended, ToolRound
from headrace.errors import StateError
from headrace.messages.parts import TextPart, ToolCallPart, ToolResultPart
from headrace.tools.context import Context
from headrace.tools.notes import ForwardNote, ProgressNote
from headrace.tools.resource import resource_of
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool


def planned(n, name="t", refusal=None):
    return PlannedCall(n, ToolCallPart(id=f"c{n}", name=name), refusal)


def result(call, text="ok"):
    return ToolResultPart(call_id=call.call.id, parts=text)


class Bench:
    """Tools that end when the test says so."""

    def __init__(self, names, *, limit=8, refused=(), **options):
        self.gates, self.begun, self.endings = [], [], {}
        self.more(names)
        self.running = 0
        self.most = 0
        self.cleaned = []
        calls = [planned(n, name, ToolResultPart(call_id=f"c{n}", state="error") if n in refused else None) for n, name in enumerate(names)]
        self.round = ToolRound(calls, self.run, is_parallel=lambda call: call.call.name != "alone", limit=limit, **options)

    def more(self, names):
        self.gates += [asyncio.Event() for _ in names]
        self.begun += [asyncio.Event() for _ in names]

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
        if call.place in self.endings:
            raise self.endings[call.place]
        return result(call)

    async def all(self):
        changes = []
        while not self.round.is_over:
            await self.round.wait()
            changes += self.round.taken()
        return changes


def kinds(changes, kind):
    return [change.place for change in changes if isinstance(change, kind)]


async def test_calls_that_are_dropped_are_cancelled_or_never_start_and_the_others_go_on():
    bench = Bench(["t", "t", "t", "t"], limit=2)
    await bench.begun[1].wait()
    bench.round.drop([0, 2])
    await bench.begun[3].wait()
    for gate in bench.gates:
        gate.set()
    changes = await bench.all()
    assert bench.cleaned[0] == 0
    assert kinds(changes, Started) == [0, 1, 3]
    assert sorted(kinds(changes, Ended)) == [1, 3]


async def test_a_call_that_is_dropped_before_its_first_step_holds_up_nothing():
    bench = Bench(["alone", "t"])
    bench.round.drop([0])
    bench.gates[1].set()
    assert kinds(await bench.all(), Ended) == [1]
    assert not bench.begun[0].is_set()


async def test_dropping_them_all_leaves_a_round_that_is_over():
    bench = Bench(["t", "t", "t"], limit=1)
    bench.round.drop([0, 1, 2])
    assert kinds(await bench.all(), Ended) == []
    assert bench.round.is_over


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


async def test_calls_on_one_resource_keep_their_order_and_others_pass_them():
    bench = Bench(["a", "a", "b", "t"], limit=2, resource=lambda call: None if call.call.name == "t" else call.call.name)
    await bench.begun[2].wait()
    assert not bench.begun[1].is_set()
    bench.gates[2].set()
    await bench.begun[3].wait()
    bench.gates[0].set()
    await bench.begun[1].wait()
    bench.gates[1].set()
    bench.gates[3].set()
    assert kinds(await bench.all(), Started) == [0, 2, 3, 1]


async def test_the_resource_of_a_call_is_asked_once_and_in_order():
    asked = []

    def resource(call):
        asked.append(call.place)

    bench = Bench(["t", "alone", "t"], resource=resource, refused=(2,))
    for gate in bench.gates:
        gate.set()
    await bench.all()
    assert asked == [0, 1]


async def test_a_call_whose_resource_cannot_be_worked_out_gets_a_result_that_says_why():
    bench = Bench(["t", "t"], resource=lambda call: {1: "a"}[call.place])
    bench.gates[1].set()
    changes = await bench.all()
    [bad, _] = [change.result for change in changes if isinstance(change, Ended)]
    assert bad.text == "The call was not run, since what it works on could not be worked out: KeyError: 0"
    assert (bad.state, bad.metadata) == ("error", {"error_type": "KeyError"})
    assert kinds(changes, Started) == [1]


async def test_calls_can_come_later_and_those_that_are_there_are_left_alone():
    bench = Bench(["t"])
    await bench.begun[0].wait()
    bench.more(["t", "t"])
    bench.round.add([planned(0), planned(1), planned(2, refusal=ToolResultPart(call_id="c2", state="error"))])
    await bench.begun[1].wait()
    assert not bench.round.is_over
    for gate in bench.gates:
        gate.set()
    changes = await bench.all()
    assert kinds(changes, Started) == [0, 1]
    assert sorted(kinds(changes, Ended)) == [0, 1, 2]
    bench.more(["t"])
    bench.gates[3].set()
    bench.round.add([planned(3)])
    assert not bench.round.is_over
    assert kinds(await bench.all(), Ended) == [3]


async def test_a_call_that_would_lose_its_turn_is_refused():
    tools = ToolRound([planned(1, refusal=result(planned(1)))], pytest.fail, is_parallel=lambda call: True, limit=1)
    with pytest.raises(StateError, match="call 0 comes after call 1"):
        tools.add([planned(0)])


async def test_nothing_is_taken_after_a_cancellation():
    bench = Bench(["t"])
    await bench.round.cancel()
    bench.more(["t"])
    bench.round.add([planned(1), planned(2, refusal=result(planned(2)))])
    assert kinds(await bench.all(), Ended) == []
    assert not bench.begun[1].is_set()


async def test_a_suspended_call_has_no_result_and_lets_the_others_run():
    bench = Bench(["a", "a", "alone"], resource=lambda call: call.call.name)
    bench.endings[0] = Suspend(["somebody"], {"n": 1})
    for gate in bench.gates:
        gate.set()
    changes = await bench.all()
    assert kinds(changes, Started) == [0, 1, 2]
    assert kinds(changes, Ended) == [1, 2]
    assert [change for change in changes if isinstance(change, Suspended)] == [Suspended(0, bench.endings[0])]
    assert bench.round.error is None


class TestNotes:
    """What tools say beside their output: told apart, in order, the newest progress only."""

    @staticmethod
    async def said(*words):
        seen = []

        async def run(call, on_output):
            for word in words:
                await word() if callable(word) else on_output(word)
            return result(call)

        async def look():
            nonlocal seen
            seen += tools.taken()

        words = [look if word == "look" else word for word in words]
        tools = ToolRound([planned(0)], run, is_parallel=lambda call: True, limit=1)
        while not tools.is_over:
            await tools.wait()
            seen += tools.taken()
        return seen[1:-1]

    async def test_progress_and_events_come_in_order_with_the_output(self):
        a, event = TextPart("a"), object()
        assert await self.said(ProgressNote("half", 1, 2), a, ForwardNote(event), a) == [
            Progress(0, "half", 1, 2),
            Output(0, a),
            Forwarded(0, event),
            Output(0, a),
        ]

    async def test_progress_that_was_not_taken_gives_way_to_the_next(self):
        a = TextPart("a")
        many = [ProgressNote(done=n) for n in range(1000)]
        assert await self.said(*many) == [Progress(0, "", 999, None)]
        assert await self.said(*many, a, *many) == [Output(0, a), Progress(0, "", 999, None)]
        assert await self.said(many[0], "look", many[1], "look", a, many[2], many[3]) == [
            Progress(0, "", 0, None),
            Progress(0, "", 1, None),
            Output(0, a),
            Progress(0, "", 3, None),
        ]

    async def test_the_progress_of_each_call_is_its_own(self):
        async def run(call, on_output):
            for n in range(3):
                on_output(ProgressNote(done=n))
                await asyncio.sleep(0)  # the other call's turn
            return result(call)

        tools = ToolRound([planned(0), planned(1)], run, is_parallel=lambda call: True, limit=2)
        await asyncio.wait(tools._tasks)
        assert [change for change in tools.taken() if isinstance(change, Progress)] == [Progress(n, "", 2, None) for n in (0, 1)]


async def test_real_tools_say_and_suspend_through_a_round():
    def copy(path: str, context: Context):
        context.progress("copying", done=1, total=2)
        yield path
        context.forward("event")
        if context.resumption is None:
            raise Suspend(state={"path": path})

    made = tool(resource="file:{path}")(copy)
    calls = [PlannedCall(n, ToolCallPart(id=f"c{n}", name="copy", arguments={"path": "a"})) for n in range(2)]

    def run(call, on_output):
        context = Context(deps=None, resumption="yes" if call.place else None)
        return run_tool(made, call.call, context, on_output=on_output)

    tools = ToolRound(calls, run, is_parallel=lambda call: True, limit=2, resource=lambda call: resource_of(made, call.call))
    changes = []
    while not tools.is_over:
        await tools.wait()
        changes += tools.taken()
    said = [Progress, Output, Forwarded]
    assert [type(change) for change in changes] == [Started, *said, Suspended, Started, *said, Ended]
    assert [change.place for change in changes] == [0] * 5 + [1] * 5
    assert changes[4].suspend.state == {"path": "a"}


class RandomRound(RuleBasedStateMachine):
    """Any calls, added at any time, ending in any order: held against the plainest scheduler that can be written."""

    @initialize(limit=st.integers(1, 4))
    def begin(self, limit):
        self.loop = asyncio.new_event_loop()
        self.limit = limit
        self.plan = []  # (resource, is_alone) of each call
        self.over = set()
        self.gates = {}  # of those that run
        self.changes = []
        self.asked = 0
        self.loop.run_until_complete(self.make())

    async def make(self):
        self.round = ToolRound([], self.run_call, is_parallel=self.is_parallel, limit=self.limit, resource=self.resource)

    def is_parallel(self, call):
        return not self.plan[call.place][1]

    def resource(self, call):
        self.asked += 1
        return self.plan[call.place][0]

    async def run_call(self, call, on_output):
        assert call.place not in self.gates
        assert call.place not in self.over
        gate = self.gates[call.place] = self.loop.create_future()
        on_output(TextPart("begun"))
        ending = await gate
        if isinstance(ending, Suspend):
            raise ending
        return result(call)

    @rule(more=st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.sampled_from([False, False, False, True])), max_size=6))
    def add(self, more):
        begin = len(self.plan)
        self.plan += more
        self.settle(lambda: self.round.add([planned(begin + n) for n in range(len(more))]))

    @precondition(lambda self: self.gates)
    @rule(data=st.data(), is_suspended=st.booleans())
    def end(self, data, is_suspended):
        places = data.draw(st.lists(st.sampled_from(sorted(self.gates)), min_size=1, unique=True))

        def open_gates():
            for place in places:
                self.over.add(place)
                self.gates.pop(place).set_result(Suspend() if is_suspended else None)

        self.settle(open_gates)

    def settle(self, act):
        async def go():
            act()
            for _ in range(6 + 2 * len(self.plan)):  # turns of the loop: enough for every task to come to rest
                await asyncio.sleep(0)
            self.changes += self.round.taken()

        self.loop.run_until_complete(go())

    @invariant()
    def what_runs_is_what_may_run(self):
        running = [place for place in kinds(self.changes, Started) if place not in self.over]
        assert sorted(running) == sorted(self.gates)
        assert len(running) <= self.limit
        used = [self.plan[place][0] for place in running if self.plan[place][0] is not None]
        assert len(used) == len(set(used))
        assert len(running) == 1 or not any(self.plan[place][1] for place in running)

    @invariant()
    def no_slot_is_free_while_a_call_could_run(self):
        if len(self.gates) == self.limit:
            return
        open_calls = [place for place in range(len(self.plan)) if place not in self.over]
        for n, place in enumerate(open_calls):
            resource, is_alone = self.plan[place]
            before = open_calls[:n]
            if any(self.plan[other][1] for other in before) or (is_alone and before):
                break
            if place not in self.gates:
                assert any(self.plan[other][0] == resource for other in before if resource is not None)

    @invariant()
    def order_is_kept(self):
        started = kinds(self.changes, Started)
        assert len(started) == len(set(started))
        for resource in "abc":
            lane = [place for place in started if self.plan[place][0] == resource]
            assert lane == sorted(lane)
        for n, (_, is_alone) in enumerate(self.plan):
            if is_alone and n in started:
                at = started.index(n)
                assert set(started[:at]) == set(range(n))

    @invariant()
    def every_call_ends_once_or_is_suspended_once(self):
        assert sorted(kinds(self.changes, Ended | Suspended)) == sorted(self.over)
        assert self.asked == len(self.plan)
        assert self.round.is_over == (len(self.over) == len(self.plan))
        assert self.round.error is None

    def teardown(self):
        if hasattr(self, "loop"):
            self.loop.run_until_complete(self.round.cancel())
            self.loop.close()


TestRandomRounds = RandomRound.TestCase
TestRandomRounds.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
