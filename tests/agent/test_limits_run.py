"""The limits of a run, seen from outside: each says so once and ends in order, and whatever the run causes counts."""

from __future__ import annotations

import asyncio
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.hooks import GoOn, Retry
from headrace.errors import ConnectionLostError, MissingExtraError, UsageError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import ToolCallPart
from headrace.messages.usage import Usage
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from watched import hook, watch, watch_resumed


class Clock:
    """A clock that stands still until somebody moves it on."""

    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.now

    def move(self, seconds):
        self.now += timedelta(seconds=seconds)


@tool
async def look(n: int = 0) -> str:
    return f"seen {n}"


@tool
async def find(n: int = 0) -> str:
    return f"found {n}"


def call(call_id="a", name="look", arguments='{"n": 1}'):
    return ToolCallPart(id=call_id, name=name, arguments=arguments)


def asking(*calls, tokens=0, **fields):
    return AssistantMessage([*(calls or [call()])], usage=Usage(input_tokens=tokens, output_tokens=0), **fields)


def saying(text="end", tokens=0, **fields):
    return AssistantMessage(text, usage=Usage(input_tokens=tokens, output_tokens=0), **fields)


def agent_of(*answers, tools=(look, find), model_id="scripted:model", **options):
    return Agent(ScriptedModel(*answers, id=model_id), tools=tools, **options)


def limits_of(watched):
    return [(event.which, event.limit, event.tool) for event in watched.of(events.LimitReached)]


def assert_forced(agent, watched, reason="limit"):
    """The last request forbade calls, and what came was the answer."""
    assert watched.error is None
    assert watched.result.generate_reason == reason
    assert agent.model.requests[-1].tool_choice == "none"
    assert [request.tool_choice for request in agent.model.requests[:-1]] == ["auto"] * (len(agent.model.requests) - 1)
    assert agent.model.requests[-1].tools, "they are still declared"
    assert watched.result.output == "end"


# ---------------------------------------------------------------------------------------------- each limit


async def test_rounds_run_in_full_and_then_comes_the_forced_answer():
    agent = agent_of(asking(), asking(), saying(), max_rounds=2)
    watched = await watch(agent)
    assert_forced(agent, watched, "max_rounds")
    assert limits_of(watched) == [("rounds", 2, "")]
    assert [result.state for result in watched.results] == ["success", "success"]


async def test_calls_beyond_the_limit_of_all_calls_are_not_run_and_the_answer_is_forced():
    agent = agent_of(asking(call("a"), call("b"), call("c")), saying(), limits={"tool_calls": 2})
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert limits_of(watched) == [("tool_calls", 2, "")]
    assert [result.state for result in watched.results] == ["success", "success", "not_run"]
    assert watched.results[2].text == "Not run: the limit of 2 tool calls is reached."
    assert len(watched.of(events.ToolStarted)) == 2


async def test_calls_of_one_tool_beyond_its_limit_are_not_run_and_the_run_goes_on():
    both = asking(call("a"), call("b"), call("c", "find"))
    agent = agent_of(both, asking(call("d")), saying(), limits={"calls_per_tool": {"look": 1}})
    watched = await watch(agent)
    assert watched.result.generate_reason == "completed"
    assert limits_of(watched) == [("tool_calls", 1, "look")]
    assert [result.state for result in watched.results] == ["success", "not_run", "success", "not_run"]
    assert [request.tool_choice for request in agent.model.requests] == ["auto"] * 3


async def test_tokens_are_looked_at_between_model_calls():
    agent = agent_of(asking(tokens=100), saying(tokens=50), limits={"tokens": 100})
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert limits_of(watched) == [("tokens", 100, "")]
    assert [result.state for result in watched.results] == ["success"], "tools use no tokens"


async def test_the_answer_that_goes_over_a_limit_is_not_spoilt_by_it():
    watched = await watch(agent_of(saying(tokens=10_000), limits={"tokens": 100}))
    assert watched.result.generate_reason == "completed"
    assert limits_of(watched) == []


