"""What happens inside a sub-agent, as lines."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace.agent import events
from headrace.cli.subruns import subrun_lines
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolResultPart
from headrace.messages.usage import Usage

HEAD = (1, "run", 1, datetime(2026, 1, 2, tzinfo=UTC))


def lines(event, depth=1):
    for n in range(depth):
        event = events.SubRun(*HEAD, f"o/{n}", event)
    return subrun_lines(event)


def test_a_call_and_its_result_are_a_line_each():
    assert lines(events.ToolCallEnded(*HEAD, "m/0", "c", "find", '{\n "a": 1}', {"a": 1}, True)) == ['┊ → find { "a": 1}']
    result = ToolResultPart(call_id="c", name="find", parts=[TextPart("one\ntwo")])
    assert lines(events.ToolEnded(*HEAD, "m/0", result)) == ["┊ ← find one two"]


def test_what_failed_is_marked():
    assert lines(events.ToolCallEnded(*HEAD, "m/0", "c", "find", "{", None, False)) == ["┊ → find {  (cannot be run)"]
    result = ToolResultPart(call_id="c", name="find", parts=[TextPart("no")], state="denied")
    assert lines(events.ToolEnded(*HEAD, "m/0", result)) == ["┊ ← find [denied] no"]


def test_what_it_said_is_one_line_and_shortened():
    (line,) = lines(events.RoundEnded(*HEAD, AssistantMessage(["x" * 1000]), None, True))
    assert line == "┊ " + "x" * 160 + " … (840 more characters)"
    assert lines(events.RoundEnded(*HEAD, AssistantMessage([" "]), None, True)) == []


def test_deeper_agents_are_indented_further():
    assert lines(events.LimitReached(*HEAD, "tokens", 5), depth=3) == ["┊ ┊ ┊ · limit reached: tokens (5)"]


def test_the_end_is_a_line_but_waiting_is_the_outer_runs_to_say():
    assert lines(events.RunEnded(*HEAD, "completed", None, Usage())) == ["┊ · 1 round"]
    assert lines(events.RunEnded(*HEAD, "awaiting_approval", None, Usage())) == []


def test_what_streams_inside_is_not_shown():
    assert lines(events.TextDelta(*HEAD, "m", 0, "x")) == []
    assert lines(events.ReasoningDelta(*HEAD, "m", 0, "x")) == []
    assert lines(events.ToolCallArguments(*HEAD, "m/0", "x")) == []
