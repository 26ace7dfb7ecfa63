"""What is said about the end of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import pytest

from headrace.agent import events
from headrace.cli.run_wording import end_words, note_of
from headrace.messages.fields import GenerateReason
from headrace.messages.message import UserMessage
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
