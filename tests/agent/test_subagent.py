"""Agents as tools of agents: what happens inside is seen, counted and asked about outside."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve
from headrace.agent.fold import fold
from headrace.agent.permission.rules import Rule
from headrace.errors import APIError, StateError, UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage
from headrace.tools.context import Context
from headrace.tools.tool import tool
from legal_history import problems
from pausing import Watched, call, calls, watched_agent


def usage(n: int) -> Usage:
    return Usage(input_tokens=10 * n, output_tokens=n)


def said(text: str, n: int = 1) -> AssistantMessage:
    return AssistantMessage(text, usage=usage(n))


class Ran:
    """Tools of the agents inside."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        ran = self

        @tool(needs_approval=True)
        def sign(what: str) -> str:
            """Sign."""
            ran.done.append(what)
            return f"signed {what}"

        @tool(external=True)
        def measure(of: str) -> float:
            """Measure, elsewhere."""

        @tool
        def who(context: Context) -> str:
            """Say whose run it is."""
            return f"{context.deps}"

        self.tools = [sign, measure, who]

    def inner(self, *answers: Any, **options: Any) -> Agent:
        return watched_agent(*answers, tools=self.tools, **options)


def inner_events(made, depth=1):
    """The events of the sub-runs, by the run's id, in order."""
    found: dict[str, list[events.Event]] = {}
    for event in made:
        for _ in range(depth):
            event = event.event if isinstance(event, events.SubRun) else None  # noqa: PLW2901 - looks inside
        if event is not None and not isinstance(event, events.SubRun):
            found.setdefault(event.run_id, []).append(event)
    return found


# ---------------------------------------------------------------------------------------------- without asking


async def test_a_sub_agent_answers_as_a_tool_and_its_usage_counts():
    inner = Ran().inner(AssistantMessage([call("i", "who")], usage=usage(1)), said("It is you.", 2))
    outer = watched_agent(
        AssistantMessage([call("o", "ask", task="who?")], usage=usage(3)), said("You.", 4), tools=[inner.as_tool("ask", "Asks.")]
    )
    watched = await Watched.start(outer, deps="me")
    assert watched.results() == {"o": "It is you."}
    assert watched.result.usage == usage(10)
    assert inner.model.requests[0].messages[0].text == "who?"
    assert inner.model.requests[1].messages[-1].results[0].parts[0].text == "me"
    (spec,) = outer.model.requests[0].tools
    assert (spec.name, spec.description) == ("ask", "Asks.")
    assert spec.parameters["required"] == ["task"]
    assert list(spec.parameters["properties"]) == ["task"]


async def test_the_events_inside_are_seen_in_order_and_make_the_messages_of_the_sub_run():
    inner = Ran().inner(calls("Let me see. ", call("i", "who")), "It is you.")
    outer = watched_agent(calls(call("o", "ask", task="who?")), "ok", tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer)
    subruns = [event for event in watched.made if isinstance(event, events.SubRun)]
    key = next(event.call_key for event in watched.made if isinstance(event, events.ToolStarted))
    assert {event.call_key for event in subruns} == {key}
    (inside,) = inner_events(watched.made).values()
    assert [event.seq for event in inside] == list(range(1, len(inside) + 1))
    assert [message.role for message in fold(inside)] == ["user", "assistant", "tool", "assistant"]
    assert fold(inside)[-1].text == "It is you."
    kinds = watched.kinds
    assert kinds.index("tool_started") < kinds.index("subrun") < kinds.index("tool_ended")


async def test_two_at_once_are_told_apart_by_their_runs():
    def both(request):
        return f"answer to {request.messages[-1].text}"

    inner = Ran().inner(both, both)
    outer = watched_agent(calls(call("a", "ask", task="A"), call("b", "ask", task="B")), "ok", tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer)
    assert watched.results() == {"a": "answer to A", "b": "answer to B"}
    assert sorted(fold(inside)[-1].text for inside in inner_events(watched.made).values()) == ["answer to A", "answer to B"]


