from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_runs import check_result, decoded
from headrace.messages.parts import MediaPart, ReasoningPart, TextPart, ToolCallPart
from slicing import bytewise, slicings
from wire_bytes import dumped, last_line, line

METRICS = {"total_duration": 9, "prompt_eval_count": 30, "eval_count": 12}


def call(name, arguments, identifier=None, **function):
    entry = {"function": {"name": name, "arguments": arguments, **function}}
    return {**({} if identifier is None else {"id": identifier}), **entry}


def generated(piece, **fields):
    return dumped({"model": "m", "created_at": "2026-05-04T12:00:00Z", "response": piece, "done": False, **fields}) + b"\n"


SAMPLES = {
    "text": line({"content": "It"}) + line({"content": " is \u00e9\U0001f600"}) + last_line(**METRICS),
    "thinking": line({"thinking": "Hm"}) + line({"thinking": "."}) + line({"content": "Yes"}) + line({"content": "."}) + last_line(),
    "calls": line({"content": "I look."})
    + line({"tool_calls": [call("f", {"a": 1}, index=0)]})
    + line({"tool_calls": [call("f", {"a": 1}, index=0), call("g", {})]})
    + last_line(),
    "generate": generated("It") + generated(" is") + generated("", done=True, done_reason="stop", context=[1, 2], eval_count=2),
    "generate thinking": generated("", thinking="Hm") + generated("", thinking=".") + generated("It") + generated("", done=True, done_reason="length"),
    "error": line({"content": "It"}) + b'{"error":"model runner has stopped"}\n',
    "one line": last_line(message={"content": "It", "thinking": "Hm"}, **METRICS),
    "crlf": line({"content": "It"}).replace(b"\n", b"\r\n") + last_line().replace(b"\n", b"\r\n"),
    "no last line end": line({"content": "It"}) + last_line().rstrip(b"\n"),
}  # fmt: skip


def read(body, **options):
    chunks, result = decoded(body, protocol="ollama", **options)
    check_result(chunks, result)
    return result


def warned(result):
    return [warning.code for warning in result.warnings]


@pytest.mark.parametrize("name", SAMPLES)
def test_any_slicing_and_both_ways_give_the_same_chunks(name):
    body = SAMPLES[name]
    whole = decoded(body, protocol="ollama")
    check_result(*whole)
    assert decoded(bytewise(body), protocol="ollama") == whole
    assert decoded(body, protocol="ollama", is_short_way_off=True) == whole


@given(st.data())
def test_random_slicings_give_the_same_chunks(data):
    body = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    assert decoded(data.draw(slicings(body)), protocol="ollama") == decoded(body, protocol="ollama")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_stream_has_a_prefix_of_the_text_and_no_call_that_the_whole_has_not(name):
    body = SAMPLES[name]
    whole = read(body)
    calls = [(one.name, one.parsed) for one in whole.message.tool_calls if one.runnable]
    for at in range(len(body)):
        part = read(body[:at])
        assert whole.message.text.startswith(part.message.text)
        assert whole.message.reasoning.startswith(part.message.reasoning)
        assert all((one.name, one.parsed) in calls for one in part.message.tool_calls if one.runnable)


def test_text_and_the_head_and_usage():
    message = read(SAMPLES["text"], provider="acme").message
    assert (message.text, message.model, message.provider, message.id) == ("It is \u00e9\U0001f600", "m", "acme", None)
    assert message.created_at == datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)
    assert (message.usage.input_tokens, message.usage.output_tokens, message.usage.raw) == (30, 12, METRICS)
    assert (message.finish_reason, message.finish_reason_raw) == ("stop", "stop")


def test_thinking_is_a_part_before_the_text():
    assert read(SAMPLES["thinking"]).message.parts == (ReasoningPart("Hm."), TextPart("Yes."))


def test_each_entry_is_a_whole_call_whatever_its_index():
    result = read(SAMPLES["calls"])
    message = result.message
    assert [type(part) for part in message.parts] == [TextPart, ToolCallPart, ToolCallPart, ToolCallPart]
    assert [(one.id, one.name, one.parsed, one.index, one.runnable) for one in message.tool_calls] == [
        ("call_1", "f", {"a": 1}, 0, True), ("call_2", "f", {"a": 1}, 0, True), ("call_3", "g", {}, None, True),
    ]  # fmt: skip
    assert (message.finish_reason, message.finish_reason_raw, warned(result)) == ("tool_calls", "stop", [])


