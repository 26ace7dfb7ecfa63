"""Two captures side by side."""

from __future__ import annotations

import json

from chat_bytes import DONE, chunk
from headrace._json import dumps
from headrace.inspect.compare import compare, document_of, html_of, text_of
from headrace.inspect.inspecting import inspect_capture
from headrace.inspect.timeline import inspect_stream
from inspect_samples import SAMPLES
from stream_samples import call, calls


def seen(*events, **fields):
    return inspect_stream(b"".join(events), protocol="openai-chat", **fields)


def lines_of(comparison):
    return {line.name: line for line in comparison.lines}


def test_the_same_stream_twice_is_the_same_at_any_speed():
    sample = SAMPLES["parallel-calls"]()
    other = inspect_stream(sample.body, protocol="openai-chat", source="again", reads=((0, 9000.0),))
    comparison = compare(inspect_capture(sample), other)
    assert comparison.is_same
    assert not lines_of(comparison)["duration"].is_same
    assert "".join(word.text for word in text_of(comparison)).endswith("the same, but for what is measured\n")


def test_texts_that_differ_are_shown_from_where_they_do():
    long = "The wheel turns and turns and turns, all day and all night, "
    lines = lines_of(compare(seen(chunk({"content": long + "slowly"})), seen(chunk({"content": long + "fast"}))))
    assert lines["text"].at == len(long)
    assert lines["text"].left.startswith("…")
    assert lines["text"].left.endswith("slowly")


def test_a_text_that_goes_on_differs_at_its_end():
    assert lines_of(compare(seen(chunk({"content": "ab"})), seen(chunk({"content": "abc"}))))["text"].at == 2


def test_calls_are_compared_by_what_they_ask_not_by_their_ids():
    one = seen(calls(call(0, "a", "f", '{"x": 1}')), chunk(finish="tool_calls"), DONE)
    two = seen(calls(call(0, "b", "f", '{"x":1}')), chunk(finish="tool_calls"), DONE)
    three = seen(calls(call(0, "b", "f", '{"x":2}')), chunk(finish="tool_calls"), DONE)
    assert compare(one, two).is_same
    assert not compare(one, three).is_same


def test_warnings_errors_and_missing_calls_differ():
    comparison = compare(inspect_capture(SAMPLES["broken-arguments"]()), inspect_capture(SAMPLES["cut-with-error"]()))
    lines = lines_of(comparison)
    assert {name for name, line in lines.items() if not line.is_same and not line.is_measured} >= {
        "text",
        "call 0",
        "call 1",
        "finish",
        "error",
        "warnings",
        "usage",
    }
    assert lines["call 1"].right == ""


def test_every_form_says_the_same():
    comparison = compare(inspect_capture(SAMPLES["parallel-calls"]()), inspect_capture(SAMPLES["reasoning-and-text"]()))
    document = json.loads(dumps(document_of(comparison)))
    assert document["is_same"] is False
    assert [line["name"] for line in document["lines"]] == [line.name for line in comparison.lines]
    text, html = "".join(word.text for word in text_of(comparison)), html_of(comparison)
    for line in comparison.lines:
        assert line.name in text
        assert f">{line.name}</th>" in html
