"""Blocks of Converse that come otherwise than they should."""

from __future__ import annotations

import base64

import pytest

from aws_bytes import aws_event, aws_events
from bedrock_samples import call, delta, message, start, stop
from headrace._json import loads
from headrace.decoding import decode_stream
from headrace.messages.parts import ProviderItem, ProviderToolPart, ReasoningPart


def decode(body, **options):
    return decode_stream(body, protocol="bedrock-converse", provider="bedrock", **options)


def codes(result):
    return [warning.code for warning in result.warnings]


def test_arguments_without_a_start_are_kept_apart_and_never_run():
    result = decode(message(delta(1, {"toolUse": {"input": '{"a":1}'}}), stop(1), reason="tool_use"))
    (only,) = result.message.tool_calls
    assert (only.name, only.arguments, only.runnable) == ("", '{"a":1}', False)
    assert "missing_block_start" in codes(result)
    assert "missing_tool_name" in codes(result)


def test_a_number_that_is_used_again_is_another_call():
    result = decode(message(*call(0, "a", "f", '{"x":1}'), *call(0, "b", "g", '{"x":', "2}"), reason="tool_use"))
    assert [(c.id, c.name, c.parsed) for c in result.message.tool_calls] == [("a", "f", {"x": 1}), ("b", "g", {"x": 2})]
    assert codes(result) == ["reused_tool_index"]


def test_blocks_without_a_number_follow_each_other():
    body = aws_events(
        {"contentBlockDelta": {"delta": {"text": "Hi"}}},
        {"contentBlockStop": {}},
        {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t", "name": "f"}}}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockStop": {}},
        {"messageStop": {"stopReason": "tool_use"}},
    )
    result = decode(body)
    assert (result.message.text, [c.parsed for c in result.message.tool_calls]) == ("Hi", [{}])


def test_a_start_that_says_nothing_begins_nothing():
    result = decode(message(start(0, {}), delta(0, {"text": "Hi"}), stop(0), stop(7)))
    assert (result.message.text, codes(result)) == ("Hi", [])


@pytest.mark.parametrize(
    ("given", "pieces", "want"), [({"a": 1}, [], {"a": 1}), ({"a": 1}, ['{"a":2}'], {"a": 2}), ({}, [], {}), ('{"a":3}', [], {"a": 3})]
)
def test_arguments_in_the_start_count_only_where_no_others_come(given, pieces, want):
    body = message(
        start(0, {"toolUse": {"toolUseId": "t", "name": "f", "input": given}}),
        *(delta(0, {"toolUse": {"input": piece}}) for piece in pieces),
        stop(0),
        reason="tool_use",
    )
    assert [c.parsed for c in decode(body).message.tool_calls] == [want]


def test_arguments_in_the_start_count_also_where_the_block_has_no_end():
    body = message(start(0, {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}}), reason="tool_use")
    assert [c.parsed for c in decode(body).message.tool_calls] == [{"a": 1}]


def test_arguments_as_an_object_are_taken_and_said():
    result = decode(
        message(
            start(0, {"toolUse": {"toolUseId": "t", "name": "f"}}), delta(0, {"toolUse": {"input": {"a": 1}}}), stop(0), reason="tool_use"
        )
    )
    assert [c.parsed for c in result.message.tool_calls] == [{"a": 1}]
    assert codes(result) == ["arguments_not_string"]


def test_unknown_data_of_a_call_stays_with_it():
    result = decode(message(start(0, {"toolUse": {"toolUseId": "t", "name": "f", "mood": "calm"}}), stop(0), reason="tool_use"))
    assert result.message.tool_calls[0].provider_data == {"mood": "calm"}


def test_sealed_thinking_in_pieces_is_joined_by_what_the_pieces_hold():
    pieces = [base64.b64encode(blob).decode() for blob in (b"a", b"bc")]
    body = message(*(delta(0, {"reasoningContent": {"redactedContent": piece}}) for piece in pieces), stop(0))
    assert decode(body).message.parts == (ReasoningPart(encrypted=base64.b64encode(b"abc").decode()),)


def test_sealed_thinking_that_is_no_base64_stays_as_it_came():
    body = message(*(delta(0, {"reasoningContent": {"redactedContent": piece}}) for piece in ("a*", "b*")), stop(0))
    assert decode(body).message.parts == (ReasoningPart(encrypted="a*b*"),)