async def test_a_typed_answer_comes_as_json_and_an_answer_that_is_none_is_said():
    typed = watched_agent('{"n": 3}', output_type=dict[str, int])
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[typed.as_tool("ask", "Asks.")])
    assert (await Watched.start(outer)).results() == {"o": '{"n": 3}'}
    silent = watched_agent("", "")
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[silent.as_tool("ask", "Asks.")])
    assert (await Watched.start(outer)).results() == {"o": "[the agent gave no answer]"}
    tired = Ran().inner(calls(call("i", "who")), "That is all.", max_rounds=1)
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[tired.as_tool("ask", "Asks.")])
    assert (await Watched.start(outer)).results() == {"o": "That is all.\n[the agent ended as max_rounds]"}


async def test_a_sub_agent_that_fails_gives_an_error_result_and_what_it_used_counts():
    inner = Ran().inner(AssistantMessage([call("i", "who")], usage=usage(1)), APIError("the model is gone", status=500))
    outer = watched_agent(
        AssistantMessage([call("o", "ask", task="?")], usage=usage(2)), said("ok", 3), tools=[inner.as_tool("ask", "Asks.")]
    )
    watched = await Watched.start(outer)
    assert watched.result.messages[2].results[0].state == "error"
    assert "the model is gone" in watched.results()["o"]
    assert watched.result.message.text == "ok"
    assert watched.result.usage == usage(6)
    (inside,) = inner_events(watched.made).values()
    assert [event.type for event in inside][-2:] == ["error", "run_ended"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "no good", "description": "x"}, "no good"),
        ({"name": "ask", "description": "x", "timeout": 3}, "a tool has no option 'timeout'"),
        ({"name": "ask", "description": "x", "timeout_s": -1}, "timeout_s is -1"),
        ({"name": "ask", "description": "x", "external": True}, "an agent as a tool runs here"),
        ({"name": "ask", "description": 3}, "description is 3"),
        ({"name": "ask", "description": " "}, "description is ' '"),
    ],
)
def test_what_is_wrong_with_an_agent_as_a_tool_is_said_at_once(options, words):
    with pytest.raises(UsageError, match=words):
        watched_agent("x").as_tool(**options)


async def test_an_agent_as_a_tool_takes_the_options_of_tools():
    inner = Ran().inner("fine")
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[inner.as_tool("ask", "Asks.", needs_approval=True)])
    watched = await Watched.start(outer)
    (pending,) = watched.result.pending
    assert (pending.kind, pending.call.name, pending.path) == ("approval", "ask", ())
    assert inner.model.requests == []
    await watched.resume(pending.approve({"task": "other"}))
    assert inner.model.requests[0].messages[0].text == "other"


# ---------------------------------------------------------------------------------------------- asking


async def test_a_call_inside_is_asked_about_outside_with_the_outer_call_named():
    ran = Ran()
    inner = ran.inner(AssistantMessage([call("i", "sign", what="x")], usage=usage(1)), said("Signed.", 2))
    outer = watched_agent(
        AssistantMessage([call("o", "ask", task="?")], usage=usage(3)), said("ok", 4), tools=[inner.as_tool("ask", "Asks.")]
    )
    watched = await Watched.start(outer)
    assert watched.result.generate_reason == "awaiting_approval"
    (pending,) = watched.result.pending
    assert (pending.kind, pending.call.name, pending.call.parsed) == ("approval", "sign", {"what": "x"})
    assert pending.path == (f"{watched.result.messages[1].id}/0",)
    assert watched.result.usage == usage(4)
    required = next(event for event in watched.made if isinstance(event, events.ApprovalRequired))
    assert required.pending == pending
    await watched.resume(pending.approve())
    assert ran.done == ["x"]
    assert watched.results() == {"o": "Signed."}
    assert watched.result.usage == usage(10)
    (inside,) = inner_events(watched.made).values()
    assert [event.seq for event in inside] == list(range(1, len(inside) + 1))
    assert [event.type for event in inside].count("run_started") == 1
    assert [message.role for message in fold(inside)] == ["user", "assistant", "tool", "assistant"]
    assert watched.kinds.count("approval_required") == watched.kinds.count("approval_given") == 1
    assert watched.kinds.count("tool_started") == 1