def test_a_call_is_settled_as_it_comes():
    chunks, _ = decoded(SAMPLES["calls"], protocol="ollama")
    assert [delta.type for delta in chunks[1].deltas] == ["tool_call", "tool_call_settled"]


def test_ids_of_newer_servers_are_kept_and_one_that_comes_twice_is_made_new():
    body = line({"tool_calls": [call("f", {}, "a"), call("f", {}, "a")]}) + last_line()
    result = read(body)
    assert [one.id for one in result.message.tool_calls] == ["a", "call_1"]
    assert warned(result) == ["duplicate_tool_id"]


@pytest.mark.parametrize(
    ("arguments", "parsed", "raw"),
    [('{"a":1}', {"a": 1}, '{"a":1}'), ("", {}, ""), (None, {}, ""), ([1], None, "[1]"), (5, None, "5"), ("{oops", None, "{oops")],
)
def test_arguments_that_are_no_object(arguments, parsed, raw):
    (one,) = read(line({"tool_calls": [call("f", arguments)]}) + last_line()).message.tool_calls
    assert (one.parsed, one.arguments, one.runnable) == (parsed, raw, parsed is not None)


def test_length_leaves_whole_calls_runnable():
    message = read(line({"tool_calls": [call("f", {"a": 1})]}) + last_line("length")).message
    assert (message.finish_reason, message.tool_calls[0].runnable) == ("length", True)


def test_what_generate_answers_is_read_too():
    message = read(SAMPLES["generate"]).message
    assert (message.text, message.usage.output_tokens, message.finish_reason) == ("It is", 2, "stop")
    assert message.metadata["provider_fields"]["context"] == [1, 2]
    assert read(SAMPLES["generate thinking"]).message.parts == (ReasoningPart("Hm."), TextPart("It"))


def test_the_answer_in_one_line_is_that_answer():
    message = read(SAMPLES["one line"]).message
    assert message.parts == (ReasoningPart("Hm"), TextPart("It"))


def test_an_answer_printed_over_many_lines_is_that_answer():
    body = SAMPLES["one line"].replace(b",", b",\n  ").replace(b"{", b"{\n ")
    assert read(body).message == read(SAMPLES["one line"]).message


def test_a_last_line_without_a_reason_is_an_end():
    result = read(line({"content": "It"}) + last_line(None))
    assert (result.error, result.message.finish_reason, warned(result)) == (None, "stop", ["finish_reason_missing"])


@pytest.mark.parametrize(("reason", "neutral"), [("length", "length"), ("load", "other"), ("unload", "other")])
def test_other_reasons(reason, neutral):
    message = read(line({"content": "It"}) + last_line(reason)).message
    assert (message.finish_reason, message.finish_reason_raw) == (neutral, reason)


def test_nothing_behind_the_last_line_is_read():
    assert read(line({"content": "a"}) + last_line() + line({"content": "b"}) + b"oops\n").message.text == "a"
    assert read([line({"content": "a"}) + last_line(), line({"content": "b"}), b"oops"]).message.text == "a"


@pytest.mark.parametrize(
    ("body", "message", "code", "retryable"),
    [
        (SAMPLES["error"], "model runner has stopped", None, False),
        (b'{"error":"model \'x\' not found"}', "model 'x' not found", None, False),
        (b'{\n  "error": {\n    "message": "busy",\n    "code": 503\n  }\n}\n', "busy", "503", True),
        (b'data: {"error":"no"}\n\n', "no", None, False),
        (b'event: error\ndata: {"message":"no"}\n\n', "no", None, False),
    ],
)
def test_an_error_in_any_form_is_the_providers(body, message, code, retryable):
    error = read(body).error
    assert (error.kind, error.message, error.code, error.retryable) == ("provider_error", message, code, retryable)


