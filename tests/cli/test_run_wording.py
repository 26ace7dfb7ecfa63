"""What is said about the end of a run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from headrace.agent import events
from headrace.agent.approval import Answer, Approve, Deny, Pending
from headrace.cli.run_wording import Progress, end_words, note_of, waiting_words
from headrace.messages.fields import GenerateReason
from headrace.messages.message import UserMessage
from headrace.messages.parts import ToolCallPart
from headrace.messages.usage import Usage

AT = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize("reason", get_args(GenerateReason))
def test_every_reason_has_its_words_and_only_a_plain_end_needs_none(reason):
    words = end_words(events.RunEnded(9, "run", 2, AT, reason, None, Usage()))
    assert words.startswith("2 rounds")
    assert (words == "2 rounds") == (reason in {"completed", "structured_output"})


def test_words_that_steered_are_told_from_a_reminder():
    assert note_of(events.ReminderAdded(1, "run", 1, AT, UserMessage("Shorter."))) == "steered: Shorter."


def test_a_shortened_context_is_said():
    assert note_of(events.ContextCompacted(1, "run", 1, AT, 80, 12)) == "context shortened from 80 to 12 messages"


def test_most_events_need_no_note():
    assert note_of(events.RoundStarted(1, "run", 1, AT, "m")) == ""
    assert note_of(events.RoundEnded(1, "run", 1, AT, None, None, True)) == ""


def test_tools_that_changed_are_named_with_what_is_wrong():
    assert note_of(events.ToolsChanged(1, "run", 1, AT, ("a", "b"))) == "tools now: a, b"
    assert note_of(events.ToolsChanged(1, "run", 1, AT, (), "files: gone")) == "tools now: none (files: gone)"


def test_a_limit_names_the_tool_that_it_is_for():
    assert note_of(events.LimitReached(1, "run", 1, AT, "cost", 0.5)) == "limit reached: cost (0.5)"
    assert note_of(events.LimitReached(1, "run", 1, AT, "tool_calls", 3, "find")) == "limit reached: tool_calls of find (3)"


@pytest.mark.parametrize(
    ("kind", "path", "words"),
    [
        ("approval", (), 'waits for approval: find {"a": 1}'),
        ("external", (), 'waits for a result from elsewhere: find {"a": 1}'),
        ("in_doubt", (), 'in doubt, it may have run before: find {"a": 1}'),
        ("approval", ("o/0",), 'waits for approval (inside a sub-agent): find {"a": 1}'),
    ],
)
def test_what_waits_is_said_with_what_it_waits_for(kind, path, words):
    call = ToolCallPart(id="c", name="find", arguments='{"a":\n 1}')
    assert waiting_words(Pending(kind, "m/0", call, "digest", path=path)) == words


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Approve("m/0"), "approved"),
        (Approve("m/0", {"a": 1}), "approved with other arguments"),
        (Deny("m/0"), "denied"),
        (Deny("m/0", "mine"), "denied: mine"),
        (Answer("m/0", 3), "answered"),
        (Answer("m/0", "no", is_error=True), "answered with an error"),
    ],
)
def test_an_answer_is_said(reply, words):
    assert note_of(events.ApprovalGiven(1, "run", 1, AT, reply)) == words


def progress(*given):
    """Say how far a tool is: each of (seconds, words, done, total)."""
    said = Progress()
    return [said.feed(events.ToolProgress(1, "run", 1, AT + timedelta(seconds=s), "m/0", *rest)) for s, *rest in given]


def test_progress_is_said_with_other_words_a_second_later_and_at_its_end():
    given = [(0, "load", 1, 9), (0.5, "load", 2, 9), (1.1, "load", 3, 9), (1.2, "parse", 4, 9), (1.3, "parse", 5, 9), (1.4, "parse", 9, 9)]
    assert progress(*given) == ["load (1/9)", "", "load (3/9)", "parse (4/9)", "", "parse (9/9)"]


def test_progress_may_have_no_number_or_nothing_but_one():
    assert progress((0, "load", None, None), (2, "", 3, None)) == ["load", "3"]