async def test_a_no_inside_reaches_the_model_inside():
    ran = Ran()
    inner = ran.inner(calls(call("i", "sign", what="x")), "I may not.")
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer)
    await watched.resume(watched.pending["i"].deny("too dear"))
    assert inner.model.requests[-1].messages[-1].results[0].parts[0].text == "A person denied this call. Reason: too dear"
    assert watched.results() == {"o": "I may not."}


async def test_a_sub_agent_may_ask_first_for_a_yes_and_then_for_a_value():
    ran = Ran()
    inner = ran.inner(calls(call("i", "sign", what="x")), calls(call("j", "measure", of="y")), "2.5 it is.")
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer)
    await watched.resume(watched.pending["i"].approve())
    assert watched.result.generate_reason == "awaiting_external"
    with pytest.raises(UsageError, match=r"(?s)answers\[0\]: .*measure returns"):
        await outer.resume(watched.state, [watched.pending["j"].answer("long")])
    await watched.resume(watched.pending["j"].answer(2.5))
    assert watched.results() == {"o": "2.5 it is."}
    assert watched.kinds.count("approval_required") == watched.kinds.count("external_required") == 1


def deep(ran, answers, levels, **options):
    """An agent inside an agent inside …; each passes the task on."""
    agent = ran.inner(*answers)
    for level in range(levels):
        agent = watched_agent(
            calls(call(f"o{level}", "ask", task="?")), said(f"level {level}", 1), tools=[agent.as_tool("ask", "Asks.")], **options
        )
    return agent


async def test_questions_from_two_levels_down_name_the_whole_way():
    ran = Ran()
    outer = deep(ran, [AssistantMessage([call("i", "sign", what="x")], usage=usage(1)), said("Signed.", 2)], 2)
    watched = await Watched.start(outer)
    (pending,) = watched.result.pending
    assert pending.call.name == "sign"
    assert len(pending.path) == 2
    assert pending.path[0].startswith(watched.result.messages[1].id)
    with pytest.raises(UsageError, match=r"answers\[0\]: sign: "):
        await outer.resume(watched.state, [pending.approve({"what": 7})])
    await watched.resume(pending.approve({"what": "y"}))
    assert ran.done == ["y"]
    assert watched.result.message.text == "level 1"
    assert watched.result.usage == usage(5)
    (deepest,) = inner_events(watched.made, depth=2).values()
    assert [event.seq for event in deepest] == list(range(1, len(deepest) + 1))
    assert fold(deepest)[-1].text == "Signed."


async def test_two_sub_agents_ask_at_once_and_are_answered_in_any_order():
    ran = Ran()

    def ask(request):
        last = request.messages[-1]
        return f"signed {last.results[0].parts[0].text}" if last.role == "tool" else calls(call("i", "sign", what=last.text))

    inner = ran.inner(*[ask] * 4)
    outer = watched_agent(calls(call("a", "ask", task="A"), call("b", "ask", task="B")), "ok", tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer)
    first, second = watched.result.pending
    assert (first.call.id, first.call.parsed, second.call.parsed) == ("i", {"what": "A"}, {"what": "B"})
    assert first.path != second.path
    await watched.resume(second.approve())
    assert ran.done == ["B"]
    assert watched.result.pending == (first,)
    with pytest.raises(StateError, match=r"no call .* waits in this run"):
        await outer.resume(watched.state, [second.approve()])
    await watched.resume(first.deny("no"))
    assert watched.results() == {"a": "signed A person denied this call. Reason: no", "b": "signed signed B"}
    for inside in inner_events(watched.made).values():
        assert [event.seq for event in inside] == list(range(1, len(inside) + 1))
        assert problems(fold(inside)) == []


