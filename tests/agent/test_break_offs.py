"""Laws of runs that break off and wait: whatever happens when, nothing runs twice unasked, and the end is legal."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from examples import some
from headrace.agent import events
from headrace.agent.fold import fold
from headrace.errors import ToolError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool
from legal_history import problems
from pausing import watched_agent

NAMES = ("look", "pay", "sign", "count", "book", "fail", "ask")
ONCE = ("pay", "sign", "book", "fail")


class World:
    """What is told in every process: the same conversation, and a count of what was done for each call."""

    def __init__(self, rounds, options):
        self.rounds, self.options = rounds, options
        self.done = Counter()

    def say(self, request):
        round_ = sum(message.role == "assistant" for message in request.messages)
        if round_ == len(self.rounds):
            return "Done."
        parts = [ToolCallPart(id=f"{round_}.{n}", name=name, arguments={}) for n, name in enumerate(self.rounds[round_])]
        return AssistantMessage(["Well. ", *parts])

    def did(self, context):
        self.done[context.tool_name, context.call_key] += 1

    def tools(self):
        @tool(idempotent=True)
        async def look(context: Context) -> str:
            """Look."""
            self.did(context)
            await asyncio.sleep(0)
            return "seen"

        @tool
        async def pay(context: Context):
            """Pay."""
            self.did(context)
            yield "paid "
            await asyncio.sleep(0)
            yield "it"

        @tool(needs_approval=True, parallel=False)
        async def sign(context: Context) -> str:
            """Sign."""
            self.did(context)
            return "signed"

        @tool(external=True)
        def count() -> int:
            """Count."""

        @tool
        async def book(context: Context) -> str:
            """Book."""
            if context.resumption is None:
                raise Suspend(state=1)
            self.did(context)
            return "booked"

        @tool
        async def fail(context: Context) -> str:
            """Fail."""
            self.did(context)
            raise ToolError("it failed")

        return [look, pay, sign, count, book, fail]

    def agent(self):
        def inside(request):
            return (
                "Done inside."
                if request.messages[-1].role == "tool"
                else AssistantMessage([ToolCallPart(id="i", name="sign", arguments={})])
            )

        inner = watched_agent(*[inside] * 20, tools=self.tools())
        return watched_agent(*[self.say] * 20, tools=[*self.tools(), inner.as_tool("ask", "Asks.")], **self.options)


def answer_to(draw, pending):
    match pending.kind:
        case "approval":
            return draw(st.sampled_from([pending.approve(), pending.deny("no")]))
        case "external":
            return draw(
                st.sampled_from(
                    [pending.answer(3), pending.answer("why", is_error=True)] if pending.call.name == "count" else [pending.answer(3)]
                )
            )
        case _:
            return draw(st.sampled_from([pending.approve(), pending.answer("4"), pending.deny()]))


async def go(world, draw):
    """Run to the end over pauses and processes that die; returns the result, all events, and the calls in doubt that were run again."""
    log, state, replies, again = [], None, [], Counter()
    for _ in range(40):
        agent = world.agent()
        dies_after = draw(st.integers(0, 30)) if draw(st.booleans()) else None
        run = agent.stream("go", on_event=log.append) if state is None else agent.resume_stream(state, replies, on_event=log.append)
        taken = None
        async with run:
            read = 0
            async for _event in run:
                read += 1
                if draw(st.booleans()):
                    await asyncio.sleep(0)  # the tools run on
                if read == dies_after and not isinstance(log[-1], events.RunEnded):
                    taken = json.dumps(run.state)
                    seq = json.loads(taken)["open"]["seq"]
                    break
        if taken is not None:  # the process is gone, and what it did from here on with it
            log[:] = [event for event in log if event.seq <= seq]
            state, replies = taken, []
            continue
        result = run.result
        assert fold(log) == result.messages
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        if not result.is_waiting:
            return result, log, again
        chosen = draw(st.lists(st.sampled_from(result.pending), min_size=1, unique_by=lambda pending: pending.call_key))
        replies = [answer_to(draw, pending) for pending in chosen]
        for pending, reply in zip(chosen, replies, strict=True):
            again[pending.call_key] += pending.kind == "in_doubt" and type(reply).__name__ == "Approve"
        state = json.dumps(result.state)
    raise AssertionError("it never ends")


@some
@given(st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1, max_size=2), st.booleans(), st.booleans(), st.data())
def test_whatever_breaks_off_and_waits_nothing_runs_twice_unasked_and_the_end_is_legal(rounds, runs_others, starts_early, data):
    world = World(rounds, {"run_while_pending": runs_others, "early_start": starts_early, "max_parallel_tools": 2})
    result, log, again = asyncio.run(go(world, data.draw))
    assert result.generate_reason == "completed"
    assert result.message.text == "Done."
    assert problems(result.messages) == []
    assert [len(message.results) for message in result.messages if message.role == "tool"] == [len(names) for names in rounds]
    assert [event.type for event in log].count("run_started") == 1
    for (name, call_key), times in world.done.items():
        assert name not in ONCE or times <= 1 + again[call_key], (name, call_key)
