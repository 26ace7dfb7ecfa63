from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.messages.accumulator import Accumulator, Bounds, LimitExceeded
from headrace.messages.deltas import (
    CitationDelta,
    Ended,
    FinishDelta,
    LogprobsDelta,
    MediaDelta,
    MessageStart,
    MetadataDelta,
    ParsedDelta,
    PartDataDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    StreamError,
    TextDelta,
    TokenIdsDelta,
    ToolCallFragment,
    ToolCallSettled,
    ToolResultDelta,
    UsageDelta,
    WarningDelta,
)
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from headrace.messages.usage import Usage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

PNG = MediaPart(kind="image", url="https://example.test/a.png")


def folded(*deltas, is_from_wire=False):
    accumulator = Accumulator(is_from_wire=is_from_wire)
    accumulator.extend(deltas)
    return accumulator


def message_of(*deltas, **options):
    return folded(*deltas, **options).message()


def codes(message):
    return [warning.code for warning in message.warnings]


# ------------------------------------------------------------------------------------------ where content goes

PARTS = {
    "text continues text": ([TextDelta("a"), TextDelta("b")], [TextPart("ab")]),
    "empty text opens nothing": ([TextDelta(""), RefusalDelta(""), ReasoningDelta("")], []),
    "another kind closes text": (
        [TextDelta("a"), ReasoningDelta("r"), TextDelta("b"), ReasoningDelta("s")],
        [TextPart("a"), ReasoningPart("r"), TextPart("b"), ReasoningPart("s")],
    ),
    "a refusal": ([RefusalDelta("I "), RefusalDelta("won't")], [RefusalPart("I won't")]),
    "a whole part stands by itself": (
        [TextDelta("a"), PartDelta(TextPart("b")), TextDelta("c"), PartDelta(PNG), PartDelta(JsonPart({"x": 1}))],
        [TextPart("a"), TextPart("b"), TextPart("c"), PNG, JsonPart({"x": 1})],
    ),
    "a whole part with a key is replaced by a later one": ([PartDelta(TextPart("a"), 4), PartDelta(PNG, 4)], [PNG]),
    "keys say which part": (
        [TextDelta("a", 0), TextDelta("x", 1), TextDelta("b", 0), TextDelta("y", 1)],
        [TextPart("ab"), TextPart("xy")],
    ),
    "one key, two kinds: two parts in order of arrival": ([ReasoningDelta("r", 0), TextDelta("a", 0)], [ReasoningPart("r"), TextPart("a")]),
    "without a key, text continues the part that was opened last": (
        [TextDelta("a", 5), TextDelta("b"), TextDelta("c", 2), TextDelta("d")],
        [TextPart("cd"), TextPart("ab")],
    ),
    "a signature, encrypted data and details belong to their reasoning": (
        [
            ReasoningDelta("think", signature="si"),
            ReasoningDelta(signature="g", encrypted="x"),
            ReasoningDelta(details=({"a": 1},), encrypted="y"),
        ],
        [ReasoningPart("think", signature="sig", encrypted="xy", details=({"a": 1},))],
    ),
    "a signature that comes late belongs to the thinking before": (
        [ReasoningDelta("think"), TextDelta("a"), ReasoningDelta(signature="sig"), TextDelta("b")],
        [ReasoningPart("think", signature="sig"), TextPart("ab")],
    ),
    "encrypted reasoning without words": ([ReasoningDelta(encrypted="x")], [ReasoningPart(encrypted="x")]),
    "a citation belongs to the text": (
        [TextDelta("a"), CitationDelta({"url": "u"}), TextDelta("b"), CitationDelta({"url": "v"})],
        [TextPart("ab", citations=({"url": "u"}, {"url": "v"}))],
    ),
    "a citation belongs to the last text, also behind a call": (
        [TextDelta("a"), ReasoningDelta("r"), CitationDelta({"url": "u"}), TextDelta("b")],
        [TextPart("a", citations=({"url": "u"},)), ReasoningPart("r"), TextPart("b")],
    ),
    "a citation of a part by its key": (
        [TextDelta("a", 0), TextDelta("b", 1), CitationDelta({"url": "u"}, 0)],
        [TextPart("a", citations=({"url": "u"},)), TextPart("b")],
    ),
    "a citation without text opens one": ([CitationDelta({"url": "u"})], [TextPart("", citations=({"url": "u"},))]),
    "media in pieces, each decoded by itself": (
        [
            MediaDelta("audio", b"ab", id="au", media_type="audio/wav"),
            MediaDelta("audio", b"c", transcript="he"),
            MediaDelta("audio", transcript="y", id="au"),
        ],
        [MediaPart(kind="audio", data=b"abc", media_type="audio/wav", transcript="hey", provider_data={"id": "au"})],
    ),
    "another kind of media, and another id, are other parts": (
        [MediaDelta("audio", b"a", id="1"), MediaDelta("audio", b"b", id="2"), MediaDelta("image", b"c")],
        [
            MediaPart(kind="audio", data=b"a", provider_data={"id": "1"}),
            MediaPart(kind="audio", data=b"b", provider_data={"id": "2"}),
            MediaPart(kind="image", data=b"c"),
        ],
    ),
    "a transcript alone": ([MediaDelta("audio", transcript="hey", part=3)], [MediaPart(kind="audio", data=b"", transcript="hey")]),
    "the halves of a character meet": ([TextDelta("a\ud83d"), TextDelta("\ude00b")], [TextPart("a😀b")]),
}


