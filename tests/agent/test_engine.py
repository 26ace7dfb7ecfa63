"""A run is left at every place where it can be left: interrupted, cancelled, abandoned, timed out."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.fold import fold
from headrace.errors import HeadraceError, StateError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT
from legal_history import chat_problems, problems

ANSWERS = st.lists(
    st.builds(
        AssistantMessage,
        st.lists(
            st.one_of(
                st.builds(TextPart, st.sampled_from(["some words", " ", "x"])),
                st.builds(ReasoningPart, st.sampled_from(["", "thinking"]), signature=st.sampled_from([None, "sig"])),
                st.builds(RefusalPart, st.just("no")),
                st.builds(
                    ToolCallPart,
                    id=st.sampled_from(["a", "b", "c"]),
                    name=st.sampled_from(["look", "count", "nope", ""]),
                    arguments=st.sampled_from(['{"n": 1}', "{}", '{"n"', "[]", ""]),
                ),
                st.just(JsonPart({"a": 1})),
            ),
            max_size=4,
            unique_by=lambda part: (type(part).__name__, getattr(part, "id", None)),
        ),
        finish_reason=st.sampled_from([None, "stop", "length", "content_filter", "pause", "error", "other"]),
    ),
    max_size=8,
)


@given(
    ANSWERS,
    st.integers(1, 4),
    st.sampled_from([None, None, 0, 1, 2, 5]),
    st.integers(1, 120),
    st.sampled_from(["read", "leave", "interrupt"]),
)
async def test_whatever_a_model_says_and_however_the_run_is_left_the_history_is_legal(answers, max_rounds, dies_after, at, way):
    answers = [*answers[:-1], *(Scripted(answer, slice_chars=2, dies_after=dies_after) for answer in answers[-1:])]
    model = ScriptedModel(*answers, *["the end"] * 20, slice_chars=3)
    agent = Agent(model, tools=[look, count], max_rounds=max_rounds)
    made, seen = [], []
    async with agent.stream("go", session="s", on_event=made.append) as run:
        with contextlib.suppress(HeadraceError):
            async for event in run:
                seen.append(event)
                if len(seen) == at and way == "leave":
                    break
                if len(seen) == at and way == "interrupt":
                    run.interrupt()
    check(made, run.result, agent, model)
    assert made[: len(seen)] == seen
    await check_next(agent, model)


@tool
async def look(n: int) -> str:
    """Give two pieces, letting others run."""
    yield f"piece {n} "
    await asyncio.sleep(0)
    yield "end"


@tool(parallel=False)
def count(n: int) -> int:
    return n


def call(call_id, name="look", arguments='{"n": 1}'):
    return ToolCallPart(id=call_id, name=name, arguments=arguments)


def script():
    """Three rounds: reasoning, text and calls; an empty answer with its reminder; the answer."""
    return [
        AssistantMessage([ReasoningPart("hm", signature="s"), TextPart("let me see"), call("a"), call("b"), call("c", "nope")]),
        AssistantMessage([call("a", "count"), TextPart("and"), call("b")]),
        "",
        "that is it",
        "next",
    ]


def agent_and_model():
    model = ScriptedModel(*script(), slice_chars=4)
    return Agent(model, tools=[look, count], max_parallel_tools=2), model


async def number_of_events():
    agent, _ = agent_and_model()
    made = []
    await agent.run("go", on_event=made.append)
    return len(made)


def check(made, result, agent, model):
    """Whatever happened: events and messages agree, the history is legal, the session holds it."""
    assert [event.seq for event in made] == list(range(1, len(made) + 1))
    assert isinstance(made[-1], events.RunEnded)
    assert sum(isinstance(event, events.RunEnded) for event in made) == 1
    assert made[-1].generate_reason == result.generate_reason
    assert fold(made) == result.messages
    assert problems(result.messages) == []
    assert agent.sessions.get("s").messages == result.messages
    for family in ("Text", "Reasoning", "ToolCall"):
        started = [event for event in made if type(event).__name__ == f"{family}Started"]
        ended = [event for event in made if type(event).__name__ == f"{family}Ended"]
        assert len(started) == len(ended)
    ran = [event.call_key for event in made if isinstance(event, events.ToolStarted)]
    assert len(ran) == len(set(ran))


async def check_next(agent, model):
    """The conversation can go on: a strict server takes the next request."""
    model._answers = ["next"] * 20
    assert (await agent.run("go on", session="s")).output == "next"
    for request in model.requests:
        assert chat_problems(json.loads(encode_request(request, DEFAULT).body)) == []


def is_answered(made):
    """Whether the final answer was given in full."""
    return any(isinstance(event, events.RoundEnded) and event.message and event.message.generate_reason == "completed" for event in made)


async def test_an_interrupt_at_every_event_leaves_a_legal_history_and_ends_the_run_well():
    for at in range(1, await number_of_events() + 1):
        agent, model = agent_and_model()
        made, seen = [], []
        async with agent.stream("go", session="s", on_event=made.append) as run:
            async for event in run:
                seen.append(event)
                if len(seen) == at:
                    run.interrupt()
        assert seen == made
        check(made, run.result, agent, model)
        assert run.result.generate_reason == ("completed" if is_answered(made) else "interrupted"), at
        await check_next(agent, model)


async def test_leaving_at_every_event_leaves_a_legal_history():
    for at in range(1, await number_of_events() + 1):
        agent, model = agent_and_model()
        made, seen = [], 0
        async with agent.stream("go", session="s", on_event=made.append) as run:
            async for _ in run:
                seen += 1
                if seen == at:
                    break
        check(made, run.result, agent, model)
        assert len(made) >= at
        await check_next(agent, model)


async def test_an_exception_in_the_block_at_every_event_leaves_a_legal_history_and_passes_through():
    for at in range(1, await number_of_events() + 1, 3):
        agent, model = agent_and_model()
        made, seen = [], 0
        with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the block of the run is what is tested
            async with agent.stream("go", session="s", on_event=made.append) as run:
                async for _ in run:
                    seen += 1
                    if seen == at:
                        raise ZeroDivisionError
        check(made, run.result, agent, model)


async def test_cancelling_the_reader_at_every_event_leaves_a_legal_history_and_is_raised():
    for at in range(1, await number_of_events() + 1):
        agent, model = agent_and_model()
        made, reached, runs = [], asyncio.Event(), []

        async def read(agent=agent, made=made, reached=reached, runs=runs, at=at):
            async with agent.stream("go", session="s", on_event=made.append) as run:
                runs.append(run)
                async for event in run:
                    if event.seq == at:
                        reached.set()
                        await asyncio.Event().wait()

        task = asyncio.create_task(read())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        check(made, runs[0].result, agent, model)
        await check_next(agent, model)


async def test_cancelling_while_the_run_waits_at_every_event_leaves_a_legal_history_and_is_raised():
    for at in range(1, await number_of_events()):
        agent, model = agent_and_model()
        made = []

        def on_event(event, made=made, at=at):
            made.append(event)
            if event.seq == at:
                asyncio.current_task().cancel()

        task = asyncio.create_task(agent.run("go", session="s", on_event=on_event))
        await asyncio.wait([task])
        # A cancellation that comes with the last step has nothing left to stop.
        assert task.cancelled() or is_answered(made)
        stored = agent.sessions.get("s").messages
        assert fold(made) == stored
        assert problems(stored) == []
        await check_next(agent, model)


async def test_an_interrupt_while_the_model_is_silent_ends_the_run_at_once():
    gate = asyncio.Event()
    model = ScriptedModel(Scripted("half a sentence", slice_chars=4, gates={2: gate}))
    agent = Agent(model)
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as run:
        async for event in run:
            if isinstance(event, events.TextDelta) and event.text == " a s":
                asyncio.get_running_loop().call_soon(run.interrupt)
    assert run.result.generate_reason == run.result.message.generate_reason == "interrupted"
    assert run.result.message.text == "half a s"
    assert asyncio.current_task().cancelling() == 0
    check(made, run.result, agent, model)


async def test_an_interrupt_while_tools_run_cancels_and_awaits_them_and_keeps_what_had_ended():
    begun, cleaned = asyncio.Event(), []

    @tool
    async def quick() -> str:
        return "quick"

    @tool
    async def hang() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    model = ScriptedModel(AssistantMessage([call("a", "quick", "{}"), call("b", "hang", "{}"), call("c", "hang", "{}")]))
    agent = Agent(model, tools=[quick, hang], max_parallel_tools=2)
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as run:

        async def stop():
            await begun.wait()
            run.interrupt()
            run.interrupt()

        stopper = asyncio.create_task(stop())
        async for _ in run:
            pass
        await stopper
    assert [part.state for part in run.result.messages[-1].results] == ["success", "interrupted", "interrupted"]
    assert "while it ran" in run.result.messages[-1].results[1].text
    assert cleaned
    assert all(cleaned)
    check(made, run.result, agent, model)


async def test_an_interrupt_from_a_tool_of_the_run_works():
    runs = []

    @tool
    async def stop() -> str:
        runs[0].interrupt()
        await asyncio.Event().wait()

    model = ScriptedModel(AssistantMessage([call("a", "stop", "{}")]))
    agent = Agent(model, tools=[stop])
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as run:
        runs.append(run)
        await run.finish()
    assert run.result.generate_reason == "interrupted"
    check(made, run.result, agent, model)


async def test_an_interrupt_from_an_event_hook_does_not_cancel_the_hook_s_own_task():
    agent, model = agent_and_model()
    runs, made = [], []

    def on_event(event):
        made.append(event)
        if isinstance(event, events.TextDelta):
            runs[0].interrupt()

    async with agent.stream("go", session="s", on_event=on_event) as run:
        runs.append(run)
        await run.finish()
    assert asyncio.current_task().cancelling() == 0
    assert run.result.generate_reason == "interrupted"
    check(made, run.result, agent, model)


async def test_an_interrupt_and_a_cancellation_at_once_are_a_cancellation():
    gate, begun = asyncio.Event(), asyncio.Event()

    async def wait(request):
        begun.set()
        await gate.wait()

    agent = Agent(ScriptedModel(wait))
    run = agent.stream("go", session="s")

    async def read():
        async with run:
            await run.finish()

    task = asyncio.create_task(read())
    await begun.wait()
    run.interrupt()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.result.generate_reason == "interrupted"
    assert [message.text for message in run.result.messages] == ["go"]


async def test_a_timeout_around_a_run_raises_and_keeps_what_came():
    gate = asyncio.Event()
    agent = Agent(ScriptedModel(Scripted("half a sentence", slice_chars=4, gates={2: gate}), "ok"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await agent.run("go", session="s")
    kept = agent.sessions.get("s").messages
    assert [(message.text, getattr(message, "generate_reason", None)) for message in kept] == [("go", None), ("half a s", "interrupted")]
    assert (await agent.run("again", session="s")).output == "ok"


async def test_a_second_cancellation_during_the_clean_up_still_leaves_a_legal_history():
    begun, cleaning, release, over = (asyncio.Event() for _ in range(4))

    @tool
    async def slow() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
            over.set()

    model = ScriptedModel(AssistantMessage([call("a", "slow", "{}")]), "ok")
    agent = Agent(model, tools=[slow])
    made = []
    task = asyncio.create_task(agent.run("go", session="s", on_event=made.append))
    await begun.wait()
    task.cancel()
    await cleaning.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stored = agent.sessions.get("s").messages
    assert fold(made) == stored
    assert problems(stored) == []
    assert stored[-1].results[0].state == "interrupted"
    release.set()
    await over.wait()


async def test_a_run_that_is_left_after_an_answer_that_failed_ends_as_an_error():
    answer = AssistantMessage([TextPart("half"), call("a")], finish_reason="error")
    agent = Agent(ScriptedModel(answer), tools=[look])
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as run:
        async for event in run:
            if isinstance(event, events.RoundEnded):
                break
    assert run.result.generate_reason == "error"
    assert [part.state for part in run.result.messages[-1].results] == ["not_run"]
    assert fold(made) == run.result.messages


async def test_a_step_after_the_end_is_wrong_use():
    run = Agent(ScriptedModel("x")).stream("go")
    async with run:
        await run.finish()
    with pytest.raises(StateError, match="is over"):
        await run._engine.step()


async def test_a_run_that_was_left_before_it_began_holds_nothing():
    agent, model = agent_and_model()
    async with agent.stream("go", session="s"):
        pass
    assert model.requests == []
    await agent.run("go", session="s")


async def test_what_a_stream_still_held_back_when_it_was_left_does_not_count():
    """Bytes that the decoder has but nobody was shown are in neither the events nor the message."""
    body = b'data: {"choices":[{"delta":{"content":"one "}}]}\n\ndata: {"choices":[{"delta":{"content":"two"}}]}\n\n'
    agent = Agent(ScriptedModel([body, asyncio.Event()]))
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as run:
        async for event in run:
            if isinstance(event, events.TextDelta):
                break
    assert run.result.message.text == "one "
    assert fold(made) == run.result.messages