def test_an_error_keeps_what_came():
    result = read(SAMPLES["error"])
    assert (result.message.text, result.message.finish_reason) == ("It", "error")
    assert result.message.metadata["error"] == "model runner has stopped"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "stream_truncated"),
        (b"\n \n", "stream_truncated"),
        (line({"content": "It"}), "stream_truncated"),
        (line({"content": "It"}) + b'{"model":"m","mess', "stream_truncated"),
        (line({"content": "It"}) + b"{oops\n" + last_line(), "invalid_event"),
        (line({"content": "It"}) + b"[1]\n" + last_line(), "invalid_event"),
        (b'{"detail":"Not Found"}', "invalid_event"),
        (b'{"status":"pulling manifest"}\n', "invalid_event"),
        (b"<!doctype html>", "not_event_stream"),
        (b"Internal error", "not_event_stream"),
        (line({"tool_calls": [call("f", {"a": "x"})]}).replace(b'"x"', b"[" * 300 + b"]" * 300) + last_line(), "invalid_event"),
    ],
)
def test_what_is_no_whole_answer_is_said(body, kind):
    assert read(body).error.kind == kind


def test_a_cut_stream_is_cut_however_the_connection_ended():
    assert decoded(line({"content": "It"}), protocol="ollama", complete=True)[1].error.kind == "stream_truncated"
    assert decoded(SAMPLES["text"], protocol="ollama", complete=False)[1].error is None


def test_a_relay_that_made_events_of_the_lines_is_understood():
    body = b"".join(b"data: " + one + b"\n" for one in SAMPLES["text"].splitlines(keepends=True))
    assert read(body).message.text == read(SAMPLES["text"]).message.text
    assert read(b'data: {"model":"m","response":"a"}\n\ndata: [DONE]\n\n').error is None


def test_images_are_media():
    message = read(line({"images": ["iVBORw==", "!"]}) + line({"images": "iVBORw=="}) + last_line()).message
    assert message.parts_of(MediaPart) == (MediaPart(kind="image", data=b"\x89PNG"),) * 2
    assert message.metadata["provider_fields"]["message.images"] == "!"


def test_what_is_not_understood_is_kept():
    body = (
        line({"content": "a", "tool_calls": ["odd"], "mood": 1}, host="h", logprobs=[{"token": "a"}])
        + line({"content": 5, "tool_calls": [{"id": "c", "x": 1, "function": {"name": "f", "arguments": {}, "y": 2}}, {"function": 1}, {}]})
        + last_line(total_duration=7)
    )
    message = read(body).message
    fields = message.metadata["provider_fields"]
    assert (fields["host"], fields["message.mood"], fields["message.tool_calls"], fields["message.content"]) == ("h", 1, ["odd"], 5)
    assert (fields["total_duration"], message.usage) == (7, None)
    assert [one.provider_data for one in message.tool_calls] == [{"x": 1, "function": {"y": 2}}]
    assert message.logprobs == {"content": [{"token": "a"}]}


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-05-04T12:00:00", datetime(2026, 5, 4, 12, tzinfo=UTC)),
        ("2026-05-04T14:00:00+02:00", datetime(2026, 5, 4, 12, tzinfo=UTC)),
        ("yesterday", None),
        (5, None),
        ("0001-01-01T00:00:00+23:00", None),
    ],
)
def test_the_time_is_read_if_it_is_one(time, expected):
    assert read(line({"content": "a"}, created_at=time) + last_line()).message.created_at == expected


def test_think_tags_are_split_on_request_also_when_the_opening_one_is_missing():
    body = line({"content": "Hm."}) + line({"content": "</th"}) + line({"content": "ink>It"}) + last_line()
    assert read(body).message.text == "Hm.</think>It"
    result = read(body, options={"think_tags": True, "think_starts_open": True})
    assert (result.message.reasoning, result.message.text) == ("Hm.", "It")


def test_halves_of_characters_in_neighbouring_lines_are_one_character():
    halves = [line({"content": "#"}).replace(b"#", half) for half in (b"\\ud83d", b"\\ude00")]
    assert read(line({"content": "a"}) + halves[0] + halves[1] + last_line()).message.text == "a\U0001f600"


def test_past_a_limit_nothing_more_is_read():
    result = read(SAMPLES["calls"], limits={"max_tool_calls": 1})
    assert (result.error.kind, result.error.which, len(result.message.tool_calls)) == ("limit_exceeded", "tool_calls", 1)
    assert read(SAMPLES["text"], limits={"max_event_bytes": 30}).error.which == "event_bytes"


def test_a_stream_whose_lines_always_hold_more_stays_on_the_general_way():
    body = b"".join(line({"content": "a"}, extra=n) for n in range(40)) + last_line()
    assert read(body).message.text == "a" * 40
