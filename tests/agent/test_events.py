"""Events: one table, frozen, the same after JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import get_args

import msgspec
import pytest

from headrace.agent import events
from headrace.agent.approval import Answer, Approve, Deny, Pending
from headrace.agent.event_codec import decode_event, encode_event
from headrace.agent.events import Event
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage

AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
HEAD = (7, "run", 2, AT)
CALL = ToolCallPart(id="c", name="add", arguments={"a": 1})
STRANGE = OpaquePart({"type": "hologram", "beam": [1, 2]})
PENDING = Pending("approval", "m/0", CALL, "d1g3st")
ANSWERED = AssistantMessage([TextPart("hi"), CALL], usage={"input_tokens": 3}, generate_reason="tool_calls", finish_reason="tool_calls")
RESULT = ToolResultPart(call_id="c", name="add", parts=[TextPart("3"), JsonPart({"n": 3})], metadata={"attempts": 2})

EXAMPLES = [
    events.RunStarted(
        *HEAD, (SystemMessage("s"), UserMessage(["look", MediaPart(kind="image", data=b"\x00\xff")]), ANSWERED, ToolMessage([RESULT]))
    ),
    events.RoundStarted(*HEAD, "scripted:model"),
    events.TextStarted(*HEAD, "m", 0),
    events.TextStarted(*HEAD, "m", 0, "refusal"),
    events.TextDelta(*HEAD, "m", 0, "né\n"),
    events.TextEnded(*HEAD, "m", 0),
    events.ReasoningStarted(*HEAD, "m", 1),
    events.ReasoningDelta(*HEAD, "m", 1, "hm"),
    events.ReasoningEnded(*HEAD, "m", 1, "sig=="),
    events.ToolCallStarted(*HEAD, "m/2", "c", "add"),
    events.ToolCallArguments(*HEAD, "m/2", '{"a"'),
    events.ToolCallEnded(*HEAD, "m/2", "c", "add", '{"a":1}', {"a": 1}, True),
    events.ToolCallEnded(*HEAD, "m/2", "c", "add", '{"a":', None, False),
    events.ToolStarted(*HEAD, "m/2"),
    events.ToolOutput(*HEAD, "m/2", JsonPart([1, None])),
    events.ToolProgress(*HEAD, "m/2", "reading", 3.0, 7.5),
    events.ToolEnded(*HEAD, "m/2", RESULT),
    events.ApprovalRequired(*HEAD, PENDING),
    events.ExternalRequired(*HEAD, msgspec.structs.replace(PENDING, kind="external")),
    events.ApprovalGiven(*HEAD, Approve("m/2", {"a": 2})),
    events.ApprovalGiven(*HEAD, Approve("m/2")),
    events.ApprovalGiven(*HEAD, Deny("m/2", "too dear")),
    events.ApprovalGiven(*HEAD, Answer("m/2", [1])),
    events.RoundEnded(*HEAD, ANSWERED, ANSWERED.usage, False),
    events.RoundEnded(*HEAD, None, None, True),
    events.AttemptDiscarded(*HEAD, "m", 1, "died"),
    events.ReminderAdded(*HEAD, UserMessage("x", origin="framework", reminder_kind="empty_response")),
    events.ContextCompacted(*HEAD, 80, 12, "window"),
    events.ToolsChanged(*HEAD, ("add",), "files: the server is gone"),
    events.LimitReached(*HEAD, "rounds", 25),
    events.LimitReached(*HEAD, "tool_calls", 5, "search"),
    events.SubRun(*HEAD, "m/2", events.TextDelta(1, "sub", 1, AT, "sm", 0, "deep")),
    events.ErrorRaised(*HEAD, "rate_limit", "slow down", True),
    events.RunEnded(*HEAD, "completed", ANSWERED, Usage(output_tokens=3), (PENDING,)),
    events.RunEnded(*HEAD, "interrupted", None, Usage()),
]
STRANGE_EXAMPLES = [
    events.RunStarted(*HEAD, (UserMessage([STRANGE]),)),
    events.RoundEnded(*HEAD, AssistantMessage([STRANGE, TextPart("x")]), None, True),
    events.RunEnded(*HEAD, "completed", AssistantMessage([STRANGE]), Usage()),
    events.ReminderAdded(*HEAD, UserMessage([STRANGE])),
    events.ToolOutput(*HEAD, "m/2", STRANGE),
    events.ToolEnded(*HEAD, "m/2", ToolResultPart(call_id="c", parts=[STRANGE, TextPart("x")])),
    events.SubRun(*HEAD, "m/2", events.ToolOutput(*HEAD, "m/2", STRANGE)),
    events.SubRun(*HEAD, "m/2", events.SubRun(*HEAD, "m/3", events.RunStarted(*HEAD, (UserMessage([STRANGE]),)))),
]
TABLE = """
    run_started round_started text_started text_delta text_ended reasoning_started reasoning_delta reasoning_ended
    tool_call_started tool_call_arguments tool_call_ended tool_started tool_output tool_progress tool_ended approval_required external_required
    approval_given round_ended attempt_discarded reminder_added context_compacted tools_changed limit_reached subrun error run_ended