@pytest.mark.parametrize("case", PARTS)
def test_content_deltas_become_parts(case):
    deltas, expected = PARTS[case]
    message = message_of(*deltas)
    assert list(message.parts) == expected
    assert message.warnings == ()


def test_add_returns_the_key_of_the_part():
    accumulator = Accumulator()
    deltas = [
        TextDelta("a"),
        ReasoningDelta("r"),
        ToolCallFragment("x", "f"),
        TextDelta("b", 9),
        PartDelta(PNG),
        CitationDelta({}),
        FinishDelta("stop"),
    ]
    assert [accumulator.add(delta) for delta in deltas] == [0, 1, 2, 9, 10, 9, -1]
    assert accumulator.add(ToolCallFragment()) == -1
    assert accumulator.add(MediaDelta("image", b"x")) == 11
    assert accumulator.add(RefusalDelta("no")) == 12
    assert accumulator.add(ToolCallSettled(20)) == 20
    others = [MessageStart("m"), UsageDelta(Usage()), WarningDelta(Warning("invalid_utf8")), MetadataDelta({}), ParsedDelta(1), Ended()]
    assert {accumulator.add(delta) for delta in others} == {-1}


@given(st.permutations([(0, "a"), (1, "b"), (2, "call"), (3, "call"), (4, "c"), (7, "part"), (8, "reasoning")]), st.booleans())
def test_explicit_keys_order_the_parts_whatever_the_arrival(order, has_index):
    deltas = []
    for n, (key, what) in enumerate(order):
        if what == "call":
            deltas.append(ToolCallFragment(f"id{key}", "f", "{}", n if has_index else None, part=key))
        elif what == "part":
            deltas.append(PartDelta(PNG, key))
        elif what == "reasoning":
            deltas.append(ReasoningDelta("r", key))
        else:
            deltas.append(TextDelta(what, key))
    parts = message_of(*deltas).parts
    assert [type(part).__name__ for part in parts] == [
        "TextPart", "TextPart", "ToolCallPart", "ToolCallPart", "TextPart", "MediaPart", "ReasoningPart",
    ]  # fmt: skip
    assert [part.id for part in parts if isinstance(part, ToolCallPart)] == ["id2", "id3"]


def test_text_keeps_its_place_around_calls_that_are_ordered_by_index():
    message = message_of(
        TextDelta("one"), ToolCallFragment("b", "g", "{}", 1), TextDelta("two"), ToolCallFragment("a", "f", "{}", 0), TextDelta("three")
    )
    assert [part.text if isinstance(part, TextPart) else part.id for part in message.parts] == ["one", "a", "two", "b", "three"]


# ------------------------------------------------------------------------------------------ calls


def test_a_call_of_a_numbered_part_needs_no_identity_rule():
    message = message_of(
        ToolCallFragment("a", "get", "{", part=1),
        ToolCallFragment("b", "f", '{"y":', part=2, kind="provider"),
        ToolCallFragment(name="_it", arguments="}", part=1, index=4),
        ToolCallFragment("c", arguments="2}", part=2, kind="custom"),
        FinishDelta("stop"),
    )
    assert [(call.id, call.name, call.arguments, call.index, call.kind) for call in message.tool_calls] == [
        ("a", "get", "{}", 4, "function"),
        ("b", "f", '{"y":2}', None, "provider"),
    ]
    assert all(call.runnable for call in message.tool_calls)


