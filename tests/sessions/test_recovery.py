"""What a crash left open in a log, closed."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent import events
from headrace.sessions.recovery import open_blocks

AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)

LOG: list[events.Event] = [
    events.RunStarted(1, "r", 0, AT, ()),
    events.RoundStarted(2, "r", 1, AT, "model"),
    events.TextStarted(3, "r", 1, AT, "m", 0),
    events.TextDelta(4, "r", 1, AT, "m", 0, "hal"),
    events.ReasoningStarted(5, "r", 1, AT, "m", 1),
    events.ToolCallStarted(6, "r", 1, AT, "m/2", "c", "act"),
    events.ToolCallArguments(7, "r", 1, AT, "m/2", '{"a'),
    events.ToolCallArguments(8, "r", 1, AT, "m/2", '": 1'),
    events.TextEnded(9, "r", 1, AT, "m", 0),
    events.ReasoningEnded(10, "r", 1, AT, "m", 1),
    events.ToolCallEnded(11, "r", 1, AT, "m/2", "c", "act", '{"a": 1}', {"a": 1}, True),
]


def test_every_open_block_is_ended_after_the_last_event():
    ends = open_blocks(LOG[:8]).closing(LOG[7], LATER)
    assert [end.type for end in ends] == ["text_ended", "reasoning_ended", "tool_call_ended"]
    assert [end.seq for end in ends] == [9, 10, 11]
    assert {end.at for end in ends} == {LATER}


def test_a_cut_call_ends_as_far_as_it_came_and_does_not_run():
    (end,) = [end for end in open_blocks(LOG[:8]).closing(LOG[7], AT) if isinstance(end, events.ToolCallEnded)]
    assert (end.arguments, end.parsed, end.runnable) == ('{"a": 1', None, False)


def test_what_has_ended_is_not_ended_again():
    assert open_blocks(LOG).closing(LOG[-1], AT) == []


def wrapped(log: list[events.Event], key: str = "m/9") -> list[events.Event]:
    return [events.SubRun(100 + n, "r", 1, AT, key, msgspec.structs.replace(event, run_id="inner")) for n, event in enumerate(log)]


def test_blocks_of_an_agent_inside_are_ended_inside():
    log = wrapped(LOG[:4])
    blocks = open_blocks(log)
    (end,) = blocks.closing(log[-1], AT)
    assert isinstance(end, events.SubRun)
    assert (end.seq, end.call_key, end.event.type, end.event.seq) == (104, "m/9", "text_ended", 5)
    assert blocks.inner_seqs == {"inner": 4}
    assert open_blocks([*log, end]).inner_seqs == {"inner": 5}


@given(cut=st.integers(1, len(LOG)), inner=st.integers(0, len(LOG)))
def test_after_the_ends_nothing_is_open(cut, inner):
    log = [*LOG[:cut], *wrapped(LOG[:inner])]
    ends = open_blocks(log).closing(log[-1], AT)
    assert open_blocks([*log, *ends]).closing((*log, *ends)[-1], AT) == []
    assert [end.seq for end in ends] == [log[-1].seq + n for n in range(1, len(ends) + 1)]
