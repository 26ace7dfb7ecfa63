"""A history is cut only where no call is parted from its result."""

from __future__ import annotations

import pytest

from headrace.agent.context.cuts import Entry, Pairing, choose_cut
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart, ToolResultPart
from talks import answer, tool_round, user


def places(history):
    """Of each message whether a cut may come before it (s), and whether a turn begins there (t)."""
    pairing = Pairing()
    return "".join("t" if is_turn else "s" if is_start else "-" for is_start, is_turn in map(pairing.feed, history))


def calls(*ids):
    return AssistantMessage([ToolCallPart(id=one, name="f") for one in ids])


def results(*ids):
    return ToolMessage([ToolResultPart(call_id=one) for one in ids])


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([user(1), *tool_round(2, 1, 1), answer(3), user(4)], "ts-st"),
        ([SystemMessage("x"), user(1), UserMessage("go on", origin="framework"), answer(2)], "-tss"),
        ([user(1), calls("a"), user(2), AssistantMessage("wait"), results("a"), answer(3)], "ts---s"),
        ([user(1), calls("a", "b"), results("a"), results("b"), answer(2)], "ts--s"),
        ([user(1), calls("a", "a"), results("a"), user(2), results("a"), user(3)], "ts---t"),
        ([user(1), calls("a"), user(2), calls("b"), results("b"), user(3)], "ts-s-t"),
        ([results("a"), user(1)], "-t"),
    ],
)
def test_a_cut_may_come_where_no_call_is_open(history, expected):
    assert places(history) == expected


def entries(marks, tokens):
    return [Entry(n, user(n), size, mark != "-", mark == "t") for n, (mark, size) in enumerate(zip(marks, tokens, strict=True))]


@pytest.mark.parametrize(
    ("marks", "tokens", "keep_tokens", "keep_messages", "place"),
    [
        ("ts-st", [9, 9, 9, 9, 9], 100, 100, 0),  # all fits
        ("tttt", [9, 9, 9, 9], 20, 100, 2),
        ("tttt", [9, 9, 9, 9], 100, 3, 1),
        ("ts-s-s-", [9, 9, 9, 9, 9, 9, 9], 40, 100, 3),  # within one turn: whole rounds
        ("ts-s-", [9, 9, 9, 9, 900], 40, 100, 3),  # the last round stays however long it is
        ("ts-s-ts-", [9] * 8, 48, 100, 5),  # a turn's beginning that keeps half of what fits is better than a round
        ("ts-s-s-t", [9, 9, 9, 9, 9, 9, 9, 1], 48, 100, 3),  # else the rounds before are worth more
        ("----", [9] * 4, 5, 100, 0),
        ("", [], 5, 5, 0),
    ],
)
def test_as_much_of_the_end_stays_as_fits(marks, tokens, keep_tokens, keep_messages, place):
    assert choose_cut(entries(marks, tokens), keep_tokens, keep_messages) == place


def test_an_entry_is_always_cut_from_its_original():
    message = tool_round(1, 1_000)[1]
    entry = Entry(0, message, 1_020)
    once, twice = entry.capped(300).capped(150), entry.capped(150)
    assert once == twice
    assert once.original is message
    assert twice.capped(500) is twice
    assert entry.capped(5_000) is entry
    assert entry.capped(None) is entry
