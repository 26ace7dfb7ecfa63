"""Going on with a run: in another process, streamed, in every order, over pauses; what is refused, and what a refusal leaves."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent import events
from headrace.agent.approval import Approve
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.fold import fold
from headrace.agent.hooks import Hooks
from headrace.agent.session import MemorySessions, Session
from headrace.errors import APIError, ConflictError, ConnectionLostError, StateError, UsageError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.usage import Usage
from headrace.models.script import Scripted
from headrace.tools.tool import Tool, tool
from headrace.tools.toolset import Toolset
from legal_history import problems
from pausing import Watched, call, calls, watched_agent

ROOT = Path(__file__).resolve().parents[2]
AREA = Tool(
    name="area",
    description="The area of a shape.",
    parameters={"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]},
    external=True,
)


@tool(external=True)
def count(of: str) -> dict[str, int]:
    """Count, elsewhere."""


@tool(needs_approval=True)
def pay(sum: int) -> str:  # noqa: A002 - the word of the story
    """Pay."""
    return f"paid {sum}"


# ---------------------------------------------------------------------------------------------- external tools


async def test_an_external_call_waits_for_its_value_and_the_model_gets_it():
    agent = watched_agent(calls(call("a", "count", of="mills")), "Three.", tools=[count])
    watched = await Watched.start(agent)
    assert watched.result.generate_reason == "awaiting_external"
    assert watched.kinds[-2:] == ["external_required", "run_ended"]
    (pending,) = watched.result.pending
    assert (pending.kind, pending.call.parsed) == ("external", {"of": "mills"})
    await watched.resume(pending.answer({"mills": 3}))
    assert watched.results() == {"a": '{"mills": 3}'}
    assert "tool_started" not in watched.kinds
    assert agent.model.requests[-1].messages[-1].results[0].state == "success"


async def test_an_answer_is_checked_against_what_the_tool_says_that_it_returns():
    agent = watched_agent(calls(call("a", "count", of="x"), call("b", "area", of="y")), "ok", tools=[count, AREA])
    watched = await Watched.start(agent)
    state, pending = watched.state, watched.pending
    with pytest.raises(UsageError, match=r"(?s)answers\[1\]: .*mills"):
        await agent.resume(state, [pending["b"].answer("any"), pending["a"].answer({"mills": "many"})])
    await watched.resume(pending["a"].answer({"mills": 1}), pending["b"].answer([1, {"any": None}]))
    assert watched.results() == {"a": '{"mills": 1}', "b": '[1, {"any": null}]'}


async def test_a_failure_outside_is_an_error_result_and_is_not_checked():
    agent = watched_agent(calls(call("a", "count", of="x")), "ok", tools=[count])
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].answer("no connection", is_error=True))
    (result,) = watched.result.messages[2].results
    assert (result.state, result.parts[0].text) == ("error", "no connection")


async def test_an_external_call_can_be_denied():
    agent = watched_agent(calls(call("a", "count", of="x")), "ok", tools=[count])
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].deny("nobody is there"))
    assert watched.results() == {"a": "A person denied this call. Reason: nobody is there"}


async def test_a_tool_that_needs_approval_and_is_external_asks_twice():
    agent = watched_agent(calls(call("a", "count", of="x")), "ok", tools=[count.replace(needs_approval=True)])
    watched = await Watched.start(agent)
    first = watched.pending["a"]
    assert (first.kind, watched.result.generate_reason) == ("approval", "awaiting_approval")
    await watched.resume(first.approve({"of": "y"}))
    second = watched.pending["a"]
    assert (second.kind, watched.result.generate_reason) == ("external", "awaiting_external")
    assert second.call.parsed == {"of": "y"}
    assert second.digest != first.digest
    with pytest.raises(StateError, match="its digest differs"):  # what was said to the first question is no answer to the second
        await agent.resume(watched.state, [first.deny()])
    await watched.resume(second.answer({"y": 2}))
    assert watched.results() == {"a": 'The arguments were changed to {"of":"y"}.\n{"y": 2}'}
    assert watched.result.messages[1].tool_calls[0].parsed == {"of": "x"}


# ---------------------------------------------------------------------------------------------- another process

SCRIPT = """
    import asyncio, json, sys
    from pathlib import Path
    from headrace import Agent, Approve, AssistantMessage, ScriptedModel, ToolCallPart, Usage, tool

    @tool(needs_approval=True)
    def pay(sum: int) -> str:
        "Pay."
        return f"paid {sum}"

    model = ScriptedModel(
        AssistantMessage([ToolCallPart(id="p", name="pay", arguments={"sum": 2})], usage=Usage(input_tokens=10, output_tokens=5)),
        AssistantMessage("Both are paid.", usage=Usage(input_tokens=20, output_tokens=7)),
    )

    async def main():
        agent = Agent(model, tools=[pay])
        path = Path(sys.argv[1])
        pending = json.loads(path.read_text())["pending"][0]
        answer = Approve(pending["call_key"], digest=pending["digest"])
        async with agent.resume_stream(path.read_text(), [answer]) as run:
            async for event in run:
                if event.type == "tool_ended":
                    print(event.result.parts[0].text)
        path.write_text(json.dumps(run.result.state))
        print(run.result.generate_reason, run.result.rounds, run.result.usage.output_tokens)

    asyncio.run(main())
