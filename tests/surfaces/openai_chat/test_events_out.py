"""A run as an answer of Chat Completions: what a client puts together of it is what the run said."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from agent_world_strategies import worlds
from headrace.decoding import decode_stream
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import MediaPart, RefusalPart, TextPart
from headrace.surfaces.openai_chat.chunks import RunChunks
from headrace.surfaces.openai_chat.events_out import ChatOut, ChatWhole
from headrace.wire.server_side import AnswerOptions, Head
from surface_runs import (
    SCENARIOS,
    Played,
    call,
    calls,
    check_resuming,
    interrupted,
    said,
    steered,
    with_error,
    with_external,
    with_question,
    with_tool,
    with_void,
    world_legs,
)  # fmt: skip

HEAD = Head(id="7", model="my-agent")


def out(options=None, **chunks):
    return ChatOut(HEAD, options, chunks=RunChunks(**chunks))


def stream_of(leg, earlier=(), **chunks):
    return b"".join(said(out(**chunks), leg, earlier=earlier))


def read(data):
    """Read a stream as the vendor's models and our own decoder do."""
    forms = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
    for form in forms:
        if "error" not in form:
            ChatCompletionChunk.model_validate(form, strict=True)
    result = decode_stream(data, protocol="openai-chat")
    assert [warning.code for warning in result.warnings] == []
    return result


def shown(played, leg=-1, **chunks):
    log = played.legs
    leg %= len(log)
    return read(stream_of(log[leg], [event for one in log[:leg] for event in one], **chunks))


def whole(played, **chunks):
    body = ChatWhole(HEAD, chunks=RunChunks(**chunks))
    for event in played.legs[0]:
        body.feed(event)
    return body


@given(worlds(), st.sampled_from(["no", "reasoning"]), st.booleans(), st.integers(0, 500), st.integers(0, 500))
def test_every_run_is_an_answer(world, shows_tools, holds_text, cut, seen):
    log = world_legs(world)
    chunks = {"shows_tools": shows_tools, "holds_text": holds_text}
    for n, leg in enumerate(log):
        result = read(stream_of(leg, [event for one in log[:n] for event in one], **chunks))
        ended = leg[-1]
        if ended.generate_reason in ("error", "interrupted"):
            assert result.error is not None
            continue
        assert result.error is None
        external = [pending.call.id for pending in ended.pending if pending.kind == "external"]
        assert [part.id for part in result.message.tool_calls] == external or len(set(external)) < len(external)
    check_resuming(lambda: out(**chunks), log, cut, seen)


@given(worlds(), st.integers(0, 500))
def test_a_stream_that_breaks_off_is_an_error(world, cut):
    leg = world_legs(world)[0]
    head = leg[: cut % (len(leg) + 1)]
    result = decode_stream(stream_of(head), protocol="openai-chat")
    assert result.error is not None or head == leg


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_streamed_and_whole_are_the_same_answer(scenario):
    played = scenario()
    body = whole(played)
    streamed = shown(played, leg=0)
    if body.error is not None:
        assert streamed.error.message == body.error.message
        return
    ChatCompletion.model_validate_json(body.body, strict=True)
    other = decode_stream(body.body, protocol="openai-chat")
    assert other.message.text == streamed.message.text
    made = [[(part.id, part.name, part.arguments) for part in message.tool_calls] for message in (other.message, streamed.message)]
    assert made[0] == made[1]
    assert other.message.finish_reason == streamed.message.finish_reason
    assert (other.message.usage and other.message.usage.counts()) == (streamed.message.usage and streamed.message.usage.counts())


def test_a_run_with_a_tool():
    message = shown(with_tool()).message
    assert (message.text, message.reasoning, message.finish_reason) == ("Let me look. \n\nCold.", "hm", "stop")
    assert (message.usage.input_tokens, message.usage.output_tokens, message.model) == (3, 2, "my-agent")
    message = shown(with_tool(), shows_tools="reasoning").message
    assert message.reasoning == 'hm\n[weather] {"city":"Oslo"}\n\n[weather] Oslo: snow\n'
    assert shown(with_tool(), shows_reasoning=False).message.reasoning == ""
    long = Played(calls(call("weather", city="x" * 5000)), "Ok.")
    assert len(shown(long, shows_tools="reasoning").message.reasoning) < 5000


def test_usage_comes_if_it_was_asked_for():
    data = b"".join(said(out(AnswerOptions(includes_usage=False)), with_tool().legs[0]))
    assert b'"usage"' not in data
    assert data.endswith(b"data: [DONE]\n\n")


def test_a_call_that_the_client_runs_is_a_call_of_the_answer():
    message = shown(with_external()).message
    (made,) = message.tool_calls
    assert (made.name, made.arguments, message.finish_reason, message.text) == ("look", '{"at":"page"}', "tool_calls", "I look.")


def test_a_question_is_said_in_words_or_not_at_all():
    assert shown(with_question()).message.text == '[pay waits for a person\'s answer (pay needs approval): {"to":"Ada","euros":30}]'
    assert shown(with_question(), is_asking=False).message.text == ""


def test_what_is_void_is_held_back_or_cannot_be_taken_back():
    assert shown(with_void(), holds_text=True).message.text == "right"
    assert shown(with_void()).message.text == "wrong\n\nright"


def test_ends():
    assert "slow down" in shown(with_error()).error.message
    assert shown(interrupted()).error.code == "interrupted"
    assert shown(Played(AssistantMessage("so far", finish_reason="length"))).message.finish_reason == "length"
    assert shown(steered()).message.text.endswith("Oui.")


def test_refusals_and_media():
    message = shown(
        Played(AssistantMessage([RefusalPart("No."), TextPart("Look."), MediaPart(kind="image", url="https://e.example/x.png")]))
    ).message
    assert (message.text, message.first(RefusalPart).text, message.first(MediaPart).url) == ("Look.", "No.", "https://e.example/x.png")