""".split()


@pytest.mark.parametrize("event", EXAMPLES + STRANGE_EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_is_equal_after_json(event):
    data = encode_event(event)
    assert decode_event(data) == event
    assert encode_event(decode_event(data.decode())) == data


@pytest.mark.parametrize("event", STRANGE_EXAMPLES, ids=lambda event: type(event).__name__)
def test_a_part_of_an_unknown_type_is_written_as_it_came(event):
    assert b'{"type":"hologram","beam":[1,2]}' in encode_event(event)


def test_the_types_are_those_of_the_table_and_all_have_the_five_common_fields():
    union = get_args(Event)
    assert sorted(kind.__struct_config__.tag for kind in union) == sorted(TABLE)
    for event in EXAMPLES:
        form = json.loads(encode_event(event))
        assert form["type"] == event.type
        assert event.type in TABLE
        assert (form["seq"], form["run_id"], form["round"], form["at"]) == (7, "run", 2, "2026-01-02T03:04:05.000678Z")


def test_events_are_frozen_and_hold_no_place_for_the_garbage_collector():
    for kind in get_args(Event):
        assert kind.__struct_config__.frozen
        assert kind.__struct_config__.gc is False
    with pytest.raises(AttributeError):
        EXAMPLES[4].text = "other"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", "event"),
        (b"[]", "not an object"),
        (b'{"type":"error","seq":"x","message":"words"}', "seq"),
        (b'{"type":"tool_output","seq":"x","output":{"type":"hologram"}}', "seq"),
        (b"{}", "type"),
        (b'{"type": "nonsense"}', "nonsense"),
        (b'{"type": "text_delta", "seq": 1}', "required field"),
        (b"\xff", "event"),
        (b'{"type":"subrun","seq":1,"run_id":"r","round":1,"at":"2026-01-02T03:04:05Z","call_key":"m/1","event":3}', "not an object"),
        (
            b'{"type":"round_ended","seq":1,"run_id":"r","round":1,"at":"2026-01-02T03:04:05Z","message":{"role":"user"},"usage":null,"is_final":true}',
            "not an AssistantMessage",
        ),
        (
            b'{"type":"reminder_added","seq":1,"run_id":"r","round":1,"at":"2026-01-02T03:04:05Z","message":{"role":"assistant"}}',
            "not a UserMessage",
        ),
        (
            b'{"type":"tool_ended","seq":1,"run_id":"r","round":1,"at":"2026-01-02T03:04:05Z","call_key":"k","result":{"type":"text","text":"x"}}',
            "not a ToolResultPart",
        ),
        (
            b'{"type":"run_started","seq":1,"run_id":"r","round":1,"at":"2026-01-02T03:04:05Z","input":[{"role":"user","parts":[{"type":"text"}]}]}',
            "event.input[0].parts[0]",
        ),
    ],
)
def test_what_is_no_event_is_refused_with_the_place(data, says):
    with pytest.raises(UsageError) as caught:
        decode_event(data)
    assert says in str(caught.value)


def test_the_values_of_answers_cannot_be_changed():
    given = {"a": [1]}
    assert Approve("k", given).arguments == given
    with pytest.raises(TypeError):
        Approve("k", given).arguments["a"] = 2
    with pytest.raises(TypeError):
        Answer("k", given).value["a"].append(2)
