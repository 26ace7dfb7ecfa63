"""A run that is watched: events, text, steering, the result."""

from __future__ import annotations

import asyncio

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.fold import fold
from headrace.errors import ConflictError, RateLimitError, StateError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import RefusalPart, TextPart, ToolCallPart
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool


@tool
def add(a: int, b: int) -> int:
    return a + b


CALL = ToolCallPart(id="a", name="add", arguments='{"a": 1, "b": 2}')
ROUND = AssistantMessage([TextPart("Let me add. "), CALL])


async def test_the_events_of_a_run_come_in_the_order_of_the_table():
    agent = Agent(ScriptedModel(ROUND, "3"), tools=[add])
    async with agent.stream("1 + 2?") as run:
        kinds = [type(event).__struct_config__.tag async for event in run]
    assert kinds == [
        *("run_started", "round_started", "text_started", "text_delta", "tool_call_started", "tool_call_arguments"),
        *("text_ended", "tool_call_ended", "round_ended", "tool_started", "tool_output", "tool_ended"),
        *("round_started", "text_started", "text_delta", "text_ended", "round_ended", "run_ended"),
    ]
    assert run.result.message.text == "3"
    assert run.id == run.result.run_id


async def test_the_text_alone_can_be_read():
    model = ScriptedModel(ROUND, AssistantMessage([RefusalPart("no way"), TextPart("It is 3.")]), slice_chars=4)
    async with Agent(model, tools=[add]).stream("1 + 2?") as run:
        pieces = [text async for text in run.text]
    assert "".join(pieces) == "Let me add. It is 3."
    assert len(pieces) > 2
    assert run.result.message.refusal == "no way"


async def test_a_failure_is_raised_after_error_and_run_ended_and_once():
    seen = []
    async with Agent(ScriptedModel(RateLimitError("busy"))).stream("go") as run:
        with pytest.raises(RateLimitError) as caught:  # noqa: PT012 - reading is what raises
            async for event in run:
                seen.append(type(event).__name__)  # noqa: PERF401 - what was seen before the error counts
        assert [event async for event in run] == []
    assert seen[-2:] == ["ErrorRaised", "RunEnded"]
    assert caught.value.result is run.result
    assert run.result.generate_reason == "error"


async def test_words_that_steer_go_in_before_the_next_model_call():
    model = ScriptedModel(ROUND, "ok")
    async with Agent(model, tools=[add]).stream("go") as run:
        seen = []
        async for event in run:
            seen.append(event)
            if isinstance(event, events.ToolStarted):
                run.steer("in French")
                run.steer(UserMessage("and short"))
    assert [message.text for message in model.requests[1].messages[-2:]] == ["in French", "and short"]
    assert [message.role for message in run.result.messages] == ["user", "assistant", "tool", "user", "user", "assistant"]
    assert [event.message.origin for event in seen if isinstance(event, events.ReminderAdded)] == ["user", "user"]
    assert fold(seen) == run.result.messages


async def test_words_that_come_while_the_model_answers_lead_to_another_round():
    model = ScriptedModel("bonjour", "hello", slice_chars=3)
    async with Agent(model).stream("go") as run:
        seen = []
        async for event in run:
            seen.append(event)
            if isinstance(event, events.TextDelta) and event.round == 1 and event.text == "bon":
                run.steer("in English")
    assert [message.text for message in run.result.messages] == ["go", "bonjour", "in English", "hello"]
    assert [event.is_final for event in seen if isinstance(event, events.RoundEnded)] == [False, True]
    assert fold(seen) == run.result.messages
    assert run.result.undelivered == ()


async def test_words_that_come_after_the_final_answer_are_refused():
    async with Agent(ScriptedModel("done")).stream("go") as run:
        async for event in run:
            if isinstance(event, events.RoundEnded):
                with pytest.raises(StateError, match="final answer"):
                    run.steer("wait")
    with pytest.raises(StateError, match="final answer"):
        run.steer("wait")


async def test_words_that_came_too_late_for_the_forced_answer_are_handed_back():
    model = ScriptedModel(ROUND, "so far", slice_chars=3)
    async with Agent(model, tools=[add], max_rounds=1).stream("go") as run:
        async for event in run:
            if isinstance(event, events.TextDelta) and event.round == 2:
                run.steer(f"late {event.text}")
    assert run.result.generate_reason == "max_rounds"
    assert [message.text for message in run.result.undelivered] == ["late so ", "late far"]


async def test_steering_that_comes_while_an_answer_is_interrupted_is_handed_back():
    async with Agent(ScriptedModel("bonjour", slice_chars=3)).stream("go") as run:
        async for event in run:
            if isinstance(event, events.TextDelta):
                run.steer("wait")
                run.interrupt()
    assert [message.text for message in run.result.undelivered] == ["wait"]


async def test_there_is_no_result_before_the_end_or_without_a_beginning():
    run = Agent(ScriptedModel("x")).stream("go")
    with pytest.raises(StateError, match="is not over"):
        _ = run.result
    async with run:
        pass
    with pytest.raises(StateError, match="never began"):
        _ = run.result
    run.interrupt()


async def test_a_run_is_read_inside_its_block_and_opened_once():
    run = Agent(ScriptedModel("x")).stream("go")
    with pytest.raises(StateError, match="inside its block"):
        aiter(run)
    async with run:
        assert (await run.finish()).output == "x"
    with pytest.raises(StateError, match="opened once"):
        async with run:
            pass


async def test_a_session_that_another_run_holds_refuses_this_one_before_it_begins():
    agent = Agent(ScriptedModel("x", "y"))
    seen = []
    async with agent.stream("go", session="s") as first:
        await anext(aiter(first))
        async with agent.stream("go", session="s", on_event=seen.append) as second:
            with pytest.raises(ConflictError):
                await second.finish()
            with pytest.raises(StateError, match="never began"):
                _ = second.result
        await first.finish()
    assert seen == []


async def test_many_runs_of_one_agent_at_the_same_time_do_not_mix():
    async def echo(request):
        await asyncio.sleep(0)
        return request.messages[-1].text

    agent = Agent(ScriptedModel(*[echo] * 50))
    results = await asyncio.gather(*(agent.run(f"n{n}") for n in range(50)))
    assert [result.output for result in results] == [f"n{n}" for n in range(50)]
    assert len({result.run_id for result in results}) == 50
