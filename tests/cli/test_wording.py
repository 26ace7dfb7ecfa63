"""What is said about calls, results and usage."""

from __future__ import annotations

import pytest

from headrace.cli.wording import one_line, part_text, result_text, usage_words, why_not_runnable
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage


def test_json_over_several_lines_is_shown_on_one():
    assert one_line('{\n  "city":\r\n    "Tokyo  Bay"\n}') == '{ "city": "Tokyo  Bay" }'


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (None, ""),
        (Usage(), ""),
        (Usage(input_tokens=1200, output_tokens=5), "1,200 tokens in, 5 out"),
        (Usage(input_tokens=0, output_tokens=0), "0 tokens in, 0 out"),
        (Usage(input_tokens=9, output_tokens=5, cache_read_tokens=8, reasoning_tokens=3), "9 tokens in (8 cached), 5 out (3 reasoning)"),
        (Usage(output_tokens=5), "5 tokens out"),
    ],
)
def test_usage_is_said_as_far_as_it_is_known(usage, words):
    assert usage_words(usage) == words


@pytest.mark.parametrize(
    ("arguments", "name", "finish", "error", "words"),
    [
        ('{"a', "f", None, "stream_truncated", "the stream failed: stream_truncated"),
        ('{"a', "f", "length", None, "the answer was cut by its length"),
        ("{}", "f", "content_filter", None, "the answer was filtered"),
        ("{}", "", "tool_calls", None, "it has no name"),
        ("[1]", "f", "tool_calls", None, "its arguments are no JSON object"),
        ("{}", "f", None, None, "the stream did not end"),
    ],
)
def test_the_best_reason_why_a_call_does_not_run_is_said(arguments, name, finish, error, words):
    call = ToolCallPart(id="c", name=name, arguments=arguments, parsed={} if arguments == "{}" else None)
    message = AssistantMessage([call], finish_reason=finish)
    assert why_not_runnable(call, message, error) == words


def test_parts_are_text_json_or_named():
    parts = (TextPart("a"), JsonPart({"b": 1}), MediaPart(kind="image", url="https://e.example/i.png"), OpaquePart({"type": "new"}))
    assert [part_text(part) for part in parts] == ["a", '{"b":1}', "[image]", "[OpaquePart]"]
    assert result_text(ToolResultPart(call_id="c", parts=parts[:2])) == 'a\n{"b":1}'