async def test_cost_counts_by_the_list_prices_of_the_model():
    pytest.importorskip("genai_prices", reason="the extra is missing: pip install 'headrace[prices]'")
    million = Usage(input_tokens=1_000_000, output_tokens=0)  # 0.15 dollars
    asked = AssistantMessage([call()], usage=million)
    agent = agent_of(asked, asked.replace(), saying(), model_id="openai:gpt-4o-mini", limits={"cost_usd": 0.2})
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert limits_of(watched) == [("cost", 0.2, "")]
    assert len(agent.model.requests) == 3


async def test_a_limit_on_cost_without_prices_is_refused_at_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(MissingExtraError, match="prices"):
        agent_of("x", limits={"cost_usd": 1})


async def test_limits_are_those_of_a_run_and_not_of_a_session():
    agent = agent_of(asking(tokens=60), saying(tokens=10), asking(tokens=60), saying(tokens=10), limits={"tokens": 100})
    for _ in range(2):
        assert (await watch(agent)).result.generate_reason == "completed"


async def test_where_two_limits_are_reached_at_once_one_is_said():
    agent = agent_of(asking(tokens=100), saying(), max_rounds=1, limits={"tokens": 100, "tool_calls": 1})
    watched = await watch(agent)
    assert_forced(agent, watched, "max_rounds")
    assert limits_of(watched) == [("rounds", 1, "")]


@pytest.mark.parametrize(
    "forced",
    [AssistantMessage([call("z")]), ConnectionLostError("gone"), "", Scripted("half", slice_chars=2, dies_after=1)],
    ids=lambda value: type(value).__name__,
)
async def test_whatever_becomes_of_a_forced_answer_it_ends_the_run_and_the_limit_is_said_once(forced):
    watched = await watch(agent_of(asking(tokens=100), forced, limits={"tokens": 100}))
    assert watched.error is None
    assert watched.result.generate_reason == "limit"
    assert limits_of(watched) == [("tokens", 100, "")]
    assert [result.state for result in watched.results] in (["success"], ["success", "not_run"])


async def test_a_forced_answer_that_a_hook_sends_back_is_asked_for_again_and_the_limit_is_said_once():
    agent = agent_of(asking(tokens=100), saying("bad"), saying(), limits={"tokens": 100}, hooks=hook("after_model_call", None, Retry()))
    watched = await watch(agent)
    assert watched.result.generate_reason == "limit"
    assert watched.result.output == "end"
    assert [request.tool_choice for request in agent.model.requests] == ["auto", "none", "none"]
    assert limits_of(watched) == [("tokens", 100, "")]


# ---------------------------------------------------------------------------------------------- time


async def test_a_tool_that_hangs_is_cancelled_when_the_time_is_up_and_its_result_says_so():
    cancelled = []

    @tool
    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    both = asking(call("a", "hang", "{}"), call("b"))
    agent = agent_of(both, saying(), tools=[hang, look], limits={"time_s": 0.03})
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert limits_of(watched) == [("time", 0.03, "")]
    assert [result.state for result in watched.results] == ["timed_out", "success"]
    assert watched.results[0].text == (
        "Stopped while it ran, since the limit of 0.03 seconds is reached; what it had done by then is not known."
    )
    assert cancelled == [True]


async def test_the_time_of_the_event_loop_counts_also_where_the_given_clock_stands_still():
    @tool
    async def hang() -> str:
        await asyncio.Event().wait()
        return ""

    agent = agent_of(asking(call("a", "hang", "{}")), saying(), tools=[hang], limits={"time_s": 0.01}, now=Clock())
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert [result.state for result in watched.results] == ["timed_out"]


async def test_calls_that_had_no_turn_before_the_time_was_up_are_not_run():
    @tool(parallel=False)
    async def hang() -> str:
        await asyncio.Event().wait()
        return ""

    both = asking(call("a", "hang", "{}"), call("b", "hang", "{}"))
    watched = await watch(agent_of(both, saying(), tools=[hang], limits={"time_s": 0.01}))
    assert [result.state for result in watched.results] == ["timed_out", "not_run"]
    assert watched.results[1].text == "Not run: the limit of 0.01 seconds is reached."


