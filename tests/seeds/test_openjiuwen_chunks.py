"""openJiuwen's own cases for message chunks, under their own names (Python: 31 cases; Java: JT1 to JT10).

Where the contract differs from the source, the test says so and why.
"""

from __future__ import annotations

import dataclasses

import pydantic
import pytest

from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk, ToolMessageChunk
from headrace.messages.deltas import ToolCallFragment
from headrace.messages.value_merge import merge_values


class ToolCall(pydantic.BaseModel):
    """The source's model of a tool call."""

    id: str | None
    type: str = "function"
    name: str
    arguments: str
    index: int | None = None


def tc(id_, name, arguments, index=None, kind="function"):
    return ToolCallFragment(id_, name, arguments, index, kind)


def chunk(*calls, **fields):
    return AssistantMessageChunk(tool_calls=calls, **fields)


def calls_of(total):
    """Read the calls by both ways, which must agree; an id that the source calls None is None in the chunk and made up in the message."""
    in_chunk, in_message = total.tool_calls, total.to_message().tool_calls
    assert [(call.name, call.arguments, call.index) for call in in_chunk] == [
        (call.name, call.arguments, call.index) for call in in_message
    ]
    assert all(call.id is None or call.id == made.id for call, made in zip(in_chunk, in_message, strict=True))
    assert len({call.id for call in in_message}) == len(in_message), "ids are unique in a message"
    return [(call.id, call.name, call.arguments, call.index) for call in in_chunk]


MERGE_VALUES = {
    "merge_parser_content_both_none": (None, None, None),
    "merge_parser_content_left_none": (None, "right", "right"),
    "merge_parser_content_right_none": ("left", None, "left"),
    "merge_parser_content_strings": ("left", "right", "leftright"),
    "merge_parser_content_lists": ([1, 2], [3, 4], [1, 2, 3, 4]),
    "merge_parser_content_dicts": ({"a": "1"}, {"b": "2"}, {"a": "1", "b": "2"}),
    "merge_parser_content_dict_string_concat": ({"key": "left"}, {"key": "right"}, {"key": "leftright"}),
    "merge_dicts_empty": ({}, {"a": 1}, {"a": 1}),
    "merge_dicts_simple": ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    "merge_dicts_string_concat": ({"key": "left"}, {"key": "right"}, {"key": "leftright"}),
    "merge_dicts_list_concat": ({"key": [1, 2]}, {"key": [3, 4]}, {"key": [1, 2, 3, 4]}),
    "merge_dicts_nested": ({"outer": {"inner": "left"}}, {"outer": {"inner": "right"}}, {"outer": {"inner": "leftright"}}),
    "merge_dicts_overwrite": ({"key": "string"}, {"key": 123}, {"key": 123}),
}


@pytest.mark.parametrize("name", MERGE_VALUES)
def test_cases_1_to_13_of_values(name):
    left, right, expected = MERGE_VALUES[name]
    assert merge_values(left, right) == expected


def test_case_14_merge_pydantic_models_tool_call():
    merged = merge_values(
        ToolCall(id="call_1", name="func", arguments="{", index=0), ToolCall(id="call_1", name="", arguments='"x": 1}', index=None)
    )
    # The source expects "call_1call_1" (and, unseen, "functionfunction"). An id, a type, an index name a thing: they are never joined.
    assert merged == ToolCall(id="call_1", type="function", name="func", arguments='{"x": 1}', index=0)


def test_case_15_merge_pydantic_models_different_types():
    right = {"not": "a_tool_call"}
    assert merge_values(ToolCall(id="call_1", name="func", arguments="{}", index=0), right) == right


def test_case_16_assistant_add_merges_content_strings():
    total = AssistantMessageChunk("Hello ") + AssistantMessageChunk("world!")
    assert total.text == total.to_message().text == "Hello world!"


def test_case_17_assistant_add_merges_content_lists():
    total = AssistantMessageChunk([{"type": "text", "text": "Hello"}]) + AssistantMessageChunk([{"type": "text", "text": "world"}])
    assert [part.text for part in total.to_message().parts] == ["Hello", "world"]
    assert total.text == "Helloworld"


