"""A typed answer while it streams: values that only grow, from text and from calls, without what was said in vain."""

from __future__ import annotations

import json
from contextlib import nullcontext
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from headrace.agent.agent import Agent
from headrace.errors import ConnectionLostError, OutputValidationError, StateError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.models.answer import AttemptDiscarded
from headrace.models.script import Scripted, chunks_of
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from headrace.wire.profile import Profile
from run_checks import check_run

STORY = {"title": "The river", "lines": ["It began in the hills, as a thread of water. " * 4, "Then it met the mill. " * 5, "The end."]}
MODES = {
    "native": Profile(),
    "tool": Profile(output_formats=()),
    "prompted": Profile(output_formats=(), tool_choices=()),
}


class Story(BaseModel):
    """A story."""

    title: str
    lines: list[str]


@tool
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


def answer_in(mode, value=STORY, **fields):
    if mode == "tool":
        return AssistantMessage([ToolCallPart(id="c1", name="final_answer", arguments=value)], **fields)
    return AssistantMessage(json.dumps(value), **fields)


def begun(message):
    """Return the chunks of an answer that dies before its end."""
    return list(chunks_of(message))[:-1]


async def partials(agent, error=None):
    """Read a run's values; return them and the result. Events and messages must agree."""
    values, made = [], []
    async with agent.stream("go", on_event=made.append) as run:
        with nullcontext() if error is None else pytest.raises(error):
            await read(run, values)
    check_run(made, run.result)
    return values, run.result


async def read(run, values):
    async for value in run.partial_outputs:
        values.append(value)


def is_part_of(part, whole):
    """Return whether one value is another as far as it has come."""
    match part, whole:
        case dict(), dict():
            return all(key in whole and is_part_of(value, whole[key]) for key, value in part.items())
        case list(), list():
            return len(part) <= len(whole) and all(is_part_of(one, other) for one, other in zip(part, whole, strict=False))
        case str(), str():
            return whole.startswith(part)
        case _:
            return part == whole


def agent_of(mode, *answers, output_type=Story, **fields):
    return Agent(ScriptedModel(*answers, profile=MODES[mode]), output_type=output_type, **fields)


@pytest.mark.parametrize("mode", MODES)
@given(st.integers(1, 60))
async def test_values_grow_up_to_the_answer(mode, slice_chars):
    values, result = await partials(agent_of(mode, Scripted(answer_in(mode), slice_chars)))
    assert values[-1] == STORY
    assert result.output == Story(**STORY)
    assert all(is_part_of(one, other) for one, other in pairwise(values))
    assert all(one != other for one, other in pairwise(values))
    assert len(values) <= 12


@pytest.mark.parametrize("mode", MODES)
async def test_something_is_seen_before_the_end(mode):
    values, _ = await partials(agent_of(mode, Scripted(answer_in(mode), 8)))
    assert values[0] != STORY
    assert len(values) >= 4


@pytest.mark.parametrize("mode", MODES)
async def test_rounds_of_tools_before_it_show_nothing(mode):
    first = AssistantMessage([TextPart("I look. "), ToolCallPart(id="a", name="look", arguments={"n": 1})])
    values, _ = await partials(agent_of(mode, first, answer_in(mode), tools=[look]))
    assert values[-1] == STORY
    assert all(set(value) <= set(STORY) for value in values)


@pytest.mark.parametrize("mode", MODES)
async def test_a_discarded_attempt_is_forgotten_and_the_next_begins_anew(mode):
    other = {"title": "Another", "lines": ["x" * 200]}
    script = [*begun(answer_in(mode, other)), AttemptDiscarded(1, "it broke"), *chunks_of(answer_in(mode))]
    values, _ = await partials(agent_of(mode, script))
    assert values[0]["title"] == "Another"
    assert values[-1] == STORY
    anew = next(n for n, value in enumerate(values) if value["title"] != "Another")
    assert all(is_part_of(value, STORY) for value in values[anew:])


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_that_does_not_fit_is_seen_and_then_the_one_that_does(mode):
    wrong = {"title": "Wrong", "lines": "none at all"}
    values, _ = await partials(agent_of(mode, answer_in(mode, wrong), answer_in(mode)))
    assert values[0] == wrong
    assert values[-1] == STORY


async def test_a_run_that_fails_raises_after_what_could_be_seen():
    values, result = await partials(agent_of("native", Scripted(answer_in("native"), 8, dies_after=12)), ConnectionLostError)
    assert values
    assert result.output is None
    wrong = answer_in("native", {"title": 1})
    values, result = await partials(agent_of("native", wrong, wrong, wrong), OutputValidationError)
    assert values == [{"title": 1}] * len(values)
    assert result.output is None


async def test_a_type_that_is_no_object_is_shown_without_what_it_travels_in():
    numbers = list(range(100, 140))
    for mode in MODES:
        agent = agent_of(mode, Scripted(answer_in(mode, {"items": numbers}), 5), output_type=list[int])
        values, result = await partials(agent)
        assert values[-1] == result.output == numbers
        assert all(value == numbers[: len(value)] for value in values)


async def test_of_a_union_each_tool_shows_its_own():
    class Other(BaseModel):
        """Something else."""

        why: str

    call = ToolCallPart(id="a", name="final_answer_Other", arguments={"why": "because " * 20})
    agent = agent_of("tool", Scripted(AssistantMessage([call]), 6), output_type=Story | Other)
    values, result = await partials(agent)
    assert type(result.output) is Other
    assert all(set(value) <= {"why"} for value in values)


async def test_true_after_one_is_another_value():
    script = [*begun(AssistantMessage('{"value": 1}')), AttemptDiscarded(1, "x"), *chunks_of(AssistantMessage('{"value": true}'))]
    values, _ = await partials(agent_of("native", script, output_type=bool | int))
    assert [repr(value) for value in values] == ["1", "True"]


async def test_what_is_given_out_can_be_changed_without_harm():
    async with agent_of("native", answer_in("native")).stream("go") as run:
        async for value in run.partial_outputs:
            value["title"] = "mine"
    assert run.result.message.structured_output == STORY


async def test_an_agent_without_a_type_has_none():
    async with Agent(ScriptedModel("x")).stream("go") as run:
        with pytest.raises(StateError, match=r"read run\.text"):
            run.partial_outputs  # noqa: B018 - looking is what raises
