"""A conversation made shorter on request."""

from __future__ import annotations

import pytest

from headrace.cli.compacting import shortened_by
from headrace.errors import ContextLengthError, ModelOutputError
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart
from headrace.models.scripted import ScriptedModel
from legal_history import problems

CALL = ToolCallPart(id="c", name="find", arguments={})


def talk(turns, *, words=30):
    return [
        message
        for n in range(turns)
        for message in (UserMessage(f"question {n} " * words, id=f"q{n}"), AssistantMessage([f"answer {n} " * words], id=f"a{n}"))
    ]


async def test_all_but_the_end_becomes_a_summary():
    messages = talk(4)
    short = await shortened_by(ScriptedModel("## Goal\nTo know."), messages)
    assert short.messages[1:] == tuple(messages[-2:])
    assert "To know." in short.messages[0].text
    assert (short.compacted.messages_before, short.compacted.messages_after) == (8, 3)
    assert short.compacted.tokens_after < short.compacted.tokens_before
    assert problems(short.messages) == []


async def test_no_call_is_parted_from_its_result():
    turn = [UserMessage("Find it.", id="q"), AssistantMessage([CALL], id="c"), ToolMessage("found", call_id="c", id="r")]
    messages = [*talk(3), *turn, AssistantMessage(["Here."], id="a")]
    short = await shortened_by(ScriptedModel("## Goal\nTo know."), messages)
    assert problems(short.messages) == []
    assert any(message.text == "Find it." for message in short.messages)


async def test_a_short_conversation_stays_and_no_model_is_asked():
    model = ScriptedModel()
    assert await shortened_by(model, []) is None
    assert await shortened_by(model, talk(1)) is None


async def test_an_empty_summary_changes_nothing():
    with pytest.raises(ModelOutputError, match="no summary"):
        await shortened_by(ScriptedModel(" "), talk(4))


async def test_a_transcript_that_is_too_long_for_the_model_is_asked_about_in_part():
    model = ScriptedModel(ContextLengthError("too long"), "## Goal\nTo know.")
    short = await shortened_by(model, talk(40, words=200))
    first, second = model.requests
    assert len(second.messages[-1].text) < len(first.messages[-1].text)
    assert "To know." in short.messages[0].text
    assert problems(short.messages) == []
