"""Blocks: every piece live, every block started once and ended once, whatever comes."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from headrace.agent import events
from headrace.agent.blocks import Blocks, Scribe
from headrace.agent.fold import fold
from headrace.messages.accumulator import Accumulator
from headrace.messages.deltas import (
    CitationDelta,
    Ended,
    FinishDelta,
    MediaDelta,
    PartDelta,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
)
from headrace.messages.parts import JsonPart, MediaPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from headrace.messages.usage import Usage

AT = datetime(2026, 1, 1, tzinfo=UTC)
WHOLE = (FinishDelta("stop"), Ended(is_terminated=True))


def run(*deltas, is_whole=True):
    """The events of some deltas, and the message."""
    scribe = Scribe("r", at=AT)
    blocks, other = Blocks("m", scribe), Accumulator(is_from_wire=True)
    for delta in (*deltas, *(WHOLE if is_whole else ())):
        blocks.feed((delta,))
        other.add(delta)
    message = other.message()
    assert blocks.is_made_of(message)
    blocks.end(message)
    scribe.add(events.RoundEnded, message, None, True)
    return list(scribe.made), message, blocks


def short(made):
    """Events in a few words."""
    said = []
    for event in made:
        tag = type(event).__struct_config__.tag
        match event:
            case events.TextDelta() | events.ReasoningDelta():
                said.append(f"{tag} {event.part} {event.text}")
            case events.ToolCallArguments():
                said.append(f"{tag} {event.call_key} {event.text}")
            case events.ToolCallStarted():
                said.append(f"{tag} {event.call_key} {event.call_id} {event.name}")
            case events.ToolCallEnded():
                said.append(f"{tag} {event.call_key} {event.call_id} {event.name} {event.arguments} {event.runnable}")
            case events.RoundEnded():
                pass
            case _:
                said.append(f"{tag} {event.part}")
    return said


def test_text_comes_live_and_keeps_its_place_around_calls():
    made, message, blocks = run(
        TextDelta("one "),
        TextDelta("more "),
        ToolCallFragment(id="a", name="add", arguments="{", index=0),
        ToolCallFragment(arguments="}", index=0),
        TextDelta("two"),
    )
    assert short(made) == [
        "text_started 0",
        "text_delta 0 one ",
        "text_delta 0 more ",
        "tool_call_started m/1 a add",
        "tool_call_arguments m/1 {",
        "tool_call_arguments m/1 }",
        "text_started 2",
        "text_delta 2 two",
        "text_ended 0",
        "tool_call_ended m/1 a add {} True",
        "text_ended 2",
    ]
    assert [type(part) for part in message.parts] == [TextPart, ToolCallPart, TextPart]
    assert blocks.call_keys == ("m/1",)


def test_a_call_starts_once_its_name_is_known_and_the_arguments_that_waited_follow():
    made, _, _ = run(
        ToolCallFragment(id="a", index=0, arguments='{"x"'),
        ToolCallFragment(index=0, arguments=": "),
        ToolCallFragment(index=0, name="add"),
        ToolCallFragment(index=0, arguments="1}"),
    )
    assert short(made) == [
        "tool_call_started m/0 a add",
        'tool_call_arguments m/0 {"x": ',
        "tool_call_arguments m/0 1}",
        'tool_call_ended m/0 a add {"x": 1} True',
    ]


def test_a_call_that_never_gets_a_name_starts_when_the_answer_ends():
    made, _, _ = run(ToolCallFragment(id="a", index=0, arguments="{}"))
    assert short(made) == ["tool_call_started m/0 a ", "tool_call_arguments m/0 {}", "tool_call_ended m/0 a  {} False"]


def test_interleaved_calls_keep_one_block_each_and_end_in_the_order_of_the_message():
    made, _, blocks = run(
        ToolCallFragment(id="b", name="look", index=1, arguments="{"),
        ToolCallFragment(id="a", name="add", index=0, arguments="{"),
        ToolCallFragment(index=1, arguments="}"),
        ToolCallFragment(index=0, arguments="}"),
    )
    ended = [line for line in short(made) if "ended" in line]
    assert ended == ["tool_call_ended m/1 a add {} True", "tool_call_ended m/0 b look {} True"]
    assert blocks.call_keys == ("m/1", "m/0")


def test_arguments_that_come_as_objects_are_shown_as_json():
    made, _, _ = run(ToolCallFragment(id="a", name="add", arguments={"x": 1}))
    assert 'tool_call_arguments m/0 {"x":1}' in short(made)


def test_an_id_that_comes_late_is_in_the_end():
    made, _, _ = run(ToolCallFragment(name="add", part=0, arguments="{}"), ToolCallSettled(0, id="late"))
    assert short(made)[0] == "tool_call_started m/0  add"
    assert short(made)[-1] == "tool_call_ended m/0 late add {} True"


def test_reasoning_has_its_signature_at_its_end_also_when_it_came_after_the_text():
    made, _, _ = run(ReasoningDelta("hm"), TextDelta("so"), ReasoningDelta(signature="sig"))
    assert short(made) == [
        "reasoning_started 0",
        "reasoning_delta 0 hm",
        "text_started 1",
        "text_delta 1 so",
        "reasoning_ended 0",
        "text_ended 1",
    ]
    assert next(event for event in made if isinstance(event, events.ReasoningEnded)).signature == "sig"


def test_reasoning_without_a_text_starts_and_ends():
    made, _, _ = run(ReasoningDelta(encrypted="xyz"), TextDelta("so"))
    assert short(made)[0] == "reasoning_started 0"
    assert "reasoning_ended 0" in short(made)


def test_refusals_are_texts_of_their_own_kind_and_citations_open_a_text():
    made, _, _ = run(RefusalDelta("I "), RefusalDelta("won't"), CitationDelta({"url": "u"}))
    assert short(made) == ["text_started 0", "text_delta 0 I ", "text_delta 0 won't", "text_started 1", "text_ended 0", "text_ended 1"]
    assert [event.kind for event in made if isinstance(event, events.TextStarted)] == ["refusal", "text"]


def test_parts_that_come_whole_start_and_end_when_the_answer_ends_and_calls_at_once():
    made, _, _ = run(
        PartDelta(TextPart("whole")),
        PartDelta(RefusalPart("no")),
        PartDelta(ReasoningPart("hm", signature="s")),
        PartDelta(ReasoningPart(encrypted="e")),
        PartDelta(ToolCallPart(id="a", name="add", arguments="{}")),
        PartDelta(TextPart("")),
        PartDelta(JsonPart(1)),
        MediaDelta("audio", b"x"),
        UsageDelta(Usage(output_tokens=1)),
    )
    assert short(made) == [
        *("tool_call_started m/4 a add", "tool_call_arguments m/4 {}"),
        *("text_started 0", "text_delta 0 whole", "text_ended 0"),
        *("text_started 1", "text_delta 1 no", "text_ended 1"),
        *("reasoning_started 2", "reasoning_delta 2 hm", "reasoning_ended 2"),
        *("reasoning_started 3", "reasoning_ended 3"),
        "tool_call_ended m/4 a add {} True",
        *("text_started 5", "text_ended 5"),
    ]


def test_parts_that_come_whole_under_a_place_that_is_taken_get_a_block_of_their_own():
    made, message, blocks = run(
        *(TextDelta("a", 1), RefusalDelta("b", 1), ReasoningDelta("c", 1), ToolCallFragment(arguments="{}", part=1)),
        *(PartDelta(part, 1) for part in (TextPart("A"), ReasoningPart("C"), RefusalPart("B"))),
        *(TextDelta("z", 2), PartDelta(TextPart("Z"), 2), PartDelta(ToolCallPart(id="o", name="other"), choice=1)),
    )
    assert fold(made) == (message,)
    assert message.text == "azZ"
    assert [event.part for event in made if isinstance(event, events.TextStarted) and event.kind == "text"] == [1, 2, 5]
    assert blocks.call_keys == ("m/1",)


def test_other_choices_have_no_blocks():
    made, message, _ = run(
        TextDelta("mine"),
        *(TextDelta("other", choice=1), RefusalDelta("other", choice=1), ReasoningDelta("other", choice=1)),
        ToolCallFragment(id="a", name="add", arguments="{}", choice=1),
    )
    assert short(made) == ["text_started 0", "text_delta 0 mine", "text_ended 0"]
    assert message.text == "mine"


def test_nothing_makes_no_events():
    made, _, blocks = run(TextDelta(""), ReasoningDelta(), RefusalDelta(""), ToolCallFragment(), is_whole=False)
    assert short(made) == []
    assert blocks.call_keys == ()
    assert blocks.snapshot().parts == ()


def test_a_sink_sees_each_event_as_it_is_made():
    seen = []
    scribe = Scribe("r", at=AT, sink=seen.append)
    Blocks("m", scribe).feed((TextDelta("a"), TextDelta("b")))
    assert seen == list(scribe.made)
    assert [event.seq for event in seen] == [1, 2, 3]


# ---------------------------------------------------------------------------------------------- laws

TEXT = st.text(max_size=3)
PLACES = st.sampled_from([None, None, None, 0, 1, 2])
ONE_DELTA = st.one_of(
    st.builds(TextDelta, TEXT, PLACES),
    st.builds(ReasoningDelta, TEXT, PLACES, signature=st.sampled_from([None, None, "s"])),
    st.builds(RefusalDelta, TEXT, PLACES),
    st.builds(CitationDelta, st.just({"url": "u"}), PLACES),
    st.builds(
        PartDelta,
        st.sampled_from([TextPart("whole"), JsonPart(1), MediaPart(kind="image", url="u"), ReasoningPart("w")]),
        st.sampled_from([20, 21, 22]),
    ),
    st.builds(
        ToolCallFragment,
        id=st.sampled_from([None, "", "a", "b"]),
        name=st.sampled_from([None, "", "add", "ad"]),
        arguments=st.sampled_from([None, "", "{", "}", '{"x":1}', "{}"]),
        index=st.sampled_from([None, 0, 1]),
        part=st.sampled_from([None, None, None, 7, 8]),
    ),
    st.builds(ToolCallSettled, st.sampled_from([7, 8]), id=st.sampled_from([None, "late"]), arguments=st.sampled_from([None, "{}"])),
    st.builds(FinishDelta, st.sampled_from(["stop", "tool_calls", "length"])),
)


@given(st.lists(ONE_DELTA, max_size=25), st.booleans())
def test_every_block_starts_once_and_ends_once_and_all_fold_to_the_message(deltas, is_whole):
    made, message, blocks = run(*deltas, is_whole=is_whole)
    started, ended = Counter(), Counter()
    for event in made:
        match event:
            case events.TextStarted():
                started[event.kind, event.part] += 1
            case events.ReasoningStarted():
                started["reasoning", event.part] += 1
            case events.ToolCallStarted():
                started["call", event.call_key] += 1
            case events.TextDelta():
                assert started[event.kind, event.part] > ended[event.kind, event.part]
            case events.ReasoningDelta():
                assert started["reasoning", event.part] > ended["reasoning", event.part]
            case events.ToolCallArguments():
                assert started["call", event.call_key] > ended["call", event.call_key]
            case events.TextEnded():
                ended[event.kind, event.part] += 1
            case events.ReasoningEnded():
                ended["reasoning", event.part] += 1
            case events.ToolCallEnded():
                ended["call", event.call_key] += 1
    assert started == ended
    assert set(started.values()) <= {1}
    assert len(blocks.call_keys) == len(message.tool_calls)
    assert fold(made) == (message,)