async def test_an_interrupt_before_the_time_is_up_says_that_it_was_one():
    begun = asyncio.Event()

    @tool
    async def hang() -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    agent = agent_of(asking(call("a", "hang", "{}")), tools=[hang], limits={"time_s": 60})
    async with agent.stream("go") as run:

        async def stop():
            await begun.wait()
            run.interrupt()

        stopper = asyncio.create_task(stop())
        result = await run.finish()
        await stopper
    assert [part.state for part in result.messages[-1].results] == ["interrupted"]


async def test_time_goes_by_the_clock_that_is_given():
    clock = Clock()

    @tool
    async def work() -> str:
        clock.move(40)
        return "worked"

    answers = [asking(call("a", "work", "{}")), asking(call("b", "work", "{}")), saying()]
    agent = agent_of(*answers, tools=[work], limits={"time_s": 60}, now=clock)
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert [result.state for result in watched.results] == ["success", "success"]
    assert watched.of(events.LimitReached)[0].at == clock.now


async def test_an_answer_that_was_asked_for_in_time_is_not_spoilt_when_the_time_is_up_meanwhile():
    clock = Clock()

    def late(answer):
        def answer_late(request):
            clock.move(100)
            return answer

        return answer_late

    watched = await watch(agent_of(late(saying()), limits={"time_s": 60}, now=clock))
    assert watched.result.generate_reason == "completed"
    assert limits_of(watched) == []


async def test_calls_of_an_answer_that_came_when_the_time_was_up_are_not_run():
    clock = Clock()

    def late(request):
        clock.move(100)
        return asking()

    agent = agent_of(late, saying(), limits={"time_s": 60}, now=clock)
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert [result.text for result in watched.results] == ["Not run: the limit of 60 seconds is reached."]


async def test_the_time_before_the_first_event_and_over_a_pause_does_not_count():
    clock = Clock()

    @tool(needs_approval=True)
    async def pay() -> str:
        clock.move(30)
        return "paid"

    answers = [asking(call("a", "pay", "{}")), asking(call("b", "pay", "{}")), saying()]
    agent = agent_of(*answers, tools=[pay], limits={"time_s": 50}, now=clock)
    run = agent.stream("go", session="s")
    clock.move(1000)
    async with run:
        first = await run.finish()
    clock.move(1000)
    second = await agent.resume(first.state, [Approve(first.pending[0].call_key)])
    assert second.is_waiting, "30 of 50 seconds"
    clock.move(1000)
    third = await agent.resume(second.state, [Approve(second.pending[0].call_key)])
    assert third.generate_reason == "limit"
    assert [request.tool_choice for request in agent.model.requests] == ["auto", "auto", "none"]


async def test_a_clock_that_is_set_back_gives_no_time_back():
    clock = Clock()

    @tool
    async def work() -> str:
        clock.move(-1000)
        return "worked"

    watched = await watch(agent_of(asking(call("a", "work", "{}")), saying(), tools=[work], limits={"time_s": 60}, now=clock))
    assert watched.result.generate_reason == "completed"


async def test_a_sync_tool_that_hangs_does_not_hold_the_run_beyond_its_time():
    release = threading.Event()

    @tool
    def hang() -> str:
        release.wait(10)
        return ""

    try:
        watched = await watch(agent_of(asking(call("a", "hang", "{}")), saying(), tools=[hang], limits={"time_s": 0.02}))
    finally:
        release.set()
    assert [result.state for result in watched.results] == ["timed_out"]
    assert watched.result.generate_reason == "limit"


# ---------------------------------------------------------------------------------------------- whatever the run causes


def sub_agent(*answers, name="ask", **options):
    return Agent(ScriptedModel(*answers, **options)).as_tool(name, "Ask somebody.")


