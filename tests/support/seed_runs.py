"""Runs of agents for the tests of the peers' cases, each checked for what holds for every run."""

from __future__ import annotations

import json

import pytest

from headrace.agent import events
from headrace.agent.fold import fold
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import ToolCallFragment
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT
from legal_history import chat_problems, problems

FAMILIES = ("Text", "Reasoning", "ToolCall")


def chunks(*pieces, finish="tool_calls"):
    """Chunks of an answer: a text is text, a tuple (id, name, arguments, index) is a fragment of a call; a finish reason ends it."""
    made = [
        AssistantMessageChunk(piece) if isinstance(piece, str) else AssistantMessageChunk(tool_calls=[ToolCallFragment(*piece)])
        for piece in pieces
    ]
    return [*made, AssistantMessageChunk(finish_reason=finish)]


def call(call_id, name="note", arguments='{"a": 1}'):
    return ToolCallPart(id=call_id, name=name, arguments=arguments)


def asks(*parts, **fields):
    """An answer of texts and calls."""
    return AssistantMessage([TextPart(part) if isinstance(part, str) else part for part in parts], **fields)


def call_list(message):
    """The calls of a message as (id, name, arguments)."""
    return [(one.id, one.name, one.arguments) for one in message.tool_calls]


def of(made, *kinds):
    """The events of these classes."""
    return [event for event in made if isinstance(event, kinds)]


def types(made):
    return [event.type for event in made]


async def run(agent, given="go", **options):
    """Run to the end; returns the result and the events."""
    made = []
    result = await agent.run(given, on_event=made.append, **options)
    check(made, result)
    return result, made


async def go_on(agent, result, answers=(), before=(), **options):
    """Resume a run from its state as JSON text; returns the result and all events of the run."""
    made = list(before)
    result = await agent.resume(json.dumps(result.state), answers, on_event=made.append, **options)
    check(made, result)
    return result, made


async def fail(agent, error, given="go", **options):
    """Run to an error; returns it and the events."""
    made = []
    with pytest.raises(error) as caught:
        await agent.run(given, on_event=made.append, **options)
    check(made, caught.value.result)
    return caught.value, made


def check(made, result):
    """Events count up, name one run, end each block that they start, and make the messages, which are a legal history."""
    assert [event.seq for event in made] == list(range(1, len(made) + 1))
    assert {event.run_id for event in made} == {result.run_id}
    assert sum(isinstance(event, events.RunStarted) for event in made) == 1
    assert isinstance(made[-1], events.RunEnded)
    assert made[-1].generate_reason == result.generate_reason
    assert fold(made) == result.messages
    if not result.is_waiting:
        assert problems(result.messages) == []
    for family in FAMILIES:
        started = [_block(event) for event in made if type(event).__name__ == f"{family}Started"]
        ended = [_block(event) for event in made if type(event).__name__ == f"{family}Ended"]
        assert sorted(started) == sorted(ended)
        assert len(set(started)) == len(started)


def _block(event):
    return event.call_key if hasattr(event, "call_key") else f"{event.message_id}/{event.part}"


def check_requests(model):
    """A strict server would have taken every request."""
    for request in model.requests:
        assert chat_problems(json.loads(encode_request(request, DEFAULT).body)) == []