"""


async def test_a_run_goes_on_in_another_process_from_a_file(tmp_path):
    kept = tmp_path / "state.json"
    answer = AssistantMessage([call("p", "pay", sum=1)], usage=Usage(input_tokens=3, output_tokens=2))
    watched = await Watched.start(watched_agent(answer, tools=[pay]))
    kept.write_text(watched.state)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "error", "-c", textwrap.dedent(SCRIPT), str(kept)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["paid 1", "awaiting_approval 2 7"]
    # And back again: what the other process left is a state as any.
    agent = watched_agent("Done.", tools=[pay])
    pending = json.loads(kept.read_text())["pending"][0]
    result = await agent.resume(kept.read_text(), [Approve(pending["call_key"], digest=pending["digest"])])
    assert (result.rounds, result.usage.output_tokens, result.usage.input_tokens) == (3, 7, 13)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert result.message.text == "Done."
    assert problems(result.messages) == []


# ---------------------------------------------------------------------------------------------- streamed


async def test_a_streamed_resume_shows_the_output_of_approved_tools_and_goes_on_counting():
    @tool(needs_approval=True)
    async def tell(n: int):
        """Tell in pieces."""
        yield f"{n}: one "
        yield "two"

    agent = watched_agent(
        calls(call("a", "tell", n=1), usage=Usage(output_tokens=1)), AssistantMessage("ok", usage=Usage(output_tokens=2)), tools=[tell]
    )
    watched = await Watched.start(agent)
    made = list(watched.made)
    async with agent.resume_stream(watched.result.state, watched.pending["a"].approve()) as run:
        assert run.id == watched.result.run_id
        made += [event async for event in run]
    assert [event.seq for event in made] == list(range(1, len(made) + 1))
    assert [event.output.text for event in made if isinstance(event, events.ToolOutput)] == ["1: one ", "two"]
    assert [event.round for event in made if isinstance(event, events.RoundStarted)] == [1, 2]
    assert run.result.usage == Usage(output_tokens=3)
    assert run.result.rounds == 2
    assert fold(made) == run.result.messages


@pytest.mark.parametrize("limit", [{"max_rounds": 2}, {"max_tool_calls": 2}, {"limits": {"tokens": 25}}])
async def test_limits_count_over_pauses(limit):
    answers = [calls(call("a", "pay", sum=n), usage=Usage(input_tokens=10, output_tokens=3)) for n in range(3)]
    agent = watched_agent(*answers[:2], "I stop.", tools=[pay], **limit)
    watched = await Watched.start(agent)
    for _ in range(2):
        assert watched.result.is_waiting
        await watched.resume(watched.pending["a"].approve())
    assert watched.result.generate_reason == ("max_rounds" if "max_rounds" in limit else "limit")
    assert watched.result.message.text == "I stop."
    assert agent.model.requests[-1].tool_choice == "none"
    assert watched.kinds.count("limit_reached") == 1


async def test_a_pause_in_the_middle_of_many_rounds_keeps_the_history_that_is_sent():
    agent = watched_agent(
        calls("first", call("a", "pay", sum=1)), calls("second", call("a", "pay", sum=2)), "ok", tools=[pay], instructions="Be brief."
    )
    watched = await Watched.start(agent, history=[UserMessage("before")])
    await watched.resume(watched.pending["a"].approve())
    await watched.resume(watched.pending["a"].approve())
    sent = [message.text for message in agent.model.requests[-1].messages if message.role != "tool"]
    assert sent == ["Be brief.", "before", "go", "first", "second"]
    assert [message.role for message in agent.model.requests[-1].messages][4:] == ["tool", "assistant", "tool"]
    assert watched.result.messages[0].text == "go"


async def test_words_that_steer_outlive_a_pause():
    agent = watched_agent(calls(call("a", "pay", sum=1)), "ok", tools=[pay])
    async with agent.stream("go") as run:
        async for event in run:
            if isinstance(event, events.RoundEnded):
                run.steer("and hurry")
    result = await agent.resume(json.dumps(run.result.state), run.result.pending[0].approve())
    assert [message.text for message in result.messages if message.role == "user"] == ["go", "and hurry"]


def test_a_run_waits_and_goes_on_in_synchronous_code():
    agent = watched_agent(calls(call("a", "pay", sum=3)), "Paid.", tools=[pay])
    result = agent.run_sync("Pay 3.")
    assert result.generate_reason == "awaiting_approval"
    made = []
    result = agent.resume_sync(json.dumps(result.state), result.pending[0].approve(), on_event=made.append)
    assert (result.output, made[0].type) == ("Paid.", "approval_given")


async def test_with_no_answers_the_run_says_again_what_it_waits_for():
    agent = watched_agent(calls(call("a", "pay", sum=1)), "ok", tools=[pay])
    watched = await Watched.start(agent)
    before = watched.result.pending
    await watched.resume()
    assert watched.result.pending == before
    assert watched.kinds.count("approval_required") == 1
    await watched.resume(before[0].approve())
    assert watched.result.message.text == "ok"


# ---------------------------------------------------------------------------------------------- in every order

KINDS = {"a": "approve", "b": "edit", "c": "deny", "d": "answer", "e": "answer"}


@st.composite
def partitions(draw):
    """Give the calls in some order, cut into batches."""
    order = draw(st.permutations(sorted(KINDS)))
    cuts = sorted(draw(st.sets(st.integers(1, len(order) - 1))))
    return [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]


def reply_to(pending):
    match KINDS[pending.call.id]:
        case "approve":
            return pending.approve()
        case "edit":
            return pending.approve({"sum": 99})
        case "deny":
            return pending.deny("no")
        case _:
            return pending.answer({pending.call.id: 1})


@given(partitions(), st.booleans(), st.booleans())
def test_answers_in_every_order_and_partition_give_the_same_history(batches, runs_others, is_digest_given):
    async def go():
        counter = iter(range(1000))
        agent = watched_agent(
            calls(*(call(name, "pay", sum=1) for name in "abc"), call("d", "count", of="d"), call("e", "count", of="e")),
            "ok",
            tools=[pay, count],
            run_while_pending=runs_others,
            new_id=lambda: f"id{next(counter)}",
        )
        watched = await Watched.start(agent)
        asked = watched.pending
        assert set(asked) == set(KINDS)
        for batch in batches:
            replies = [reply_to(asked[name]) for name in batch]
            if not is_digest_given:
                replies = [type(reply)(**{**{f: getattr(reply, f) for f in reply.__struct_fields__}, "digest": None}) for reply in replies]
            await watched.resume(*replies)
        assert watched.kinds.count("approval_given") == len(KINDS)
        assert watched.kinds.count("approval_required") + watched.kinds.count("external_required") == len(KINDS)
        assert [message.id for message in watched.result.messages] == ["id0", "id2", "id2/results", "id3"]
        return watched.results(), [result.state for result in watched.result.messages[2].results]

    found, states = asyncio.run(go())
    assert found == {
        "a": "paid 1",
        "b": 'The arguments were changed to {"sum":99}.\npaid 99',
        "c": "A person denied this call. Reason: no",
        "d": '{"d": 1}',
        "e": '{"e": 1}',
    }
    assert states == ["success", "success", "denied", "success", "success"]


# ---------------------------------------------------------------------------------------------- what is refused


async def paused():
    agent = watched_agent(calls(call("a", "pay", sum=1), call("b", "count", of="x")), "ok", tools=[pay, count])
    return agent, await Watched.start(agent)


REFUSED = {
    "a foreign key": (
        lambda a, b: [Approve("other/0")],
        StateError,
        r"answers\[0\]: no call 'other/0' waits in this run; those that wait: '.*', '.*'",
    ),
    "another digest": (lambda a, b: [Approve(a.call_key, digest=b.digest)], StateError, r"its digest differs"),
    "a second answer": (lambda a, b: [a.approve(), a.deny()], StateError, r"answers\[1\] answers the call .* a second time"),
    "a value for a question": (lambda a, b: [a.answer(1)], StateError, r"is an Answer, but pay waits for approval: give Approve or Deny"),
    "a yes for a value": (lambda a, b: [Approve(b.call_key)], StateError, r"is an Approve, but count is run outside: give Answer or Deny"),
    "no answer at all": (lambda a, b: ["yes"], UsageError, r"answers\[0\] is a str"),
    "a text": (lambda a, b: "yes", UsageError, r"answers is a str"),
    "a dictionary": (lambda a, b: {"call_key": a.call_key}, UsageError, r"answers is a dict"),
    "a wrong value": (lambda a, b: [b.answer("x")], UsageError, r"answers\[0\]: The answer does not fit"),
    "a wrong argument": (lambda a, b: [a.approve({"sum": "much"})], UsageError, r"answers\[0\]: pay: "),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_an_answer_that_does_not_fit_is_refused_and_the_state_still_good(case):
    make, error, words = REFUSED[case]
    agent, watched = await paused()
    a, b = watched.pending["a"], watched.pending["b"]
    with pytest.raises(error, match=f"(?s){words}"):
        await agent.resume(watched.state, make(a, b))
    with pytest.raises(error, match=f"(?s){words}"):
        agent.resume_stream(watched.state, make(a, b))
    await watched.resume(a.approve(), b.answer({"x": 1}))
    assert watched.result.message.text == "ok"


async def test_an_answer_is_accepted_once():
    agent, watched = await paused()
    a = watched.pending["a"]
    await watched.resume(a.approve())
    with pytest.raises(StateError, match="was answered before; an answer is accepted once"):
        await agent.resume(watched.state, [a.approve()])
    await watched.resume(watched.pending["b"].answer({}))
    assert watched.results()["a"] == "paid 1"


async def test_a_state_is_taken_up_once():
    agent, watched = await paused()
    state, a = watched.state, watched.pending["a"]
    await watched.resume(a.approve())
    with pytest.raises(StateError, match="was taken up before; its calls must not run twice"):
        await agent.resume(state, [a.approve()])
    async with agent.resume_stream(state, [a.approve()]) as run:
        with pytest.raises(StateError, match="was taken up before"):
            await run.finish()
    with pytest.raises(StateError, match="was taken up before"):
        await agent.give_up(state)


async def test_two_that_take_up_a_state_at_once_are_told_apart():
    agent, watched = await paused()
    both = [agent.resume(watched.state, [watched.pending["a"].approve()]) for _ in range(2)]
    found = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(type(one).__name__ for one in found) == ["RunResult", "StateError"]


async def test_a_run_that_has_ended_has_nothing_to_resume():
    watched = await Watched.start(watched_agent("hi"))
    with pytest.raises(StateError, match=r"has ended as completed; nothing is left to resume"):
        await watched.resume()


async def test_an_answer_to_another_run_is_refused_though_the_wire_ids_are_the_same():
    agent, first = await paused()
    _, second = await paused()
    assert first.pending["a"].call.id == second.pending["a"].call.id
    with pytest.raises(StateError, match=r"no call .* waits in this run"):
        await agent.resume(second.state, [first.pending["a"].approve()])


async def test_even_where_the_ids_are_made_alike_an_answer_belongs_to_its_own_call():
    async def run(sum_):
        counter = iter(range(100))
        agent = watched_agent(calls(call("a", "pay", sum=sum_)), "ok", tools=[pay], new_id=lambda: f"id{next(counter)}")
        return agent, await Watched.start(agent)

    _, first = await run(1)
    agent, second = await run(1_000_000)
    assert first.pending["a"].call_key == second.pending["a"].call_key
    with pytest.raises(StateError, match="its digest differs"):
        await agent.resume(second.state, [first.pending["a"].approve()])


async def test_an_old_answer_does_not_approve_a_call_of_a_later_round():
    agent = watched_agent(calls(call("a", "pay", sum=1)), calls(call("a", "pay", sum=1)), "ok", tools=[pay])
    watched = await Watched.start(agent)
    old = watched.pending["a"].approve()
    await watched.resume(old)
    assert set(watched.pending) == {"a"}
    with pytest.raises(StateError, match=r"no call .* waits in this run"):
        await agent.resume(watched.state, [old])


# ---------------------------------------------------------------------------------------------- sessions


async def test_a_session_is_held_while_the_run_waits_and_free_when_it_has_ended():
    agent = watched_agent(calls(call("a", "pay", sum=1)), "Paid.", "Hello.", tools=[pay])
    watched = await Watched.start(agent, session="s")
    assert agent.sessions.get("s").holder == watched.result.run_id
    assert agent.sessions.get("s").messages == ()
    with pytest.raises(ConflictError, match="another run works on session 's'"):
        await agent.run("me too", session="s")
    await watched.resume(watched.pending["a"].approve())
    assert agent.sessions.get("s").holder is None
    assert agent.sessions.get("s").messages == watched.result.messages
    await agent.run("me too", session="s")
    assert [message.text for message in agent.model.requests[-1].messages if message.role == "user"] == ["go", "me too"]


async def test_what_the_session_keeps_is_what_the_run_began_with():
    agent = watched_agent(calls(call("a", "pay", sum=1)), "Paid.", tools=[pay])
    watched = await Watched.start(agent, session="s", keep="answers")
    await watched.resume(watched.pending["a"].approve())
    assert [message.text for message in agent.sessions.get("s").messages] == ["go", "Paid."]


async def test_giving_up_closes_the_calls_legally_and_frees_the_session():
    agent = watched_agent(calls(call("a", "pay", sum=1), call("b", "pay", sum=2)), "ok", tools=[pay])
    watched = await Watched.start(agent, session="s")
    await watched.resume(watched.pending["a"].approve())
    result = await agent.give_up(watched.state, on_event=watched.made.append)
    assert fold(watched.made) == result.messages
    assert watched.kinds[-2:] == ["tool_ended", "run_ended"]
    assert result.generate_reason == "interrupted"
    assert [one.state for one in result.messages[-1].results] == ["success", "interrupted"]
    assert problems(result.messages) == []
    assert agent.sessions.get("s").holder is None
    assert agent.sessions.get("s").messages == result.messages
    assert len(agent.model.requests) == 1
    with pytest.raises(StateError, match="taken up before"):
        await agent.give_up(watched.state)
    with pytest.raises(StateError, match="has ended as interrupted"):
        await agent.give_up(result.state)


async def test_a_session_object_goes_with_its_own_run_only():
    session = Session("mine")
    agent = watched_agent(calls(call("a", "pay", sum=1)), "Paid.", tools=[pay])
    watched = await Watched.start(agent, session=session)
    with pytest.raises(UsageError, match=r"session is Session\('other', 0 messages\); the run belongs to the session 'mine'"):
        await agent.resume(watched.state, [], session=Session("other"))
    await watched.resume(watched.pending["a"].approve(), session=session)
    assert session.holder is None
    assert len(session.messages) == 4


async def test_where_the_session_is_held_by_another_the_state_stays_good():
    store = MemorySessions()
    agent = watched_agent(calls(call("a", "pay", sum=1)), "ok", tools=[pay], sessions=store)
    watched = await Watched.start(agent, session="s")
    store.forget("s")
    await store.begin("s", "somebody else")
    with pytest.raises(ConflictError):
        await agent.resume(watched.state, [watched.pending["a"].approve()])
    await store.commit("s", "somebody else", ())
    await watched.resume(watched.pending["a"].approve())
    assert watched.result.message.text == "ok"


# ---------------------------------------------------------------------------------------------- ends in the middle


async def test_a_resume_that_is_cancelled_leaves_a_legal_history_and_the_results_that_came():
    started = asyncio.Event()

    @tool(needs_approval=True)
    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    agent = watched_agent(calls(call("a", "pay", sum=1), call("b", "wait")), tools=[pay, wait])
    watched = await Watched.start(agent, session="s")
    a, b = watched.pending["a"], watched.pending["b"]
    await watched.resume(a.approve())
    task = asyncio.create_task(agent.resume(watched.state, [b.approve()], on_event=watched.made.append))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = agent.sessions.get("s").messages
    assert [result.state for result in kept[-1].results] == ["success", "interrupted"]
    assert problems(kept) == []
    assert fold(watched.made) == kept
    assert watched.made[-1].generate_reason == "interrupted"
    assert agent.sessions.get("s").holder is None


async def test_a_timeout_around_a_resume_raises_and_ends_it_legally():
    @tool(needs_approval=True)
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    agent = watched_agent(calls(call("a", "wait")), tools=[wait])
    watched = await Watched.start(agent)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await agent.resume(watched.state, [watched.pending["a"].approve()], on_event=watched.made.append)
    assert fold(watched.made)[-1].results[0].state == "interrupted"


async def test_leaving_a_resume_before_its_first_event_leaves_the_state_good():
    agent, watched = await paused()
    async with agent.resume_stream(watched.state, [watched.pending["a"].approve()]):
        pass
    await watched.resume(watched.pending["a"].approve(), watched.pending["b"].answer({}))
    assert watched.result.message.text == "ok"


async def test_leaving_a_resume_in_the_middle_ends_the_run():
    agent, watched = await paused()
    async with agent.resume_stream(watched.state, [watched.pending["a"].approve()]) as run:
        watched.made.append(await anext(run))
    assert run.result.generate_reason == "interrupted"
    assert problems(run.result.messages) == []


async def test_a_resume_can_be_interrupted():
    started = asyncio.Event()

    @tool(needs_approval=True)
    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    agent = watched_agent(calls(call("a", "wait")), tools=[wait])
    watched = await Watched.start(agent)
    async with agent.resume_stream(watched.state, [watched.pending["a"].approve()]) as run:
        task = asyncio.create_task(run.finish())
        await started.wait()
        run.interrupt()
        result = await task
    assert result.generate_reason == "interrupted"
    assert problems(result.messages) == []


async def test_a_failure_after_a_resume_carries_the_result_and_frees_the_session():
    agent = watched_agent(calls(call("a", "pay", sum=1)), Scripted("Half an answer", slice_chars=4, dies_after=2), tools=[pay])
    watched = await Watched.start(agent, session="s")
    with pytest.raises(ConnectionLostError) as caught:
        await agent.resume(watched.state, [watched.pending["a"].approve()])
    result = caught.value.result
    assert (result.generate_reason, result.message.text, result.run_id) == ("error", "Half an ", watched.result.run_id)
    assert problems(result.messages) == []
    assert agent.sessions.get("s").holder is None


async def test_an_agent_that_no_longer_has_the_tool_tells_the_model():
    _, watched = await paused()
    other = watched_agent("ok", tools=[count])
    await watched.resume(watched.pending["a"].approve(), watched.pending["b"].answer({}), agent=other)
    assert "There is no tool 'pay'" in watched.results()["a"]


class Shed:
    """A source of tools that lives elsewhere."""

    def __init__(self, *tools):
        self.name, self.problem, self.toolset = "shed", None, Toolset()
        self._tools, self.is_open = tools, 0
        self.fails = False

    async def open(self):
        if self.fails:
            raise APIError("the shed is locked")
        self.is_open += 1
        self.toolset = Toolset(self._tools)

    async def aclose(self):
        self.is_open -= 1
        self.toolset = Toolset()


async def test_a_call_of_a_tool_that_lives_elsewhere_is_approved_too():
    shed = Shed(pay)
    agent = watched_agent(calls(call("a", "pay", sum=1)), "ok", tools=[shed])
    watched = await Watched.start(agent)
    assert shed.is_open == 0
    await watched.resume(watched.pending["a"].approve())
    assert watched.results() == {"a": "paid 1"}
    assert shed.is_open == 0
    assert "tools_changed" not in watched.kinds


async def test_where_the_tools_cannot_be_had_the_state_stays_good():
    shed = Shed(pay)
    agent = watched_agent(calls(call("a", "pay", sum=1)), "ok", tools=[shed])
    watched = await Watched.start(agent, session="s")
    shed.fails = True
    with pytest.raises(APIError, match="locked"):
        await agent.resume(watched.state, [watched.pending["a"].approve()])
    shed.fails = False
    await watched.resume(watched.pending["a"].approve())
    assert watched.results() == {"a": "paid 1"}


# ---------------------------------------------------------------------------------------------- the rest of the agent goes on too


@pytest.mark.parametrize(
    "options",
    [{}, {"context": ContextPolicy(max_messages=4, summarize=False)}, {"context": ContextPolicy(max_tokens=150, summarize=False)}],
)
async def test_a_run_that_pauses_sends_what_one_sends_that_does_not(options):
    def script():
        return [calls(f"step {n} " + "word " * 30, call("a", "pay", sum=n), call("b", "pay", sum=9)) for n in range(5)] + ["end"]

    straight = await Watched.start(watched_agent(*script(), tools=[pay], permissions="bypass", instructions="Be brief.", **options))
    paused = await Watched.start(watched_agent(*script(), tools=[pay], instructions="Be brief.", **options))
    while paused.result.is_waiting:
        await paused.resume(paused.pending["b"].approve())
        await paused.resume(paused.pending["a"].approve())
    sent = [
        [[(message.role, message.text, len(message.parts)) for message in request.messages] for request in watched.agent.model.requests]
        for watched in (straight, paused)
    ]
    assert sent[0] == sent[1]
    assert straight.kinds.count("context_compacted") == paused.kinds.count("context_compacted")
    assert (straight.kinds.count("context_compacted") > 0) == bool(options)
    assert straight.results() == paused.results()


async def test_the_time_that_a_person_takes_is_no_time_of_the_run():
    moment = [datetime(2026, 1, 1, tzinfo=UTC)]
    agent = watched_agent(calls(call("a", "pay", sum=1)), "ok", tools=[pay], limits={"time_s": 10}, now=lambda: moment[0])
    watched = await Watched.start(agent)
    moment[0] += timedelta(days=3)
    await watched.resume(watched.pending["a"].approve())
    assert watched.result.generate_reason == "completed"


async def test_a_resumed_run_can_be_steered():
    agent = watched_agent(calls(call("a", "pay", sum=1)), "ok", tools=[pay])
    watched = await Watched.start(agent)
    async with agent.resume_stream(watched.state, watched.pending["a"].approve(), on_event=watched.made.append) as run:
        async for event in run:
            if event.type == "approval_given":
                run.steer("be quick")
    watched.result = run.result
    watched.check()
    assert [message.text for message in watched.result.messages if message.role == "user"] == ["go", "be quick"]


async def test_what_started_early_has_its_result_while_the_rest_waits():
    looked = []

    @tool(idempotent=True)
    def look(at: str) -> str:
        """Look."""
        looked.append(at)
        return f"saw {at}"

    first = calls(call("a", "look", at="x"), call("b", "pay", sum=1), call("c", "look", at="y"))
    watched = await Watched.start(watched_agent(first, "ok", tools=[pay, look], early_start=True))
    assert set(watched.pending) == {"b"}
    await watched.resume(watched.pending["b"].approve())
    assert sorted(looked) == ["x", "y"]
    assert watched.results() == {"a": "saw x", "b": "paid 1", "c": "saw y"}


async def test_a_typed_answer_comes_after_a_pause_too():
    agent = watched_agent(calls(call("a", "pay", sum=1)), '{"paid": 1}', tools=[pay], output_type=dict[str, int])
    watched = await Watched.start(agent)
    assert watched.result.output is None
    await watched.resume(watched.pending["a"].approve())
    assert watched.result.output == {"paid": 1}
    assert watched.result.generate_reason == "structured_output"


async def test_hooks_see_a_run_begin_and_end_once():
    seen = []

    class Watching(Hooks):
        async def before_run(self, here, given):
            seen.append(("before_run", here.run_id))

        async def after_run(self, here, message):
            seen.append(("after_run", message.text))

        async def before_round(self, here):
            seen.append(("before_round", here.round))

    agent = watched_agent(calls(call("a", "pay", sum=1)), "ok", tools=[pay], hooks=[Watching()])
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].approve())
    assert seen == [("before_run", watched.result.run_id), ("before_round", 0), ("before_round", 1), ("after_run", "ok")]
