"""Whatever hooks say, whatever the model says, whatever the limits, and however the run is left: the laws hold."""

from __future__ import annotations

import asyncio
import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.agent import Agent
from headrace.agent.approval import Approve, Deny
from headrace.agent.hooks import Ask, GoOn, Hooks, Retry, Stop, Veto
from headrace.errors import ConnectionLostError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT
from legal_history import chat_problems
from watched import Watched, check, hook


class HookError(Exception):
    """What a hook raises."""


@tool(idempotent=True)
async def look(n: int) -> str:
    """Give two pieces."""
    yield f"piece {n} "
    await asyncio.sleep(0)
    yield "end"


@tool(parallel=False)
async def write(n: int) -> str:
    return f"wrote {n}"


def result_of(here, call):
    return ToolResultPart(call_id=call.id, name=call.name, parts=(TextPart("of the hook"),))


def shorter(here, call, result):
    return msgspec.structs.replace(result, parts=(TextPart("short"),))


def without_tools(here, call):
    return msgspec.structs.replace(call, tools=(), tool_choice="auto")


CALL = ToolCallPart(id="h", name="look", arguments={"n": 9})
SAYS = {
    "before_run": [Stop("s"), [UserMessage("other")]],
    "after_run": [GoOn("more"), GoOn("more")],
    "before_round": [Stop("s")],
    "after_round": [Stop("s")],
    "before_model_call": [Stop("s"), without_tools, AssistantMessage("mine"), AssistantMessage(["mine", CALL])],
    "after_model_call": [Stop("s"), Retry("r"), Retry("r"), AssistantMessage("mine"), AssistantMessage(["mine", CALL])],
    "before_tool_call": [Stop("s"), Veto("v"), Ask("a"), Ask("a", {"n": 7}), {"n": 8}, {"wrong": 1}, result_of],
    "after_tool_call": [Retry("r"), shorter],
}
CALLS = st.builds(
    ToolCallPart,
    id=st.sampled_from(["a", "b", "c", "d"]),
    name=st.sampled_from(["look", "look", "write", "nope"]),
    arguments=st.sampled_from(['{"n": 1}', '{"n": 2}', '{"n"']),
)
ANSWERS = st.builds(
    AssistantMessage,
    st.one_of(
        st.sampled_from([["words"], [], ["and"]]),
        st.lists(CALLS, min_size=1, max_size=3, unique_by=lambda call: call.id).map(lambda calls: ["so ", *calls]),
    ),
    usage=st.builds(Usage, input_tokens=st.sampled_from([0, 10, 50]), output_tokens=st.just(1)),
    finish_reason=st.sampled_from([None, None, None, "length", "content_filter", "error"]),
)


@st.composite
def hooks(draw) -> list[Hooks]:
    """A few hooks, each of which says a few things at its point, mostly nothing; one may raise."""
    listed = []
    for name in draw(st.lists(st.sampled_from(sorted(SAYS)), max_size=4)):
        words = st.sampled_from([None, None, *SAYS[name], *([HookError(name)] if draw(st.integers(0, 5)) == 0 else [])])
        listed.append(hook(name, *draw(st.lists(words, max_size=5))))
    return listed


@given(
    st.lists(ANSWERS, max_size=6),
    hooks(),
    st.integers(1, 4),
    st.sampled_from([None, {"tokens": 60}, {"tool_calls": 2}, {"calls_per_tool": {"look": 1}}, {"tokens": 120, "tool_calls": 4}]),
    st.sampled_from([None, None, 0, 1, 3]),
    st.integers(1, 60),
    st.sampled_from(["read", "read", "leave", "interrupt", "cancel"]),
    st.booleans(),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
async def test_the_laws_hold(  # noqa: PLR0917 - what Hypothesis draws
    answers, hooks, max_rounds, limits, dies_after, at, way, early, yes
):
    answers = [*answers[:-1], *(Scripted(answer, slice_chars=3, dies_after=dies_after) for answer in answers[-1:])]
    model = ScriptedModel(*answers, *["the end"] * 60, slice_chars=4)
    agent = Agent(model, tools=[look, write], max_rounds=max_rounds, limits=limits, hooks=hooks, early_start=early)
    before, made = [], []
    run = agent.stream("go", session="s", on_event=made.append)
    error = await left(run, at, way)
    while run.result.is_waiting:
        check(Watched(run.result, made, error, before))
        before, made, state = [*before, *made], [], run.result
        replies = [(Approve if yes[n % 8] else Deny)(question.call_key, digest=question.digest) for n, question in enumerate(state.pending)]
        run = agent.resume_stream(json.dumps(state.state), replies, on_event=made.append)
        error = await left(run, at, way)
    check(Watched(run.result, made, error, before))
    session = agent.sessions.get("s")
    assert session.holder is None
    assert session.messages == run.result.messages
    assert len([one for one in asyncio.all_tasks() if one.get_name().startswith("headrace")]) == 0
    assert asyncio.current_task().cancelling() == 0
    ran = [event.call_key for event in [*before, *made] if type(event).__name__ == "ToolStarted"]
    assert len(ran) == len(set(ran))
    for request in model.requests:
        assert chat_problems(json.loads(encode_request(request, DEFAULT).body)) == []


async def left(run, at, way):
    """Read a run, or leave it at an event; return what it failed with."""
    number = 0

    async def read():
        nonlocal number
        async with run:
            async for _ in run:
                number += 1
                if number == at and way == "leave":
                    return
                if number == at and way == "interrupt":
                    run.interrupt()
                if number == at and way == "cancel":
                    reading.cancel()

    reading = asyncio.create_task(read())
    await asyncio.wait([reading])
    if reading.cancelled():
        return None
    error = reading.exception()
    assert error is None or isinstance(error, HookError | ConnectionLostError) or type(error).__name__ == "APIError", error
    return error