TASK = '{"task": "t"}'


async def test_what_a_sub_agent_used_counts_for_the_limits_of_the_outer_run():
    agent = agent_of(
        asking(call("a", "ask", TASK), tokens=10), saying(), tools=[sub_agent(saying("inner", tokens=90))], limits={"tokens": 100}
    )
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert watched.result.usage.input_tokens == 100
    assert limits_of(watched) == [("tokens", 100, "")]


async def test_what_a_sub_agent_of_a_sub_agent_used_counts_once():
    for limit, reason in ((70, "limit"), (71, "completed")):
        innermost = sub_agent(saying("innermost", tokens=40))
        middle = Agent(ScriptedModel(asking(call("b", "ask", TASK), tokens=10), saying("middle", tokens=10)), tools=[innermost])
        outer = agent_of(
            asking(call("a", "ask", TASK), tokens=10), saying(), tools=[middle.as_tool("ask", "Ask.")], limits={"tokens": limit}
        )
        watched = await watch(outer)
        assert watched.result.generate_reason == reason
        assert watched.result.usage.input_tokens == 70


async def test_what_a_sub_agent_cost_counts_by_the_prices_of_its_own_model():
    pytest.importorskip("genai_prices", reason="the extra is missing: pip install 'headrace[prices]'")
    cheap = sub_agent(saying("inner", tokens=1_000_000), id="openai:gpt-4o-mini")
    dear = sub_agent(saying("inner", tokens=1_000_000, model="gpt-4o"), id="openai:gpt-4o")
    for inner, reason in ((cheap, "completed"), (dear, "limit")):
        agent = agent_of(asking(call("a", "ask", TASK)), saying(), tools=[inner], model_id="openai:gpt-4o-mini", limits={"cost_usd": 2})
        assert (await watch(agent)).result.generate_reason == reason


async def test_what_a_sub_agent_used_before_a_pause_still_counts_after_it_and_once():
    @tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    for limit, reason in ((100, "limit"), (101, "completed")):
        inner = Agent(ScriptedModel(asking(call("p", "pay", "{}"), tokens=60), saying("inner", tokens=30)), tools=[pay])
        agent = agent_of(
            asking(call("a", "ask", TASK), tokens=10), saying(), tools=[inner.as_tool("ask", "Ask.")], limits={"tokens": limit}
        )
        first = await watch(agent)
        assert first.result.is_waiting
        second = await watch_resumed(agent, first, [Approve(first.result.pending[0].call_key)])
        assert second.result.generate_reason == reason
        assert second.result.usage.input_tokens == 100


async def test_what_a_discarded_answer_used_counts_and_the_next_one_is_forced():
    """The answer that is asked for again must not be judged by a limit that the request did not know of."""
    answers = [saying("bad", tokens=100), asking(call("z"))]
    agent = agent_of(*answers, limits={"tokens": 100}, hooks=hook("after_model_call", Retry("no")))
    watched = await watch(agent)
    assert watched.result.generate_reason == "limit"
    assert [request.tool_choice for request in agent.model.requests] == ["auto", "none"]
    assert [result.state for result in watched.results] == ["not_run"]
    assert limits_of(watched) == [("tokens", 100, "")]
    assert watched.types == ["RunStarted", "RoundStarted", "AttemptDiscarded", "LimitReached", "RoundEnded", "ToolEnded", "RunEnded"]


async def test_a_hook_that_sends_answers_back_without_end_is_bounded_by_tokens():
    agent = agent_of(
        *[saying("bad", tokens=30)] * 3, saying(), limits={"tokens": 90}, hooks=hook("after_model_call", Retry(), Retry(), Retry())
    )
    watched = await watch(agent)
    assert watched.result.generate_reason == "limit"
    assert [request.tool_choice for request in agent.model.requests] == ["auto", "auto", "auto", "none"]


