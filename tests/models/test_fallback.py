"""`FallbackModel` from outside: a model like any other, in an agent too."""

from __future__ import annotations

import pytest

from chat_bytes import StillClock, text_stream
from headrace.agent.agent import Agent
from headrace.errors import (
    ConfigError,
    ConnectionLostError,
    OverloadedError,
    UsageError,
)
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart
from headrace.models.fallback import FallbackModel
from headrace.models.model import Model
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel

NO_RETRY = RetryPolicy(max_retries=0)
BUSY = OverloadedError("busy", retryable=True)


def scripted(name, *answers):
    return ScriptedModel(*answers, id=f"{name}:m")


def over(name, *answers, **fields):
    bodies = [Recorded(body=b"".join(one)) if isinstance(one, list) else one for one in answers]
    replay = ReplayTransport(bodies)
    fields = {"base_url": f"http://{name}.test/v1", "clock": StillClock(), "environ": {}, **fields}
    return Model("openai-chat:m-1", transport=replay, **fields), replay


def dying(text):
    return Scripted(text, slice_chars=3, dies_after=2)


async def test_the_first_model_answers_alone_while_it_can():
    first, second = scripted("a", "one", "two"), scripted("b", "never")
    model = FallbackModel(first, second)
    assert [(await model.request("hi")).text for _ in range(2)] == ["one", "two"]
    assert second.requests == []


async def test_every_request_begins_with_the_first_model_again():
    first, second = scripted("a", BUSY, "back again"), scripted("b", "for once")
    model = FallbackModel(first, second)
    messages = [await model.request("hi") for _ in range(2)]
    assert [(message.text, message.provider) for message in messages] == [("for once", "b"), ("back again", "a")]


def test_what_the_first_model_cannot_take_is_said_at_once():
    first, _ = over("a", profile={"unsupported_settings": ["n"]})
    with pytest.raises(UsageError):
        FallbackModel(first, scripted("b", "x")).stream("hi", settings={"n": 2})
    with pytest.raises(UsageError):
        FallbackModel(scripted("a", "x")).stream(7)


async def test_models_made_from_ids_are_closed_and_others_stay_open():
    given, _ = over("a", text_stream("still"))
    async with FallbackModel("ollama:llama3", given) as model:
        made = model.models[0]
    assert (await given.request("hi")).text == "still"
    with pytest.raises(UsageError, match="closed"):
        await made.request("hi")


def test_it_looks_like_a_model():
    model = FallbackModel(scripted("a"), scripted("b"))
    assert (model.id, model.provider, repr(model)) == ("a:m|b:m", "a", "FallbackModel('a:m', 'b:m')")
    assert FallbackModel(scripted("a"), id="mine").id == "mine"


@pytest.mark.parametrize(
    ("models", "fields", "kind", "argument"),
    [
        ((), {}, UsageError, "models"),
        ((7,), {}, UsageError, "models[0]"),
        (("nobody:x",), {}, ConfigError, "model"),
        ((ScriptedModel(),), {"falls_over": ["sometimes"]}, ConfigError, "falls_over"),
        ((ScriptedModel(),), {"falls_over": "auth"}, ConfigError, "falls_over"),
    ],
)
def test_what_is_wrong_is_said_at_construction(models, fields, kind, argument):
    with pytest.raises(kind) as caught:
        FallbackModel(*models, **fields)
    assert caught.value.argument == argument


async def test_an_agent_goes_on_with_the_next_model_and_its_events_say_what_is_void():
    call = AssistantMessage([ToolCallPart(id="c1", name="clock", arguments='{"city": "Rome"}')])
    first = scripted("a", call, dying("It is three"), "never")
    second = scripted("b", "It is noon")

    def clock(city: str) -> str:
        """Tell the time."""
        return f"noon in {city}"

    agent = Agent(FallbackModel(first, second, after_first_chunk=True), tools=[clock])
    async with agent.stream("What time is it?") as run:
        events = [one async for one in run]
    assert run.result.message.text == "It is noon"
    assert [message.provider for message in run.result.messages if isinstance(message, AssistantMessage)] == ["a", "b"]
    at = next(n for n, one in enumerate(events) if one.type == "attempt_discarded")
    assert "".join(one.text for one in events[at:] if one.type == "text_delta") == "It is noon"
    assert [message.role for message in second.requests[0].messages] == ["user", "assistant", "tool"]


async def test_an_agents_run_fails_with_the_last_error_and_keeps_what_came():
    first, second = scripted("a", BUSY), scripted("b", dying("It is three"))
    with pytest.raises(ConnectionLostError) as caught:
        await Agent(FallbackModel(first, second, after_first_chunk=True)).run("hi")
    assert caught.value.result.messages[-1].text == "It is "
