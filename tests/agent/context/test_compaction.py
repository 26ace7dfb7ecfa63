"""A model is asked for a summary in any legal way, and whatever it writes is read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemini_histories import HISTORIES
from headrace.agent.context.compaction import SECTIONS, Summary, compaction_request, read_summary
from headrace.agent.context.estimate import estimate_tokens
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart, ProviderToolPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from talks import answer, tool_round, user

FULL = Summary(goal="Sell it.", facts="- price: 9 EUR", done="Called look.", open="Who buys?", next_step="Ask Ada.", other="Note.")


def test_the_request_holds_the_transcript_and_asks_for_the_sections():
    look = AssistantMessage([ReasoningPart("hmm"), TextPart("Let me look."), ToolCallPart(id="c", name="look", arguments={"q": "x"})])
    found = ToolMessage("cold", call_id="c", name="look", state="error")
    image = UserMessage(["See:", MediaPart(kind="image", data=b"x", name="a.png")])
    searched = AssistantMessage([ProviderToolPart(name="search", arguments='{"q":1}', result=["hit"]), RefusalPart("no")])
    system, asked = compaction_request([user(1, 0), look, found, image, searched])
    assert all(f"## {title}" in system.text for title in SECTIONS.values())
    lines = [line for line in asked.text.splitlines() if line]
    assert lines[1:-2] == [
        "[user] Question 1. ",
        "[assistant] Let me look.",
        '[call look] {"q":"x"}',
        "[result look, error] cold",
        "[user] See:",
        "[user, image: a.png]",
        '[call search] {"q":1} gave ["hit"]',
        "[assistant] no",
    ]
    assert (lines[0], lines[-2], lines[-1]) == ("<transcript>", "</transcript>", "Write the summary now.")
    assert asked.origin == "framework"


def test_an_earlier_summary_goes_in_to_be_carried_on():
    system, asked = compaction_request([user(2)], previous="They sell a house.")
    assert asked.text.startswith("<earlier_summary>\nThey sell a house.\n</earlier_summary>")
    assert "carry on" in system.text


def test_a_long_result_is_cut_first():
    _, asked = compaction_request([user(1, 20), *tool_round(2, 50_000), answer(3, 20)], limit_tokens=2_000)
    assert user(1, 20).text in asked.text
    assert answer(3, 20).text in asked.text
    assert "characters left out here" in asked.text


def test_of_very_many_messages_the_beginning_and_the_end_are_shown():
    talk = [message for n in range(2_000) for message in (user(n, 30), answer(n, 30))]
    system, asked = compaction_request(talk, limit_tokens=4_000)
    assert estimate_tokens([system, asked]) <= 4_000
    assert "Question 0." in asked.text
    assert "Answer 1999." in asked.text
    assert "pieces left out here" in asked.text


@given(HISTORIES, st.none() | st.text(max_size=3_000), st.integers(800, 3_000))
def test_any_history_can_be_summarised_within_the_limit(history, previous, limit):
    system, asked = compaction_request(history, previous=previous, limit_tokens=limit)
    assert isinstance(system, SystemMessage)
    assert estimate_tokens([system, asked]) <= limit


@pytest.mark.parametrize("limit", [0, 100, 400])
def test_a_limit_below_the_instructions_still_gives_a_request(limit):
    _, asked = compaction_request([user(1, 500), answer(2, 500)], limit_tokens=limit)
    assert asked.text.endswith("Write the summary now.")


def test_a_summary_is_read_as_it_was_written():
    assert read_summary(AssistantMessage(FULL.text)) == FULL


@given(st.builds(Summary, **{name: st.text("ab\n,", max_size=9).map(str.strip) for name in (*SECTIONS, "other")}))
def test_writing_and_reading_give_the_same(summary):
    assert read_summary(summary.text) == (summary or None)


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ("## Goel\nx", "goal"),  # misspelled
        ("# GOAL:\nx", "goal"),
        ("**Goal**\nx", "goal"),
        ("**Goal:**\nx", "goal"),
        ("### 1. Goal ###\nx", "goal"),
        ("Goal: x", "goal"),
        ("1. Goal: x", "goal"),
        ("Goal\nx", "goal"),
        ("## Facts & desicions\nx", "facts"),
        ("## Key Facts\nx", "facts"),
        ("## What was done\nx", "done"),
        ("## Open questions\nx", "open"),
        ("## Next Steps\nx", "next_step"),
        ("x", "other"),
    ],
)
def test_a_heading_is_found_by_likeness(written, field):
    assert read_summary(written) == Summary(**{field: "x"})


def test_an_unknown_section_is_kept_and_a_missing_one_is_empty():
    summary = read_summary("## Goal\nSell it.\n## Weather\nCold.\n## Done\nNothing: yet.")
    assert summary == Summary(goal="Sell it.", other="## Weather\nCold.", done="Nothing: yet.")
    assert summary.next_step == ""


@given(st.text(st.sampled_from("xyz #*:-1.\n"), max_size=80))
def test_whatever_is_written_is_read_and_no_word_is_lost(text):
    summary = read_summary(text)
    words = re.findall("[xyz]+", text)
    assert re.findall("[xyz]+", summary.text if summary is not None else "") == words


@pytest.mark.parametrize(
    "answered",
    [
        AssistantMessage(""),
        AssistantMessage(" \n"),
        AssistantMessage("## Goal\n## Done\n"),
        AssistantMessage([RefusalPart("no")]),
        AssistantMessage("half", finish_reason="content_filter"),
        AssistantMessage("half", finish_reason="error"),
        AssistantMessage([ReasoningPart("hmm")]),
    ],
)
def test_no_summary_is_none(answered):
    assert read_summary(answered) is None