def test_a_settled_call_takes_a_late_id_and_fills_a_gap():
    message = message_of(
        ToolCallFragment(None, "f", '{"a":', part=0),
        ToolCallSettled(0, "late", '{"a":1}'),
        ToolCallSettled(0, "later", '{"a":1}'),
        ToolCallSettled(3, "alone", "{}"),
        ToolCallFragment(name="g", part=3),
        FinishDelta("tool_calls"),
    )
    assert [(call.id, call.name, call.arguments, call.runnable) for call in message.tool_calls] == [
        ("late", "f", '{"a":1}', True),
        ("alone", "g", "{}", True),
    ]
    assert codes(message) == []


def test_settling_a_call_after_the_finish_word_is_no_early_finish():
    message = message_of(ToolCallFragment("a", "f", "{}", part=0), FinishDelta("tool_calls"), ToolCallSettled(0))
    assert codes(message) == []
    assert message.tool_calls[0].runnable


def test_a_call_that_comes_whole_stands_by_itself_and_is_judged_with_the_others():
    whole = ToolCallPart(id="a", name="f", arguments={"x": 1}, provider_data={"sig": "s"})
    snapshot = folded(PartDelta(whole), is_from_wire=True)
    assert [call.runnable for call in snapshot.message().tool_calls] == [False]
    snapshot.extend(
        [
            PartDelta(whole),
            ToolCallFragment(None, "g", "{}"),
            TextDelta("t"),
            PartDelta(ToolCallPart(name="h"), 9),
            Ended(is_terminated=True),
        ]
    )
    message = snapshot.message()
    assert [(call.id, call.name, call.arguments, call.runnable) for call in message.tool_calls] == [
        ("a", "f", '{"x":1}', True),
        ("call_1", "f", '{"x":1}', True),
        ("call_2", "g", "{}", True),
        ("call_3", "h", "{}", True),
    ]
    assert message.tool_calls[0].provider_data == {"sig": "s"}
    assert message.finish_reason == "tool_calls"


def test_a_call_that_comes_whole_replaces_what_came_under_its_key():
    message = message_of(
        ToolCallFragment("x", "f", "{", part=2),
        PartDelta(ToolCallPart(id="y", name="g"), 2),
        PartDelta(ToolCallPart(id="y", name="g", arguments={"z": 1}), 2),
        PartDelta(PNG, 2),
        PartDelta(ToolCallPart(id="w", name="h"), 3),
        FinishDelta("stop"),
    )
    assert [(call.id, call.name, call.arguments) for call in message.tool_calls] == [("y", "g", '{"z":1}'), ("w", "h", "{}")]
    assert message.parts[1] == PNG


def test_a_call_that_comes_whole_without_arguments_waits_for_the_end_that_allows_it():
    whole = ToolCallPart(id="a", name="f", arguments="")
    assert not message_of(PartDelta(whole), FinishDelta("stop")).tool_calls[0].runnable
    assert message_of(PartDelta(whole), FinishDelta("tool_calls")).tool_calls[0].runnable


def test_opaque_data_of_a_call_joins_it_also_when_it_comes_alone():
    message = message_of(
        ToolCallFragment(provider_data={"lost": "there is no call yet"}),
        ToolCallFragment("a", "f", "{}", 0, provider_data={"x": 1, "y": 1}),
        ToolCallFragment("b", "g", "{}", 1),
        ToolCallFragment(index=0, provider_data={"y": 2}),
        ToolCallFragment(index=9, provider_data={"lost": "no call there"}),
        ToolCallFragment(provider_data={"z": 3}),
        ToolCallFragment("c", "h", "{}", part=7),
        ToolCallFragment(part=7, provider_data={"w": 4}),
    )
    assert [dict(call.provider_data) for call in message.tool_calls] == [{"x": 1, "y": 2}, {"z": 3}, {"w": 4}]


MADE_UP = {
    "those that are missing": ([None, None], ["call_1", "call_2"], []),
    "none that is taken, also by a later call": ([None, "call_1"], ["call_2", "call_1"], []),
    "of two that share one the second": (["a", "a", "a"], ["a", "call_1", "call_2"], ["duplicate_tool_id", "duplicate_tool_id"]),
}