async def test_a_sub_agent_with_two_questions_takes_one_answer_at_a_time_and_asks_each_once():
    ran = Ran()
    inner = ran.inner(calls(call("i", "sign", what="x"), call("j", "sign", what="y")), "Both.")
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer)
    asked = watched.pending
    await watched.resume(asked["j"].approve())
    assert ran.done == ["y"]
    assert watched.result.pending == (asked["i"],)
    await watched.resume(asked["i"].approve())
    assert watched.results() == {"o": "Both."}
    assert watched.kinds.count("approval_required") == 2


async def test_always_inside_lets_the_rest_of_the_sub_run_pass():
    ran = Ran()
    inner = ran.inner(calls(call("i", "sign", what="x"), call("j", "sign", what="y")), calls(call("k", "sign", what="z")), "All.")
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer)
    await watched.resume(watched.pending["i"].approve(rules=(Rule("allow", "sign"),)))
    assert sorted(ran.done) == ["x", "y", "z"]
    assert watched.results() == {"o": "All."}
    assert watched.result.permissions.rules == ()  # a rule belongs to the run that asked


async def test_a_refused_answer_inside_leaves_the_state_good():
    ran = Ran()
    inner = ran.inner(calls(call("i", "sign", what="x")), "Signed.")
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer)
    pending = watched.pending["i"]
    for reply, error in ((pending.answer(1), StateError), (pending.approve({"what": None}), UsageError)):
        with pytest.raises(error):
            await outer.resume(watched.state, [reply])
    await watched.resume(pending.approve())
    assert ran.done == ["x"]


# ---------------------------------------------------------------------------------------------- ends


async def test_an_outer_run_that_is_interrupted_ends_the_sub_run():
    waiting = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        waiting.set()
        await asyncio.Event().wait()
        return "never"

    inner = watched_agent(calls("Wait. ", call("i", "wait"), usage=usage(1)), tools=[wait])
    outer = watched_agent(AssistantMessage([call("o", "ask", task="?")], usage=usage(2)), tools=[inner.as_tool("ask", "Asks.")])
    watched = Watched(outer)
    async with outer.stream("go", on_event=watched.made.append) as run:
        reading = asyncio.create_task(run.finish())
        await waiting.wait()
        run.interrupt()
        watched.result = await reading
    watched.check()
    assert watched.result.generate_reason == "interrupted"
    assert watched.result.usage == usage(3)
    (inside,) = inner_events(watched.made).values()
    assert inside[-1].type == "run_ended"
    assert inside[-1].generate_reason == "interrupted"
    assert problems(fold(inside)) == []


async def test_a_sub_agent_that_takes_too_long_is_ended():
    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    inner = watched_agent(calls(call("i", "wait")), tools=[wait])
    outer = watched_agent(calls(call("o", "ask", task="?")), "ok", tools=[inner.as_tool("ask", "Asks.", timeout_s=0.02)])
    watched = await Watched.start(outer)
    assert watched.result.messages[2].results[0].state == "timed_out"
    (inside,) = inner_events(watched.made).values()
    assert inside[-1].type == "run_ended"


async def test_a_run_that_waits_for_a_sub_agent_can_be_given_up():
    inner = Ran().inner(calls(call("i", "sign", what="x")))
    outer = watched_agent(calls(call("o", "ask", task="?")), tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer, session="s")
    result = await outer.give_up(json.loads(watched.state))
    assert result.messages[-1].results[0].state == "interrupted"
    assert outer.sessions.get("s").holder is None


# ---------------------------------------------------------------------------------------------- after a crash


