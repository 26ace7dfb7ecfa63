"""Runs an agent, and checks what holds for every run: events and messages agree, blocks that start end, the history is legal."""

from __future__ import annotations

import json
from collections import Counter

from headrace.agent import events
from headrace.agent.fold import fold
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT
from legal_history import chat_problems, problems


async def run_checked(agent, given="go", **options):
    """Run; return the result and the events."""
    made = []
    result = await agent.run(given, on_event=made.append, **options)
    check_run(made, result)
    return result, made


async def failed_run(agent, kind, given="go", **options):
    """Run an agent that fails; return the error and the events."""
    made = []
    try:
        await agent.run(given, on_event=made.append, **options)
    except kind as error:
        check_run(made, error.result)
        return error, made
    raise AssertionError(f"no {kind.__name__} was raised")


def check_run(made, result):
    """Check the events of one run from its beginning to an end or a pause."""
    assert [event.seq for event in made] == list(range(1, len(made) + 1))
    assert isinstance(made[0], events.RunStarted)
    assert isinstance(made[-1], events.RunEnded)
    assert sum(isinstance(event, events.RunEnded) for event in made) == 1
    assert made[-1].generate_reason == result.generate_reason
    if not result.is_waiting:
        assert fold(made) == result.messages
        assert problems(result.messages) == []
    counts = Counter(type(event).__name__ for event in made)
    for family in ("Text", "Reasoning", "ToolCall", "Round"):
        assert counts[f"{family}Started"] == counts[f"{family}Ended"]
    started = [event.call_key for event in made if isinstance(event, events.ToolStarted)]
    assert len(started) == len(set(started))


def sent(request):
    """Return a scripted request as a strict Chat Completions server sees it."""
    body = json.loads(encode_request(request, DEFAULT).body)
    assert chat_problems(body) == []
    return body