@pytest.mark.parametrize("case", MADE_UP)
def test_ids_are_made_unique_in_the_message(case):
    ids, expected, expected_codes = MADE_UP[case]
    fragments = [ToolCallFragment(id_, "f", "{}", part=n, is_id_optional=True) for n, id_ in enumerate(ids)]
    message = message_of(*fragments, FinishDelta("stop"))
    assert [call.id for call in message.tool_calls] == expected
    assert [call.id_made_up for call in message.tool_calls] == [id_ != made for id_, made in zip(ids, expected, strict=True)]
    assert [code for code in codes(message) if code != "finish_reason_mismatch"] == expected_codes


def test_new_id_makes_the_ids_and_those_that_are_taken_or_empty_are_not_used():
    fresh = iter(["x", "a", "x", "", "y"])
    fragments = [ToolCallFragment("a" if n == 0 else None, "f", "{}", n) for n in range(6)]
    message = folded(*fragments).message(new_id=lambda: next(fresh))
    assert [call.id for call in message.tool_calls] == ["a", "x", "call_1", "call_2", "call_3", "y"]


@pytest.mark.parametrize(("is_optional", "expected"), [(True, []), (False, ["missing_tool_id"])])
def test_a_missing_id_is_a_fault_only_where_the_protocol_promises_one(is_optional, expected):
    message = message_of(ToolCallFragment(None, "f", "{}", is_id_optional=is_optional), FinishDelta("tool_calls"))
    assert codes(message) == expected


def test_warnings_say_the_place():
    message = message_of(
        ToolCallFragment("a", "f", "{}", 0, event=3, offset=120),
        ToolCallFragment("b", "g", "{", 0, event=4, offset=180),
        FinishDelta("tool_calls", event=9, offset=400),
        FinishDelta("stop", event=10, offset=420),
        WarningDelta(Warning("invalid_utf8", 11)),
    )
    assert message.warnings == (
        Warning("reused_tool_index", 4, 180, 0, 1),
        Warning("invalid_utf8", 11),
        Warning("truncated_tool_arguments", 4, 180, 0, 1, "g"),
        Warning("multiple_finish_reasons", 10, 420, 0),
    )


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["", "{", "}", '{"x":1}', " "]))
    | st.sampled_from(["id", "name", "again", "stop", "text", "take"]),
    max_size=12,
)


@given(STEPS, st.sampled_from([None, 4]))
def test_the_short_way_for_a_bare_piece_of_arguments_does_what_the_long_way_does(steps, limit):
    short, long = (Accumulator(bounds=Bounds(max_argument_bytes=limit)) for _ in range(2))
    others = {
        "id": ToolCallFragment("a", None, None, 0),
        "name": ToolCallFragment(None, "f", None, 1),
        "again": ToolCallFragment("a", "f", "", 2),
        "take": ToolCallFragment("b", "g", "}", None),
        "stop": FinishDelta("stop"),
        "text": TextDelta("x"),
    }
    for n, step in enumerate(steps):
        delta = others[step] if isinstance(step, str) else ToolCallFragment(None, None, step[1], step[0], event=n, offset=10 * n)
        failures = []
        for accumulator in (short, long):
            if accumulator is short and not isinstance(step, str) and short.continue_call(step[0], step[1], n, 10 * n):
                failures.append(None)
                continue
            try:
                accumulator.add(delta)
            except LimitExceeded as exceeded:
                failures.append(str(exceeded))
            else:
                failures.append(None)
        assert failures[0] == failures[1]
        assert short.message() == long.message()


def test_the_short_way_is_taken_where_a_call_is_open():
    accumulator = folded(ToolCallFragment("a", "f", "{", 0))
    assert accumulator.continue_call(0, "}", 1, 10)
    assert not accumulator.continue_call(1, "}", 2, 20), "there is no such call"
    assert not accumulator.continue_call(0, "", 3, 30), "it says nothing"
    assert accumulator.message().tool_calls[0].arguments == "{}"
    bounded = Accumulator(bounds=Bounds(max_argument_bytes=2))
    bounded.add(ToolCallFragment("a", "f", "{", 0))
    assert bounded.continue_call(0, " ", 1, 10)
    assert not bounded.continue_call(0, "}", 2, 20), "a bound is near"
    assert not Accumulator().continue_call(0, "x", 0, 0)


# ------------------------------------------------------------------------------------------ how it ends


