from __future__ import annotations

import json

from chat_bytes import DONE, chunk
from headrace import decode_stream
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ProviderToolPart, RefusalPart, ToolCallPart, make
from headrace.messages.summary import summary_of
from stream_samples import SAMPLES, USAGE, call, calls

KEYS = [
    "text",
    "reasoning",
    "refusal",
    "tool_calls",
    "provider_tool_calls",
    "finish_reason",
    "finish_reason_raw",
    "usage",
    "error",
    "warnings",
    "message",
]


def summary(body):
    return decode_stream(body, protocol="openai-chat").summary()


def test_its_keys_are_always_the_same():
    for name, body in SAMPLES.items():
        found = summary(body)
        assert [key for key in found if key != "choices"] == KEYS, name
        assert ("choices" in found) == (name == "two choices")


def test_every_one_is_json_and_can_be_read_back():
    for body in SAMPLES.values():
        found = summary(body)
        assert json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8")) == found


def test_a_whole_one():
    found = summary(SAMPLES["text, then two calls"])
    message = found.pop("message")
    assert found == {
        "text": "I look. One moment.",
        "reasoning": "",
        "refusal": "",
        "tool_calls": [
            {"id": "call_a", "name": "clock", "runnable": True, "arguments": {"zone": "Asia/Tokyo"}},
            {"id": "call_b", "name": "add", "runnable": True, "arguments": {"a": 1, "b": 2}},
        ],
        "provider_tool_calls": [],
        "finish_reason": "tool_calls",
        "finish_reason_raw": "tool_calls",
        "usage": {"input_tokens": 20, "output_tokens": 9, "cache_read_tokens": 16, "cache_write_tokens": None, "reasoning_tokens": 5},
        "error": None,
        "warnings": [],
    }
    assert (message["role"], message["usage"]["raw"]) == ("assistant", USAGE)


def test_texts_of_each_kind_are_joined_with_nothing():
    found = summary(chunk({"content": "a", "reasoning": "r"}) + chunk({"reasoning": "s", "refusal": "n"}) + chunk({"content": "b"}, "stop"))
    assert (found["text"], found["reasoning"], found["refusal"]) == ("ab", "rs", "n")


def test_arguments_that_do_not_parse_are_raw():
    found = summary(calls(call(0, "c", "f", '{"a": 1')) + chunk(finish="length") + DONE)
    assert found["tool_calls"] == [{"id": "c", "name": "f", "runnable": False, "raw": '{"a": 1'}]


def test_of_a_custom_tool_it_is_the_input():
    assert summary(SAMPLES["a custom tool"])["tool_calls"] == [{"id": "c1", "name": "shell", "runnable": True, "input": "ls -l"}]


def test_an_id_that_we_made_is_marked():
    found = summary(SAMPLES["an older function call"])
    assert found["tool_calls"] == [{"id": "call_1", "name": "clock", "runnable": True, "arguments": {"zone": "UTC"}, "id_made_up": True}]


def test_what_the_provider_ran_itself_stands_apart_and_never_runs():
    parts = [
        ProviderToolPart(id="p", name="search", arguments='{"q": "x"}', parsed={"q": "x"}, result=[1]),
        ProviderToolPart(id="q", name="code", arguments="x = 1"),
        make(ToolCallPart, id="c", name="f", arguments="{}", parsed={}, runnable=True),
    ]
    message = AssistantMessage(parts)
    found = summary_of(message, [message], [0], None)
    assert found["provider_tool_calls"] == [
        {"id": "p", "name": "search", "runnable": False, "arguments": {"q": "x"}},
        {"id": "q", "name": "code", "runnable": False, "raw": "x = 1"},
    ]
    assert [one["name"] for one in found["tool_calls"]] == ["f"]


def test_an_error_is_a_dictionary():
    found = summary(SAMPLES["an error in the middle"])
    assert found["error"] == {"kind": "provider_error", "message": "overloaded", "code": "503", "retryable": True, "which": None}
    message = AssistantMessage([RefusalPart("no")])
    error = StreamError("limit_exceeded", "m", which="parts")
    assert summary_of(message, [message], [0], error)["error"]["which"] == "parts"


def test_choices_come_with_their_index_and_the_warnings_of_all_come_in_order():
    body = SAMPLES["two choices"].replace(b'"content": "o"', b'"content": "o<tool_call>"')
    found = summary(body)
    assert [(one["index"], one["text"], one["finish_reason"]) for one in found["choices"]] == [
        (0, "Yes", "length"),
        (1, "No<tool_call>", "stop"),
    ]
    assert [list(one) for one in found["choices"]] == [["index", *KEYS]] * 2
    assert [one["warnings"] for one in found["choices"]] == [[], ["possible_inline_tool_call"]]
    assert found["warnings"] == ["possible_inline_tool_call"]