async def test_a_hook_that_always_wants_more_is_bounded_by_tokens_where_rounds_are_not():
    agent = agent_of(*[saying("more", tokens=30)] * 9, max_rounds=None, limits={"tokens": 90}, hooks=hook("after_run", always=GoOn("more")))
    watched = await watch(agent)
    assert watched.result.generate_reason == "limit"
    assert len(agent.model.requests) == 4


async def test_what_a_summary_used_counts_and_the_answer_after_it_is_forced_and_says_so():
    summary = ScriptedModel(saying("a summary", tokens=100))
    policy = ContextPolicy(max_tokens=600, summary_model=summary)
    history = [
        one.replace(id=f"{one.id}{n}")
        for n in range(3)
        for one in (UserMessage("word " * 500, id="u"), AssistantMessage("word " * 500, id="a", finish_reason="stop"))
    ]
    agent = agent_of(saying(), context=policy, limits={"tokens": 100})
    watched = await watch(agent, history=history)
    assert watched.of(events.ContextCompacted)
    assert_forced(agent, watched)
    assert limits_of(watched) == [("tokens", 100, "")]


async def test_what_no_message_tells_is_in_the_state_and_counts_in_another_process():
    @tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    answers = [saying("bad", tokens=60), asking(call("a", "pay", "{}"), tokens=40)]
    limited = {"limits": {"tokens": 100}, "tools": [pay]}
    first = await watch(agent_of(*answers, hooks=hook("after_model_call", Retry()), **limited))
    assert first.result.state["open"]["beside_tokens"] == 60
    other = agent_of(saying(), **limited)
    second = await watch_resumed(other, first, [Approve(first.result.pending[0].call_key)], session=None)
    assert second.result.generate_reason == "limit"
    assert second.result.usage.input_tokens == 100


async def test_limits_bound_a_sub_agent_by_itself_as_well():
    inner = Agent(ScriptedModel(asking(call("b"), tokens=50), saying("inner end")), tools=[look], limits={"tokens": 50})
    agent = agent_of(asking(call("a", "ask", TASK)), saying(), tools=[inner.as_tool("ask", "Ask.")])
    watched = await watch(agent)
    assert watched.result.generate_reason == "completed"
    assert watched.results[0].text == "inner end\n[the agent ended as limit]"


# ---------------------------------------------------------------------------------------------- what is given


async def test_a_price_of_one_s_own_needs_no_list(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    agent = agent_of(
        asking(tokens=30), asking(tokens=30), saying(), limits={"cost_usd": 0.5}, price=lambda answer: answer.usage.total_tokens / 100
    )
    watched = await watch(agent)
    assert_forced(agent, watched)
    assert limits_of(watched) == [("cost", 0.5, "")]


async def test_a_model_whose_price_is_not_known_is_said_where_cost_is_limited(caplog):
    agent = agent_of(saying(model="mine"), limits={"cost_usd": 0.5}, price=lambda answer: None)
    await watch(agent)
    assert "no price is known of mine: it counted as free" in caplog.text
    caplog.clear()
    await watch(agent_of(saying(model="mine")))
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"price": 3}, "price is a int"),
        ({"limits": {"calls_per_tool": {"lok": 1}}}, "names 'lok'; the tools are: look, find"),
        ({"limits": {"token": 3}}, "limits has no field 'token'"),
        ({"limits": 5}, "limits is a int"),
    ],
)
def test_what_is_no_limit_is_refused_when_the_agent_is_made(given, words):
    with pytest.raises(UsageError, match=words):
        agent_of("x", **given)


async def test_a_call_that_waits_for_somebody_when_the_time_is_up_is_not_run():
    @tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    @tool
    async def hang() -> str:
        await asyncio.Event().wait()
        return ""

    answers = [asking(call("a", "hang", "{}"), call("b", "pay", "{}")), saying()]
    watched = await watch(agent_of(*answers, tools=[hang, pay], limits={"time_s": 0.01}))
    assert watched.result.generate_reason == "limit"
    assert [result.state for result in watched.results] == ["timed_out", "not_run"]
    assert watched.result.pending == ()