def test_a_finish_word_ends_a_message_made_by_hand_and_only_ended_one_from_a_decoder():
    deltas = [ToolCallFragment("a", "f", "{}"), FinishDelta("tool_calls")]
    assert message_of(*deltas).tool_calls[0].runnable
    assert not message_of(*deltas, is_from_wire=True).tool_calls[0].runnable
    assert message_of(*deltas, Ended(), is_from_wire=True).tool_calls[0].runnable


def test_made_by_hand_each_choice_is_ended_by_its_own_word():
    accumulator = folded(ToolCallFragment("a", "f", "{}"), ToolCallFragment("b", "g", "{}", choice=1), FinishDelta("tool_calls", choice=0))
    first, second = accumulator.messages()
    assert (first.finish_reason, first.tool_calls[0].runnable) == ("tool_calls", True)
    assert (second.finish_reason, second.tool_calls[0].runnable, second.warnings) == (None, False, ())


def test_the_first_end_counts():
    message = message_of(ToolCallFragment("a", "f", "{}"), Ended(StreamError("provider_error")), Ended(is_terminated=True))
    assert (message.finish_reason, message.tool_calls[0].runnable) == ("error", False)


SUBSTANCE = [TextDelta("x"), ReasoningDelta("x"), RefusalDelta("x"), ToolCallFragment("b", "g", "{}"), MediaDelta("image", b"x"), PartDelta(PNG),
             PartDelta(ToolCallPart(name="f")), ToolCallFragment("b", "g", part=5), ToolCallFragment(arguments=" ", index=0),
             ToolCallFragment(arguments=" ", part=9), PartDelta(PNG, 3), CitationDelta({}, 30), ToolCallSettled(40)]  # fmt: skip
NO_SUBSTANCE = [TextDelta(""), ReasoningDelta(""), ReasoningDelta(signature="s"), RefusalDelta(""), ToolCallFragment(), UsageDelta(Usage()),
                MetadataDelta({"a": 1}), LogprobsDelta({}), TokenIdsDelta(completion=(1,)), FinishDelta(""), FinishDelta("null"),
                CitationDelta({}), MessageStart("x"), WarningDelta(Warning("invalid_utf8"))]  # fmt: skip
BEFORE = [
    ReasoningDelta("r"),
    TextDelta("t"),
    ToolCallFragment("a", "f", "{}", 0),
    ToolCallFragment("c", "f", "{}", part=9),
    PartDelta(PNG, 3),
]


@pytest.mark.parametrize("delta", SUBSTANCE, ids=lambda delta: repr(delta)[:60])
def test_content_behind_a_finish_word_says_that_it_was_early_once(delta):
    message = message_of(*BEFORE, FinishDelta("stop", event=7, offset=70), delta, FinishDelta("stop"), delta, FinishDelta("stop"))
    assert [warning for warning in message.warnings if warning.code == "early_finish_reason"] == [Warning("early_finish_reason", 7, 70)]


@pytest.mark.parametrize("delta", NO_SUBSTANCE, ids=lambda delta: repr(delta)[:60])
def test_what_is_no_content_may_follow_the_finish_word(delta):
    accumulator = folded(*BEFORE, FinishDelta("stop"), delta)
    assert accumulator.choices[0].has_finished
    assert "early_finish_reason" not in codes(accumulator.message())


def test_text_goes_on_after_an_early_finish_word():
    message = message_of(TextDelta("a"), FinishDelta("stop"), TextDelta("b"), TextDelta("c"), FinishDelta("stop"))
    assert message.parts == (TextPart("abc"),)


def test_finish_words_of_a_decoder_may_bring_their_meaning():
    message = message_of(TextDelta("a"), FinishDelta("incomplete", reason="content_filter"))
    assert (message.finish_reason, message.finish_reason_raw) == ("content_filter", "incomplete")


# ------------------------------------------------------------------------------------------ the head


def test_what_is_known_of_the_message_is_the_first_non_empty():
    at = datetime(2030, 1, 2, tzinfo=UTC)
    message = message_of(
        MessageStart(id="", model="", name=""),
        MessageStart(id="m1", model="gpt"),
        MessageStart(id="m2", model="other", created_at=at, name="bob", provider="p"),
        MessageStart(created_at=datetime(2031, 1, 1, tzinfo=UTC), name="al", provider="q"),
    )
    assert (message.id, message.model, message.created_at, message.name, message.provider) == ("m1", "gpt", at, "bob", "p")


