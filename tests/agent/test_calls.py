"""The calls of a round that wait for themselves: a tool suspends the run, and goes on with what it kept and the answers."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from headrace.agent.approval import Deny, Pending
from headrace.agent.hooks import Hooks, Retry
from headrace.agent.running import Resumption
from headrace.errors import StateError, UsageError
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool
from legal_history import problems
from pausing import Watched, call, calls, watched_agent


class Booked:
    """What tools that suspend themselves saw."""

    def __init__(self):
        self.began = 0
        self.seen = []

    def say(self, room, resumption):
        self.seen.append((resumption.state, [(type(reply).__name__, getattr(reply, "value", None)) for reply in resumption.replies]))
        return f"{room}: {resumption.replies[0].value}"

    def tools(self):
        booked = self

        @tool
        def sync(room: str, context: Context) -> str:
            """Book."""
            booked.began += 1
            if context.resumption is None:
                raise Suspend(state={"room": room, "list": [1, {"x": None}]})
            return booked.say(room, context.resumption)

        @tool(name="async")
        async def async_(room: str, context: Context) -> str:
            """Book."""
            await asyncio.sleep(0)
            return sync(room, context)

        @tool
        def generator(room: str, context: Context):
            """Book."""
            yield "looking. "
            yield sync(room, context)

        @tool
        async def async_generator(room: str, context: Context):
            """Book."""
            yield "looking. "
            yield sync(room, context)

        return [sync, async_, generator, async_generator]


@pytest.mark.parametrize("name", ["sync", "async", "generator", "async_generator"])
async def test_a_tool_suspends_the_run_and_goes_on_with_its_state_and_the_answer(name):
    booked = Booked()
    agent = watched_agent(calls(call("a", name, room="R")), "ok", tools=booked.tools())
    watched = await Watched.start(agent)
    assert watched.result.generate_reason == "awaiting_external"
    (pending,) = watched.result.pending
    assert (pending.kind, pending.call.id, pending.path, pending.reason) == ("external", "a", (), "the call waits for an answer")
    await watched.resume(pending.answer(["any", "value"]))
    assert booked.seen == [({"room": "R", "list": [1, {"x": None}]}, [("Answer", ["any", "value"])])]
    assert booked.began == 2
    said = "looking. " if "generator" in name else ""
    assert watched.results() == {"a": f"{said}R: ['any', 'value']"}
    assert watched.kinds.count("tool_started") == watched.kinds.count("tool_ended") == 1
    assert watched.result.message.text == "ok"


async def test_a_tool_may_suspend_without_a_state_and_more_than_once():
    seen = []

    @tool
    async def ask(context: Context) -> str:
        """Ask until somebody says stop."""
        if context.resumption is None:
            raise Suspend
        (reply,) = context.resumption.replies
        seen.append((context.resumption.state, reply.value))
        if reply.value != "stop":
            raise Suspend(state=(context.resumption.state or 0) + 1)
        return f"asked {len(seen)} times"

    agent = watched_agent(calls(call("a", "ask")), "ok", tools=[ask])
    watched = await Watched.start(agent)
    old = watched.pending["a"]
    await watched.resume(old.answer("more"))
    await watched.resume(watched.pending["a"].answer("more"))
    assert watched.kinds.count("external_required") == 3
    with pytest.raises(StateError, match="its digest differs"):  # said again by mistake
        await agent.resume(watched.state, [old.answer("stop")])
    await watched.resume(watched.pending["a"].answer("stop"))
    assert seen == [(None, "more"), (1, "more"), (2, "stop")]
    assert watched.results() == {"a": "asked 3 times"}


async def test_a_suspended_tool_hears_a_no_and_decides_itself():
    @tool
    async def ask(context: Context) -> str:
        """Ask."""
        if context.resumption is None:
            raise Suspend(state=1)
        (reply,) = context.resumption.replies
        return f"no, since {reply.reason}" if isinstance(reply, Deny) else "yes"

    watched = await Watched.start(watched_agent(calls(call("a", "ask")), "ok", tools=[ask]))
    await watched.resume(watched.pending["a"].deny("it rains"))
    assert watched.results() == {"a": "no, since it rains"}


async def test_an_approved_tool_that_suspends_itself_gets_the_answer_alone_and_the_edited_arguments():
    seen = []

    @tool(needs_approval=True)
    async def book(room: str, context: Context) -> str:
        """Book."""
        if context.resumption is None:
            raise Suspend(state=room)
        seen.append(context.resumption)
        return room

    agent = watched_agent(calls(call("a", "book", room="R")), "ok", tools=[book])
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].approve({"room": "S"}))
    assert watched.result.generate_reason == "awaiting_external"
    answer = watched.pending["a"].answer(1)
    await watched.resume(answer)
    assert seen == [Resumption("S", (answer,))]
    assert watched.results() == {"a": 'The arguments were changed to {"room":"S"}.\nS'}


async def test_the_other_calls_run_to_their_end_while_one_is_suspended_and_wait_their_turn_no_longer():
    ran = []

    @tool
    async def ask(context: Context) -> str:
        """Ask."""
        if context.resumption is None:
            raise Suspend(state=1)
        return "asked"

    @tool(parallel=False)
    async def act(n: int) -> str:
        """Act."""
        ran.append(n)
        return f"did {n}"

    agent = watched_agent(
        calls(call("a", "ask"), call("b", "act", n=1), call("c", "act", n=2)), "ok", tools=[ask, act], max_parallel_tools=1
    )
    watched = await Watched.start(agent)
    assert ran == [1, 2]
    await watched.resume(watched.pending["a"].answer())
    assert ran == [1, 2]
    assert watched.results() == {"a": "asked", "b": "did 1", "c": "did 2"}


async def test_suspended_calls_go_on_one_by_one():
    booked = Booked()
    agent = watched_agent(
        calls(call("a", "sync", room="A"), call("b", "async", room="B")), "ok", tools=booked.tools(), run_while_pending=False
    )
    watched = await Watched.start(agent)
    asked = watched.pending
    await watched.resume(asked["b"].answer(2))
    assert set(watched.pending) == {"a"}
    assert watched.pending["a"] == asked["a"]
    await watched.resume(asked["a"].answer(1))
    assert watched.results() == {"a": "A: 1", "b": "B: 2"}
    assert watched.kinds.count("external_required") == 2


async def test_a_suspended_call_that_is_given_up_is_closed():
    agent = watched_agent(calls(call("a", "sync", room="A")), tools=Booked().tools())
    watched = await Watched.start(agent)
    result = await agent.give_up(watched.state)
    assert result.messages[-1].results[0].state == "interrupted"
    assert problems(result.messages) == []


async def test_a_suspended_call_that_broke_off_as_it_went_on_is_in_doubt():
    gate = asyncio.Event()

    @tool
    async def ask(context: Context) -> str:
        """Ask."""
        if context.resumption is None:
            raise Suspend(state=1)
        gate.set()
        await asyncio.Event().wait()
        return "never"

    agent = watched_agent(calls(call("a", "ask")), "ok", tools=[ask])
    watched = await Watched.start(agent)
    async with agent.resume_stream(watched.state, [watched.pending["a"].answer(1)]) as run:
        reading = asyncio.create_task(run.finish())
        await gate.wait()
        state = json.dumps(run.state)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    elsewhere = watched_agent("ok", tools=[ask])
    result = await elsewhere.resume(state)
    assert [pending.kind for pending in result.pending] == ["in_doubt"]
    result = await elsewhere.resume(result.state, result.pending[0].answer("it is done"))
    assert result.message.text == "ok"


async def test_a_tool_that_suspends_with_what_is_no_question_fails_the_run_with_words():
    @tool
    async def ask() -> str:
        """Ask."""
        raise Suspend(["hello"])

    with pytest.raises(UsageError, match="ask raised Suspend with a str; give the pending calls of another run") as caught:
        await watched_agent(calls(call("a", "ask")), tools=[ask]).run("go")
    assert problems(caught.value.result.messages) == []


async def test_a_state_that_is_no_json_is_the_tools_own_error():
    @tool
    async def ask() -> str:
        """Ask."""
        raise Suspend(state=object())

    watched = await Watched.start(watched_agent(calls(call("a", "ask")), "ok", tools=[ask]))
    assert "Suspend.state" in watched.results()["a"]


async def test_a_tool_may_pass_on_questions_of_another_system():
    inner = Pending("approval", "other/1", ToolCallPart(id="x", name="remote", arguments={}), "d1", "remote asks")

    @tool
    async def remote(context: Context) -> str:
        """Ask elsewhere."""
        if context.resumption is None:
            raise Suspend([inner], {"task": 7})
        (reply,) = context.resumption.replies
        return f"{context.resumption.state['task']}: {reply.kind if hasattr(reply, 'kind') else type(reply).__name__}"

    watched = await Watched.start(watched_agent(calls(call("a", "remote")), "ok", tools=[remote]))
    (pending,) = watched.result.pending
    assert (pending.call_key, pending.digest, pending.reason) == ("other/1", "d1", "remote asks")
    assert pending.path == (f"{watched.result.messages[1].id}/0",)
    await watched.resume(pending.approve())
    assert watched.results() == {"a": "7: Approve"}


async def test_answers_outside_are_cut_at_the_tools_own_bound():
    @tool(external=True, max_output_bytes=10)
    def fetch() -> str:
        """Fetch."""

    watched = await Watched.start(watched_agent(calls(call("a", "fetch")), "ok", tools=[fetch]))
    await watched.resume(watched.pending["a"].answer("x" * 100))
    result = watched.result.messages[2].results[0]
    assert result.metadata["cut_bytes"] == 90


async def test_hooks_see_what_was_answered_outside_and_may_replace_it():
    class Redacting(Hooks):
        async def after_tool_call(self, here, call, result):
            seen.append((call.name, result.parts[0].value))
            return Retry("again") if call.id == "b" else msgspec.structs.replace(result, parts=(TextPart("hidden"),))

    @tool(external=True)
    def fetch() -> dict[str, int]:
        """Fetch."""

    seen = []
    agent = watched_agent(calls(call("a", "fetch"), call("b", "fetch")), "ok", tools=[fetch], hooks=[Redacting()], run_while_pending=False)
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["b"].answer({"n": 2}))
    assert set(watched.pending) == {"a"}
    await watched.resume(watched.pending["a"].answer({"n": 1}))
    assert seen == [("fetch", {"n": 2}), ("fetch", {"n": 1})]
    assert watched.results() == {"a": "hidden", "b": '{"n": 2}'}
    assert watched.result.messages[2].results[1].metadata["not_retried"] == "fetch was run outside"
    assert "tool_started" not in watched.kinds
