"""Neighbouring deltas as one event: readers make the same of it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from headrace.agent import events
from headrace.agent.fold import fold
from headrace.sessions.coalesce import coalesced, is_slight

AT = datetime(2026, 1, 1, tzinfo=UTC)


def text(seq: int, said: str, part: int = 0, message: str = "m") -> events.TextDelta:
    return events.TextDelta(seq, "r", 1, AT, message, part, said)


def thought(seq: int, said: str) -> events.ReasoningDelta:
    return events.ReasoningDelta(seq, "r", 1, AT, "m", 1, said)


def arguments(seq: int, said: str, key: str = "m/0") -> events.ToolCallArguments:
    return events.ToolCallArguments(seq, "r", 1, AT, key, said)


def inside(seq: int, event: events.Event, key: str = "m/0") -> events.SubRun:
    return events.SubRun(seq, "r", 1, AT, key, event)


def test_neighbours_of_one_part_are_one_with_the_last_number():
    assert coalesced([text(1, "a"), text(2, "b"), text(5, "c")]) == [text(5, "abc")]


def test_what_stands_between_keeps_them_apart():
    given_ = [text(1, "a"), thought(2, "t"), text(3, "b"), text(4, "c", part=2), text(5, "d", message="n")]
    assert coalesced(given_) == given_


def test_arguments_of_two_calls_stay_apart():
    assert coalesced([arguments(1, "{"), arguments(2, "}"), arguments(3, "{", "m/1")]) == [arguments(2, "{}"), arguments(3, "{", "m/1")]


def test_what_an_agent_inside_says_is_joined_inside():
    joined = coalesced([inside(7, text(1, "a")), inside(8, text(2, "b"))])
    assert joined == [inside(8, text(2, "ab"))]
    apart = [inside(7, text(1, "a")), inside(8, text(2, "b"), "m/1")]
    assert coalesced(apart) == apart


def test_only_what_says_how_far_a_part_has_come_is_slight():
    assert is_slight(text(1, "a"))
    assert is_slight(inside(1, inside(2, arguments(1, "{"))))
    assert not is_slight(events.ToolStarted(1, "r", 1, AT, "m/0"))
    assert not is_slight(inside(1, events.ToolStarted(1, "r", 1, AT, "m/0")))


PIECES = st.lists(st.tuples(st.sampled_from(["text", "thought", "call"]), st.text(max_size=3)), max_size=40)


@given(pieces=PIECES, cuts=st.lists(st.integers(0, 60), max_size=5))
def test_the_fold_is_the_same_however_the_log_was_cut(pieces, cuts):
    begun = [
        events.RunStarted(1, "r", 0, AT, ()),
        events.RoundStarted(2, "r", 1, AT, "model"),
        events.TextStarted(3, "r", 1, AT, "m", 0),
        events.ReasoningStarted(4, "r", 1, AT, "m", 1),
        events.ToolCallStarted(5, "r", 1, AT, "m/2", "c", "act"),
    ]
    make = {"text": text, "thought": thought, "call": lambda seq, said: arguments(seq, said, "m/2")}
    log = [*begun, *(make[kind](seq, said) for seq, (kind, said) in enumerate(pieces, 6))]
    bounds = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    batched = [event for start, end in itertools.pairwise(bounds) for event in coalesced(log[start:end])]
    assert fold(batched) == fold(log)
    assert [event.seq for event in batched] == sorted({event.seq for event in batched})
    assert batched[-1].seq == log[-1].seq
