"""E1 to E27: edge cases that neither of openJiuwen's test suites covers, with what a good implementation gives."""

from __future__ import annotations

import pytest

from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import ToolCallFragment
from headrace.messages.parts import TextPart


def joined(*fragments, kind="function", **fields):
    """Give each fragment a chunk of its own and add them up."""
    chunks = [AssistantMessageChunk(tool_calls=[ToolCallFragment(*fragment, kind=kind)]) for fragment in fragments]
    return MessageChunk.join([AssistantMessageChunk(), *chunks, AssistantMessageChunk(**fields)])


# Fragments are (id, name, arguments, index); an id of None in the result means that the wire gave none.
CALLS = {
    "E1 no ids, two indexes": ([(None, "f1", "{}", 0), (None, "f2", "{}", 1)], [(None, "f1", "{}", 0), (None, "f2", "{}", 1)]),
    "E2 interleaved by index": (
        [("a", "f1", "", 0), ("b", "f2", "", 1), ("", "", '{"x":1}', 0), ("", "", '{"y":2}', 1)],
        [("a", "f1", '{"x":1}', 0), ("b", "f2", '{"y":2}', 1)],
    ),
    "E3 the same with ids repeated": (
        [("a", "f1", "", 0), ("b", "f2", "", 1), ("a", "", '{"x":1}', 0), ("b", "", '{"y":2}', 1)],
        [("a", "f1", '{"x":1}', 0), ("b", "f2", '{"y":2}', 1)],
    ),
    "E4 one has an id, one has none": ([(None, "f1", "{}", 0), ("b", "f2", "{}", 1)], [(None, "f1", "{}", 0), ("b", "f2", "{}", 1)]),
    "E5 OpenAI's usual order": (
        [("a", "f1", "", 0), ("", "", '{"x":1}', 0), ("b", "f2", "", 1), ("", "", '{"y":2}', 1)],
        [("a", "f1", '{"x":1}', 0), ("b", "f2", '{"y":2}', 1)],
    ),
    "E6 the index is used again": (
        [("call_1", "f", "{}", 0), ("call_2", "g", "{}", 0)],
        [("call_1", "f", "{}", 0), ("call_2", "g", "{}", 0)],
    ),
    # The source asks for "keep or renumber all, not mixed": both wire indexes are kept.
    "E7 indexes that do not begin at 0": ([("a", "f1", "{}", 5), ("b", "f2", "{}", 6)], [("a", "f1", "{}", 5), ("b", "f2", "{}", 6)]),
    "E8 an empty chunk before": ([("a", "f", "", 5)], [("a", "f", "", 5)]),
    "E9 a fragment that says nothing": ([("", "", "", 0), (None, None, None, None)], []),
    "E10 two whole calls of one tool": (
        [(None, "f", '{"a":1}', None), (None, "f", '{"b":2}', None)],
        [(None, "f", '{"a":1}', None), (None, "f", '{"b":2}', None)],
    ),
    "E11 two whole calls of two tools": (
        [(None, "f", "{}", None), (None, "g", "{}", None)],
        [(None, "f", "{}", None), (None, "g", "{}", None)],
    ),
    # "First wins" (`get_`) is the usual contract; but a piece of a name that comes before any arguments is a piece of it.
    "E12 the name in pieces": ([("a", "get_", "", None), ("", "weather", "", None)], [("a", "get_weather", "", None)]),
    "E13 the id after the name": ([(None, "f", "", None), ("a", "", "{}", None)], [("a", "f", "{}", None)]),
    "E14 the index comes late": ([("a", "f", "{", None), ("a", "", "}", 3)], [("a", "f", "{}", 3)]),
    # Another index is another call: both are kept, neither is whole, neither will run.
    "E15 the name at another index": ([("", "", "{", 0), ("", "f", "}", 1)], [(None, "", "{", 0), (None, "f", "}", 1)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_tool_calls(name):
    fragments, expected = CALLS[name]
    total = joined(*fragments)
    assert [(call.id, call.name, call.arguments, call.index) for call in total.tool_calls] == expected
    message = total.to_message()
    assert [(call.name, call.arguments, call.index) for call in message.tool_calls] == [call[1:] for call in expected]
    assert len({call.id for call in message.tool_calls if call.id}) == len(expected), "each call has an id of its own"


def test_e15_neither_half_is_runnable():
    message = joined(("", "", "{", 0), ("", "f", "}", 1), finish_reason="tool_calls").to_message()
    assert [call.runnable for call in message.tool_calls] == [False, False]


def test_e16_the_left_chunk_itself_holds_two_fragments_of_one_call():
    left = AssistantMessageChunk(tool_calls=[ToolCallFragment("a", "f", "{"), ToolCallFragment("a", "", "}")])
    for total in (left, left + AssistantMessageChunk()):
        assert [(call.id, call.name, call.arguments) for call in total.tool_calls] == [("a", "f", "{}")]
        assert [call.arguments for call in total.to_message().tool_calls] == ["{}"]


def test_e17_two_fragments_of_a_custom_call():
    total = joined(("a", "sql", "select ", None), ("a", "", "1", None), kind="custom", finish_reason="tool_calls")
    (call,) = total.to_message().tool_calls
    assert (call.kind, call.arguments, call.parsed, call.runnable) == ("custom", "select 1", None, True)
    assert [(fragment.kind, fragment.arguments) for fragment in total.tool_calls] == [("custom", "select 1")]


def test_e18_a_list_and_an_empty_text():
    total = AssistantMessageChunk([{"type": "text", "text": "kept"}]) + AssistantMessageChunk("", usage={"input_tokens": 1})
    assert total.text == "kept"
    assert total.to_message().parts == (TextPart("kept"),)


def test_e19_a_text_and_a_list():
    total = AssistantMessageChunk("abc") + AssistantMessageChunk([{"type": "text", "text": "def"}])
    assert [part.text for part in total.to_message().parts] == ["abc", "def"]
    assert total.text == "abcdef"


def test_e20_usage_in_two_parts_keeps_both_counters():
    total = AssistantMessageChunk(usage={"input_tokens": 9}) + AssistantMessageChunk(usage={"output_tokens": 4})
    for usage in (total.usage, total.to_message().usage):
        assert (usage.input_tokens, usage.output_tokens) == (9, 4)


PARSED = {"E21 two mappings": ({"a": "1"}, {"b": "2"}, {"a": "1", "b": "2"}), "E22 zero is a value": (5, 0, 0)}


@pytest.mark.parametrize("name", PARSED)
def test_parsed(name):
    left, right, expected = PARSED[name]
    total = AssistantMessageChunk(parsed=left) + AssistantMessageChunk(parsed=right)
    assert total.parsed == total.to_message().parsed == expected


def test_e23_an_empty_finish_reason_erases_nothing():
    total = AssistantMessageChunk(finish_reason="stop") + AssistantMessageChunk(finish_reason="")
    assert total.finish_reason == total.to_message().finish_reason == "stop"


def test_e24_no_reasoning_and_no_reasoning_is_none():
    total = AssistantMessageChunk(reasoning=None) + AssistantMessageChunk(reasoning=None)
    assert total.reasoning is None
    assert total.to_message().parts == ()


def test_e25_metadata_merges_by_key_and_snapshots_replace():
    total = AssistantMessageChunk(metadata={"a": 1, "b": "x"}) + AssistantMessageChunk(metadata={"c": [1], "b": "y"})
    assert total.metadata == total.to_message().metadata == {"a": 1, "b": "xy", "c": [1]}
    total += AssistantMessageChunk(metadata={"b": "whole"}, snapshot_keys=["b"])
    assert total.metadata == total.to_message().metadata == {"a": 1, "b": "whole", "c": [1]}


def test_e26_the_first_name_stays():
    total = AssistantMessageChunk(name="bob") + AssistantMessageChunk(name="al")
    assert total.name == total.to_message().name == "bob"


def test_e27_a_missing_list_of_logprobs_erases_nothing():
    total = AssistantMessageChunk(logprobs={"content": ["a"]}) + AssistantMessageChunk(logprobs={"content": None})
    assert total.logprobs == total.to_message().logprobs == {"content": ["a"]}