@given(st.lists(st.builds(Usage, input_tokens=st.none() | st.integers(0, 9), output_tokens=st.none() | st.integers(0, 9),
                          reasoning_tokens=st.none() | st.integers(0, 9), raw=st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(0, 9))), max_size=5))  # fmt: skip
def test_usage_is_field_by_field_the_last_report_that_is_not_none(reports):
    expected = None
    for report in reports:
        expected = report if expected is None else expected.updated(report)
    assert message_of(*map(UsageDelta, reports)).usage == expected


IDS = {
    "the prompt's: the first non-empty": ([((), None), ((1,), None), ((2,), None)], (1,), None),
    "the prompt's, empty and then none": ([((), None), (None, None)], (), None),
    "the completion's: joined": ([(None, (1,)), (None, None), (None, (2, 3))], None, (1, 2, 3)),
    "the completion's, empty": ([(None, ())], None, ()),
    "nothing": ([(None, None)], None, None),
}


@pytest.mark.parametrize("case", IDS)
def test_token_ids(case):
    reports, prompt, completion = IDS[case]
    message = message_of(*(TokenIdsDelta(*report) for report in reports))
    assert (message.prompt_token_ids, message.completion_token_ids) == (prompt, completion)


METADATA = {
    "merged by key": ([({"a": "x"}, ()), ({"a": "y", "b": 1}, ())], {"a": "xy", "b": 1}),
    "a snapshot replaces": ([({"a": "x"}, ("a",)), ({"a": "xy"}, ("a",))], {"a": "xy"}),
    "once declared is enough, whenever": ([({"a": "x"}, ()), ({"a": "xy"}, ()), ({}, ("a",))], {"a": "xy"}),
    "None erases no snapshot": ([({"a": "x"}, ("a",)), ({"a": None}, ("a",))], {"a": "x"}),
    "None erases nothing else": ([({"b": 1}, ()), ({"b": None}, ())], {"b": 1}),
    "one key is a snapshot, another is not": ([({"a": [1], "b": [1]}, ("a",)), ({"a": [2], "b": [2]}, ())], {"a": [2], "b": [1, 2]}),
}


@pytest.mark.parametrize("case", METADATA)
def test_metadata(case):
    reports, expected = METADATA[case]
    message = message_of(*(MetadataDelta(values, keys) for values, keys in reports))
    assert message.metadata == expected
    with pytest.raises(TypeError):
        message.metadata["new"] = 1


def test_logprobs_and_parsed_values_are_merged_and_frozen():
    message = message_of(
        LogprobsDelta({"content": [1]}),
        LogprobsDelta(None),
        LogprobsDelta({"content": [2]}),
        ParsedDelta({"a": "x"}),
        ParsedDelta({"a": "y"}),
    )
    assert message.logprobs == {"content": [1, 2]}
    assert message.parsed == {"a": "xy"}
    for value in (message.logprobs, message.parsed):
        with pytest.raises(TypeError):
            value["new"] = 1


def test_a_tool_result_takes_the_last_call_id_and_says_a_change():
    accumulator = folded(
        ToolResultDelta("a", "f"), TextDelta("out"), ToolResultDelta("", "g"), ToolResultDelta("b", None, "error"), PartDelta(PNG)
    )
    (result,) = accumulator.tool_message().results
    assert (result.call_id, result.name, result.state, result.text, result.parts) == ("b", "f", "error", "out", (TextPart("out"), PNG))
    assert [(warning.code, warning.detail) for warning in accumulator.choices[0].warnings] == [("changing_tool_id", "a became b")]


def test_an_empty_tool_message_is_a_success_without_an_id():
    (result,) = Accumulator().tool_message().results
    assert (result.call_id, result.state, result.parts) == ("", "success", ())


# ------------------------------------------------------------------------------------------ choices and snapshots


def test_choices_grow_side_by_side():
    deltas = [TextDelta("b", choice=1), TextDelta("a"), ToolCallFragment("x", "f", "{}", choice=2), TextDelta("B", choice=1), TextDelta("A"),
              FinishDelta("length", choice=1), FinishDelta("stop"), FinishDelta("stop", choice=2), UsageDelta(Usage(output_tokens=3)), Ended()]  # fmt: skip
    messages = folded(*deltas).messages()
    assert [message.text for message in messages] == ["aA", "bB", ""]
    assert [message.finish_reason for message in messages] == ["stop", "length", "tool_calls"]
    assert {message.usage.output_tokens for message in messages} == {3}