CALLS = {
    "18 assistant_add_merges_tool_calls_with_same_id": (
        [tc("call_1", "func", "{", 0), tc("call_1", "", '"x": 1}')],
        [("call_1", "func", '{"x": 1}', 0)],
    ),
    "19 assistant_add_appends_different_tool_calls": (
        [tc("call_1", "func1", "{}", 0), tc("call_2", "func2", "{}", 1)],
        [("call_1", "func1", "{}", 0), ("call_2", "func2", "{}", 1)],
    ),
    # 20 renumbers the indexes to [0, 1] in the source. Here the place is the place in the tuple, and `index` stays what the wire said.
    "20 assistant_add_renumbers_appended_stream_tool_calls": (
        [tc("call_1", "func1", "{}", 0), tc("call_2", "func2", "{}", 0)],
        [("call_1", "func1", "{}", 0), ("call_2", "func2", "{}", 0)],
    ),
    "21 assistant_add_merges_tool_calls_without_id": (
        [tc(None, "func", "{", 0), tc(None, "", '"x": 1}')],
        [(None, "func", '{"x": 1}', 0)],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_cases_18_to_21_of_tool_calls(name):
    fragments, expected = CALLS[name]
    assert calls_of(chunk(fragments[0]) + chunk(fragments[1])) == expected


def test_case_20_the_places_are_0_and_1():
    total = chunk(tc("call_1", "func1", "{}", 0)) + chunk(tc("call_2", "func2", "{}", 0))
    assert [(n, call.id) for n, call in enumerate(total.to_message().tool_calls)] == [(0, "call_1"), (1, "call_2")]


def test_case_22_assistant_add_copies_tool_call_with_index():
    assert calls_of(chunk(tc("call_1", "func", "{}", 5)) + chunk()) == [("call_1", "func", "{}", 5)]


def test_case_23_assistant_add_merges_reasoning_content():
    total = AssistantMessageChunk(reasoning="Thinking step 1") + AssistantMessageChunk(reasoning="Thinking step 2")
    assert total.reasoning == total.to_message().reasoning == "Thinking step 1Thinking step 2"


def test_case_24_assistant_add_handles_none_reasoning_content():
    total = AssistantMessageChunk(reasoning=None) + AssistantMessageChunk(reasoning="Some reasoning")
    assert total.reasoning == total.to_message().reasoning == "Some reasoning"


def test_case_25_assistant_add_keeps_latest_non_empty_metadata():
    # In the source every right side that is not empty replaces the whole. Here metadata merges by key, and a key that holds
    # snapshots, each one the whole so far, is declared as such.
    key = "anthropic_content_blocks"
    first = AssistantMessageChunk(metadata={key: [{"type": "thinking", "thinking": "a"}]}, snapshot_keys=(key,))
    second = AssistantMessageChunk(metadata={key: [{"type": "thinking", "thinking": "ab"}]}, snapshot_keys=(key,))
    total = first + second + AssistantMessageChunk(metadata={})
    assert total.metadata == total.to_message().metadata == {key: [{"type": "thinking", "thinking": "ab"}]}


def test_case_26_assistant_add_merges_finish_reason():
    total = AssistantMessageChunk(finish_reason="null") + AssistantMessageChunk(finish_reason="stop")
    assert total.finish_reason == total.to_message().finish_reason == "stop"


def test_case_27_assistant_add_ignores_null_finish_reason():
    total = AssistantMessageChunk(finish_reason="stop") + AssistantMessageChunk(finish_reason="null")
    assert total.finish_reason == total.to_message().finish_reason == "stop"


def test_case_28_assistant_add_raises_type_error_for_mismatched_types():
    with pytest.raises(TypeError, match="cannot merge AssistantMessageChunk and str") as raised:
        _ = AssistantMessageChunk("Hello") + "not a chunk"
    assert isinstance(raised.value, UsageError)


def test_case_29_tool_add_merges_content():
    total = ToolMessageChunk("Partial ", call_id="call_123") + ToolMessageChunk("result", call_id="call_123")
    assert total.text == total.to_message().text == "Partial result"


def test_case_30_tool_add_preserves_tool_call_id():
    total = ToolMessageChunk("", call_id="call_123") + ToolMessageChunk("result", call_id="")
    assert total.call_id == total.to_message().results[0].call_id == "call_123"


def test_case_31_tool_add_handles_none_content():
    total = ToolMessageChunk(None, call_id="call_123") + ToolMessageChunk("result", call_id="call_123")
    assert total.text == total.to_message().text == "result"


# ------------------------------------------------------------------------------------------ Java


def test_jt1_merge_parser_content_in_one_method():
    for name in list(MERGE_VALUES)[:7]:
        left, right, expected = MERGE_VALUES[name]
        assert merge_values(left, right) == expected, name


def test_jt2_merge_dicts():
    for name in list(MERGE_VALUES)[7:]:
        left, right, expected = MERGE_VALUES[name]
        assert merge_values(left, right) == expected, name


def test_jt3_merge_pydantic_models_merges_tool_call_fields():
    @dataclasses.dataclass(frozen=True)
    class JavaToolCall:
        id: str
        type: str
        name: str
        arguments: str
        index: int | None

    left = JavaToolCall("call_1", "function", "func", "{", 0)
    merged = merge_values(left, JavaToolCall("call_1", "function", "", '"x": 1}', None))
    # As case 14: the source joins the ids; an id names a thing, and stays.
    assert merged == JavaToolCall("call_1", "function", "func", '{"x": 1}', 0)


def test_jt4_assistant_chunk_merge_handles_content_tool_calls_reasoning_and_finish_reason():
    left = chunk(tc("call_1", "func", "{", 0), content="Hello ", reasoning="step 1", finish_reason="null")
    right = chunk(tc("call_1", "", '"x": 1}'), content="world!", reasoning="step 2", finish_reason="stop")
    total = left + right
    message = total.to_message()
    assert total.text == message.text == "Hello world!"
    assert total.reasoning == message.reasoning == "step 1step 2"
    assert calls_of(total) == [("call_1", "func", '{"x": 1}', 0)]
    assert message.tool_calls[0].parsed == {"x": 1}
    # The chunk says the word so far; the whole message weighs it against the calls that came.
    assert total.finish_reason == "stop"
    assert message.finish_reason == "tool_calls"
    assert message.finish_reason_raw == "stop"


def test_jt5_assistant_chunk_merge_concatenates_lists_and_streaming_fields():
    left = AssistantMessageChunk(
        [{"type": "text", "text": "a"}], prompt_token_ids=[1, 2], completion_token_ids=[10], logprobs={"content": ["a"]}
    )
    right = AssistantMessageChunk(
        [{"type": "text", "text": "b"}], prompt_token_ids=[3, 4], completion_token_ids=[11, 12], logprobs={"content": ["b"]}
    )
    total = left + right
    message = total.to_message()
    assert len(message.parts) == 2
    assert total.prompt_token_ids == message.prompt_token_ids == (1, 2)
    assert total.completion_token_ids == message.completion_token_ids == (10, 11, 12)
    assert total.logprobs == message.logprobs == {"content": ["a", "b"]}


def test_jt6_tool_chunk_merge_concatenates_content_and_preserves_tool_call_id():
    total = ToolMessageChunk("Partial ", call_id="call_123") + ToolMessageChunk("result", call_id="")
    assert total.text == total.to_message().text == "Partial result"
    assert total.call_id == total.to_message().results[0].call_id == "call_123"


def test_jt7_assistant_chunk_merge_keeps_parallel_calls_with_distinct_indexes_separate():
    total = chunk(tc(None, "f", "{}", 0)) + chunk(tc(None, "g", "{}", 1))
    assert calls_of(total) == [(None, "f", "{}", 0), (None, "g", "{}", 1)]


MERGE_UTILS = {
    "both null": (None, None, None),
    "left null": (None, "b", "b"),
    "right null": ("a", None, "a"),
    "strings": ("hello ", "world", "hello world"),
    "empty string": ("", "hello", "hello"),
    "lists": ([1, 2, 3], [4, 5], [1, 2, 3, 4, 5]),
    "empty lists": ([], [], []),
    "disjoint maps": ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    "type clash": ("string", 42, 42),
    "overlapping strings": ({"k": "a"}, {"k": "b"}, {"k": "ab"}),
    "overlapping lists": ({"k": [1]}, {"k": [2]}, {"k": [1, 2]}),
    "overlapping maps": ({"k": {"x": 1}}, {"k": {"y": 2}}, {"k": {"x": 1, "y": 2}}),
    "right wins on type clash": ({"k": "a"}, {"k": 1}, {"k": 1}),
    "empty map left": ({}, {"a": 1}, {"a": 1}),
    "empty map right": ({"a": 1}, {}, {"a": 1}),
    "two levels deep": ({"a": {"b": {"c": "x"}}}, {"a": {"b": {"c": "y"}}}, {"a": {"b": {"c": "xy"}}}),
}


@pytest.mark.parametrize("name", MERGE_UTILS)
def test_jt8_merge_utils(name):
    left, right, expected = MERGE_UTILS[name]
    assert merge_values(left, right) == expected


def test_jt8_merge_utils_inputs_not_modified():
    left, right = {"k": [1], "m": {"x": "a"}}, {"k": [2], "m": {"x": "b"}}
    merged = merge_values(left, right)
    merged["k"].append(3)
    merged["m"]["x"] = "changed"
    assert (left, right) == ({"k": [1], "m": {"x": "a"}}, {"k": [2], "m": {"x": "b"}})


def test_jt9_old_message_chunk_test():
    # The oldest Java rule joins any two names, here to "foobar". A name is appended only while no arguments have come: later it is a
    # repeat, which providers do send; pieces of a name come before its arguments (E12).
    assert calls_of(chunk(tc("call_1", "foo", "{")) + chunk(tc("call_1", "bar", "}"))) == [("call_1", "foo", "{}", None)]
    total = ToolMessageChunk("a", call_id="t1") + ToolMessageChunk("b", call_id="t2")
    assert total.call_id == total.to_message().results[0].call_id == "t2"
    assert [warning.code for warning in total.warnings] == ["changing_tool_id"]


def test_jt10_merge_dicts_recursive():
    left, right = {"a": {"x": "1"}, "b": [1], "c": "m"}, {"a": {"y": "2"}, "b": [2], "c": "n", "d": 3}
    assert merge_values(left, right) == {"a": {"x": "1", "y": "2"}, "b": [1, 2], "c": "mn", "d": 3}