def test_sealed_thinking_comes_out_also_where_the_stream_is_cut():
    result = decode(aws_events(delta(0, {"reasoningContent": {"redactedContent": "YQ=="}})))
    assert result.message.parts == (ReasoningPart(encrypted="YQ=="),)
    assert result.error.kind == "stream_truncated"


def server(index, identifier):
    return [
        start(index, {"toolUse": {"toolUseId": identifier, "name": "search", "type": "server_tool_use"}}),
        delta(index, {"toolUse": {"input": "{}"}}),
        stop(index),
    ]


def result_of(index, identifier):
    return [
        start(index, {"toolResult": {"toolUseId": identifier, "type": "search_result"}}),
        delta(index, {"toolResult": [{"text": identifier}]}),
        stop(index),
    ]


def test_a_result_that_does_not_follow_its_call_keeps_a_place_of_its_own():
    parts = decode(message(*server(0, "a"), *server(1, "b"), *result_of(2, "a"), *result_of(3, "b"))).message.parts
    assert [type(part) for part in parts] == [ProviderToolPart, ProviderToolPart, ProviderItem, ProviderItem]
    assert loads(parts[2].raw) == {"toolResult": {"toolUseId": "a", "type": "search_result", "content": [{"text": "a"}]}}
    assert [part.result for part in parts[:2]] == [None, None]


def test_a_result_without_a_start_is_kept():
    (item,) = decode(message(delta(0, {"toolResult": [{"text": "x"}]}), stop(0))).message.parts
    assert loads(item.raw) == {"toolResult": {"content": [{"text": "x"}]}}


def test_an_image_that_is_no_base64_is_kept():
    result = decode(message(start(0, {"image": {"format": "png"}}), delta(0, {"image": {"error": {"message": "blocked"}}}), stop(0)))
    assert result.message.metadata["provider_fields"]["delta.image"] == {"error": {"message": "blocked"}}


def test_a_new_start_gives_out_what_the_block_before_held():
    body = message(
        *(delta(0, {"reasoningContent": {"redactedContent": "YQ=="}}),), *result_of(0, "z")[:2], *call(0, "t", "f", "{}"), reason="tool_use"
    )
    kinds = [type(part).__name__ for part in decode(body).message.parts]
    assert sorted(kinds) == ["ProviderItem", "ReasoningPart", "ToolCallPart"]


def test_blocks_that_hold_things_back_are_bounded():
    body = aws_events(*(start(n, {"image": {"format": "png"}}) for n in range(9)))
    assert decode(body, limits={"max_parts": 4}).error.which == "parts"


def test_what_is_nested_too_deep_to_be_kept_is_an_invalid_event():
    deep = '{"a":' * 250 + "1" + "}" * 250
    body = aws_events(delta(0, {"text": "x"}))
    body += aws_event("contentBlockDelta", f'{{"contentBlockIndex":0,"delta":{{"citation":{deep}}}}}'.encode())
    result = decode(body)
    assert (result.error.kind, result.message.text) == ("invalid_event", "x")


def test_arguments_in_the_start_of_a_tool_of_the_provider_count_too():
    tool = {"toolUseId": "s", "name": "search", "type": "server_tool_use", "input": {"q": 1}}
    assert [part.parsed for part in decode(message(start(0, {"toolUse": tool}), stop(0))).message.parts] == [{"q": 1}]
    pieces = message(start(0, {"toolUse": tool}), delta(0, {"toolUse": {"input": '{"q":2}'}}), stop(0))
    assert [part.parsed for part in decode(pieces).message.parts] == [{"q": 2}]


def test_pieces_that_say_nothing_add_nothing():
    empty = [delta(0, {"reasoningContent": {"text": ""}}), delta(1, {"text": ""}), delta(1, {"toolUse": {}}), delta(2, {"toolResult": []})]
    result = decode(message(delta(3, {"text": "x"}), *empty, {"contentBlockDelta": {"contentBlockIndex": 3}}))
    assert (result.message.text, len(result.message.parts)) == ("x", 2)


def test_a_tool_of_the_provider_without_an_id_is_kept():
    (tool,) = decode(message(start(0, {"toolUse": {"name": "search", "type": "server_tool_use"}}), stop(0))).message.parts
    assert (tool.id, tool.name) == ("", "search")


def test_a_result_goes_on_at_a_number_that_is_used_again():
    parts = decode(message(*server(0, "a"), *result_of(0, "a"))).message.parts
    assert (len(parts), parts[0].result["content"]) == (1, [{"text": "a"}])