def test_a_message_of_nothing_is_an_empty_assistant_message():
    assert Accumulator().message() == AssistantMessage.assemble()
    assert Accumulator().messages() == (AssistantMessage.assemble(),)
    assert Accumulator().message(choice=5) == AssistantMessage.assemble()


def test_a_snapshot_disturbs_nothing():
    deltas = [TextDelta("a"), ToolCallFragment(None, "f", '{"a":'), ReasoningDelta("r"), ToolCallFragment(arguments="1}"), MediaDelta("audio", b"x"),
              FinishDelta("tool_calls"), TextDelta("b"), UsageDelta(Usage(input_tokens=1)), FinishDelta("stop"), Ended()]  # fmt: skip
    looked_at = Accumulator()
    for delta in deltas:
        looked_at.add(delta)
        looked_at.messages()
    assert looked_at.messages() == folded(*deltas).messages()


# ------------------------------------------------------------------------------------------ bounds

BOUNDS = {
    "parts": (Bounds(max_parts=2), [TextDelta("a"), ReasoningDelta("b"), ReasoningDelta("b")], [RefusalDelta("c"), PartDelta(PNG), ToolCallFragment("a", "f")]),
    "tool_calls": (
        Bounds(max_tool_calls=2),
        [ToolCallFragment("a", "f", "{", 0), ToolCallFragment("b", "g", part=9), TextDelta("x"), ToolCallFragment("a", arguments="}")],
        [ToolCallFragment("c", "h"), ToolCallFragment("c", "h", part=10), ToolCallSettled(11), PartDelta(ToolCallPart(id="c", name="h"))],
    ),
    "argument_bytes": (
        Bounds(max_argument_bytes=4),
        [ToolCallFragment("a", "f", "1234", 0), ToolCallFragment("b", "g", {}, 1), ToolCallFragment("c", "h", "12", part=9)],
        [
            ToolCallFragment("a", arguments="5"),
            ToolCallFragment("d", "f", "12345"),
            ToolCallFragment("b", arguments={"a": 1}),
            ToolCallFragment("d", "f", "12345", part=10),
            ToolCallSettled(9, arguments="12345"),
            PartDelta(ToolCallPart(name="f", arguments="12345")),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", BOUNDS)
def test_the_delta_that_passes_a_bound_is_not_taken(which):
    bounds, fitting, passing = BOUNDS[which]
    accumulator = Accumulator(bounds=bounds)
    accumulator.extend([*fitting, FinishDelta("stop")])
    before = accumulator.message()
    for delta in passing:
        with pytest.raises(LimitExceeded) as raised:
            accumulator.add(delta)
        assert raised.value.which == which
        assert accumulator.message() == before
        if which != "argument_bytes":  # whose sizes count by call
            with pytest.raises(LimitExceeded):
                accumulator.add(msgspec.structs.replace(delta, choice=1))
        assert len(accumulator.messages()) == 1, "nor is a choice opened for it"
    if which != "argument_bytes":
        accumulator.add(fitting[-1])  # what is open already may grow


def test_more_arguments_of_a_numbered_part_pass_a_bound_too():
    accumulator = Accumulator(bounds=Bounds(max_argument_bytes=4))
    accumulator.add(ToolCallFragment("c", "h", "12", part=9))
    with pytest.raises(LimitExceeded, match="more than 4 argument_bytes"):
        accumulator.add(ToolCallFragment(arguments="345", part=9))
    with pytest.raises(LimitExceeded):
        accumulator.add(ToolCallFragment("c", arguments="345", part=9))
    assert accumulator.message().tool_calls[0].arguments == "12"


def test_a_choice_of_which_something_is_known_stays_when_a_bound_is_passed():
    accumulator = Accumulator(bounds=Bounds(max_parts=0))
    accumulator.extend([LogprobsDelta({}, 1), TokenIdsDelta(prompt=(), choice=2), TokenIdsDelta(choice=3), ToolCallFragment(choice=3)])
    for choice in (1, 2, 3):
        with pytest.raises(LimitExceeded):
            accumulator.add(TextDelta("x", choice=choice))
    assert sorted(accumulator.choices) == [1, 2]


def test_every_order_of_three_keyed_texts_gives_one_message():
    deltas = [TextDelta("a", 0), TextDelta("b", 1), TextDelta("c", 2)]
    assert {message_of(*order).text for order in permutations(deltas)} == {"abc"}


def test_opaque_data_goes_to_its_part_and_the_last_value_of_a_key_counts():
    message = message_of(
        TextDelta("a", 4),
        PartDataDelta({"id": "m1", "phase": "x"}, "text", 4),
        PartDataDelta({"phase": "y"}, "text", 4),
        ReasoningDelta("b", 2),
        PartDataDelta({"id": "r"}, "reasoning", 2),
        PartDataDelta({}, "refusal", 9),
    )
    assert message.parts == (ReasoningPart("b", provider_data={"id": "r"}), TextPart("a", provider_data={"id": "m1", "phase": "y"}))


def test_opaque_data_without_a_part_goes_to_the_last_of_its_kind_and_opens_one_where_there_is_none():
    message = message_of(TextDelta("a"), RefusalDelta("no"), PartDataDelta({"k": 1}), PartDataDelta({"k": 2}, "reasoning"))
    assert message.parts == (TextPart("a", provider_data={"k": 1}), RefusalPart("no"), ReasoningPart(provider_data={"k": 2}))


def test_opaque_data_is_not_substance_that_makes_a_finish_word_early():
    message = message_of(TextDelta("a"), FinishDelta("stop"), PartDataDelta({"k": 1}))
    assert message.warnings == ()
    assert message.finish_reason == "stop"


def test_a_call_that_the_provider_runs_grows_from_pieces():
    message = message_of(
        ProviderToolFragment(id="s1", name="search", provider="p", part=1, provider_data={"a": 1}),
        TextDelta("later", 2),
        ProviderToolFragment(arguments='{"q":', part=1),
        ProviderToolFragment(name="other", arguments='"x"}', part=1),
        ProviderToolFragment(result=[1], part=1, provider_data={"b": 2}),
        ProviderToolFragment(id="s2", part=1),
    )
    call = ProviderToolPart(
        id="s1",
        name="search",
        arguments='{"q":"x"}',
        parsed={"q": "x"},
        result=[1],
        provider="p",
        provider_data={"a": 1, "b": 2},
    )
    assert message.parts == (call, TextPart("later"))
    assert message.tool_calls == ()


def test_arguments_of_a_call_that_the_provider_runs_stay_text_where_they_are_no_object():
    message = message_of(ProviderToolFragment(name="python"), ProviderToolFragment(arguments="print(1)"), ProviderToolFragment())
    assert message.parts == (ProviderToolPart(name="python", arguments="print(1)"),)


def test_arguments_of_a_call_that_the_provider_runs_are_bounded():
    accumulator = Accumulator(bounds=Bounds(max_argument_bytes=3))
    accumulator.add(ProviderToolFragment(arguments="ab", part=0))
    with pytest.raises(LimitExceeded):
        accumulator.add(ProviderToolFragment(arguments="cd", part=0))
    with pytest.raises(LimitExceeded):
        accumulator.add(ProviderToolFragment(arguments="abcd"))
    assert accumulator.message().parts == (ProviderToolPart(arguments="ab"),)


def test_a_message_that_is_begun_anew_keeps_nothing_but_what_was_said():
    first = [
        MessageStart("m1", "model-a"),
        TextDelta("a", 0),
        ToolCallFragment("c", "f", '{"x":', part=1),
        UsageDelta(Usage(input_tokens=3, output_tokens=1)),
        MetadataDelta({"seen": 1}),
        WarningDelta(Warning("invalid_utf8")),
        FinishDelta("tool_use"),
        Restarted(),
    ]
    second = [MessageStart("m2"), TextDelta("b", 0), TextDelta("c"), FinishDelta("end_turn"), Ended()]
    message = message_of(*first, *second, is_from_wire=True)
    alone = message_of(*second, is_from_wire=True)
    assert message == msgspec.structs.replace(alone, warnings=(Warning("invalid_utf8"),))


def test_what_was_dropped_counts_no_more_for_the_bounds():
    accumulator = Accumulator(bounds=Bounds(max_parts=1, max_tool_calls=1))
    accumulator.extend([ToolCallFragment("a", "f", "{}"), Restarted(), ToolCallFragment("b", "f", "{}")])
    assert [call.id for call in accumulator.message().tool_calls] == ["b"]