async def test_of_two_sub_agents_one_waits_and_one_was_at_work_when_the_run_broke_off():
    ran, at_work, go_on = Ran(), asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        at_work.set()
        await go_on.wait()
        return "waited"

    def inside(request):
        last = request.messages[-1]
        if last.role == "tool":
            return "done inside"
        return calls(call("i", "sign", what="x")) if last.text == "sign" else calls(call("i", "wait"))

    def outside(request):
        return "ok" if request.messages[-1].role == "tool" else calls(call("a", "ask", task="sign"), call("b", "ask", task="wait"))

    def make():
        inner = watched_agent(*[inside] * 6, tools=[*ran.tools, wait])
        return watched_agent(*[outside] * 3, tools=[inner.as_tool("ask", "Asks.")])

    made: list[events.Event] = []
    asked = asyncio.Event()

    def hear(event):
        made.append(event)
        if isinstance(event, events.ApprovalRequired):
            asked.set()

    async with make().stream("go", on_event=hear) as run:
        reading = asyncio.create_task(run.finish())
        await at_work.wait()
        await asked.wait()
        state = json.dumps(run.state)
        go_on.set()
        await reading

    elsewhere = Watched(make())
    elsewhere.made = [event for event in made if event.seq <= json.loads(state)["open"]["seq"]]
    (question,) = json.loads(state)["pending"]
    elsewhere.result = await elsewhere.agent.resume(state, [Approve(question["call_key"])], on_event=elsewhere.made.append)
    elsewhere.check()
    assert ran.done == ["x"]
    (pending,) = elsewhere.result.pending
    assert (pending.kind, pending.call.name, pending.call.id, pending.path) == ("in_doubt", "ask", "b", ())
    await elsewhere.resume(pending.approve())  # from its beginning: what it had done inside is not known here
    assert elsewhere.results() == {"a": "done inside", "b": "done inside"}


async def test_a_sub_agent_in_doubt_can_be_answered_for_and_an_idempotent_one_runs_again_by_itself():
    async def broken_off(**options):
        at_work = asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            at_work.set()
            await asyncio.Event().wait()
            return "never"

        inner = watched_agent(calls(call("i", "wait")), tools=[wait])
        outer = watched_agent(calls(call("o", "ask", task="?")), tools=[inner.as_tool("ask", "Asks.", **options)])
        async with outer.stream("go") as run:
            reading = asyncio.create_task(run.finish())
            await at_work.wait()
            state = json.dumps(run.state)
            run.interrupt()
            await reading
        return state, watched_agent("ok", tools=[watched_agent("inside").as_tool("ask", "Asks.", **options)])

    state, elsewhere = await broken_off()
    result = await elsewhere.resume(state)
    assert [pending.kind for pending in result.pending] == ["in_doubt"]
    result = await elsewhere.resume(result.state, result.pending[0].answer("what it found"))
    assert result.messages[2].results[0].parts[0].text == "what it found"
    state, elsewhere = await broken_off(idempotent=True)
    result = await elsewhere.resume(state)
    assert result.messages[2].results[0].parts[0].text == "inside"


async def test_an_outer_run_that_is_cancelled_while_a_sub_agent_goes_on_ends_it_too():
    at_work = asyncio.Event()

    @tool(needs_approval=True)
    async def wait() -> str:
        """Wait."""
        at_work.set()
        await asyncio.Event().wait()
        return "never"

    inner = watched_agent(AssistantMessage([call("i", "wait")], usage=usage(1)), tools=[wait])
    outer = watched_agent(AssistantMessage([call("o", "ask", task="?")], usage=usage(2)), tools=[inner.as_tool("ask", "Asks.")])
    watched = await Watched.start(outer, session="s")
    task = asyncio.create_task(outer.resume(watched.state, watched.pending["i"].approve(), on_event=watched.made.append))
    await at_work.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = outer.sessions.get("s").messages
    assert fold(watched.made) == kept
    assert problems(kept) == []
    assert watched.made[-1].usage == usage(3)
    (inside,) = inner_events(watched.made).values()
    assert [event.seq for event in inside] == list(range(1, len(inside) + 1))
    assert (inside[-1].type, inside[-1].generate_reason) == ("run_ended", "interrupted")
