"""Converse streams, whole: what they come to, and how they end."""

from __future__ import annotations

import json

import pytest

from aws_bytes import aws_event, aws_events, aws_exception, aws_frame
from bedrock_samples import BEGIN, CONVERSE, METADATA, call, delta, message, start, stop
from headrace.decoding import decode_stream
from headrace.messages.parts import MediaPart, ProviderToolPart, ReasoningPart, TextPart

END = {"messageStop": {"stopReason": "end_turn"}}


def decode(body, **options):
    return decode_stream(body, protocol="bedrock-converse", **options)


def test_text_comes_block_by_block_and_padding_says_nothing():
    result = decode(CONVERSE["text"], provider="bedrock")
    assert result.message.text == "The mill türns."
    assert (result.message.finish_reason, result.message.finish_reason_raw) == ("stop", "end_turn")
    assert result.message.provider == "bedrock"
    assert result.warnings == ()
    assert result.message.metadata == {"provider_fields": {"metrics": {"latencyMs": 81}}}


def test_usage_comes_after_the_stop_and_counts_cached_tokens():
    usage = decode(CONVERSE["text"]).message.usage
    assert usage.counts() == {
        "input_tokens": 36,
        "output_tokens": 9,
        "cache_read_tokens": 12,
        "cache_write_tokens": 4,
        "reasoning_tokens": None,
    }
    assert usage.raw["totalTokens"] == 45


def test_usage_before_the_stop_counts_as_well():
    body = aws_events(delta(0, {"text": "x"}), METADATA, END)
    assert decode(body).message.usage.output_tokens == 9
    assert decode(body).error is None


def test_calls_are_joined_by_their_block_and_settled_at_its_end():
    result = decode(CONVERSE["text, then two calls"])
    assert result.message.text == "I look."
    assert [(c.id, c.name, c.parsed, c.index, c.runnable) for c in result.message.tool_calls] == [
        ("t1", "clock", {"zone": "UTC"}, 1, True),
        ("t2", "add", {"a": 1, "b": 2}, 2, True),
    ]
    assert result.message.finish_reason == "tool_calls"


def test_blocks_may_overlap():
    body = message(
        start(0, {"toolUse": {"toolUseId": "a", "name": "f"}}),
        start(1, {"toolUse": {"toolUseId": "b", "name": "g"}}),
        delta(1, {"toolUse": {"input": '{"x":'}}),
        delta(0, {"toolUse": {"input": '{"y":1}'}}),
        delta(1, {"toolUse": {"input": "2}"}}),
        stop(1),
        stop(0),
        reason="tool_use",
    )
    assert [(c.name, c.parsed) for c in decode(body).message.tool_calls] == [("f", {"y": 1}), ("g", {"x": 2})]


def test_a_call_without_arguments_means_an_empty_object():
    (only,) = decode(CONVERSE["a call without arguments"]).message.tool_calls
    assert (only.arguments, only.parsed, only.runnable) == ("", {}, True)


def test_a_call_without_arguments_that_was_cut_by_its_length_never_runs():
    (only,) = decode(message(*call(0, "t", "now"), reason="max_tokens")).message.tool_calls
    assert (only.parsed, only.runnable) == (None, False)


def test_arguments_that_were_cut_stay_as_they_came():
    result = decode(CONVERSE["cut by its length"])
    (only,) = result.message.tool_calls
    assert (only.arguments, only.parsed, only.runnable) == ('{"zo', None, False)
    assert result.message.finish_reason == "length"


def test_thinking_keeps_its_signature_byte_for_byte():
    (thinking,) = decode(CONVERSE["signed thinking"]).message.parts_of(ReasoningPart)
    assert thinking == ReasoningPart("Is it late?", signature="c2ln")


def test_sealed_thinking_stays_as_it_came():
    (thinking,) = decode(CONVERSE["sealed thinking"]).message.parts_of(ReasoningPart)
    assert thinking == ReasoningPart(encrypted="c2VhbGVk")


def test_a_citation_joins_the_text_of_its_block():
    (text,) = decode(CONVERSE["a citation before its text"]).message.parts
    assert (text.text, text.citations[0]["title"]) == ("In 1993.", "facts")


def test_a_tool_of_the_provider_is_no_call_of_ours():
    result = decode(CONVERSE["a tool of the provider"], provider="bedrock")
    assert result.message.tool_calls == ()
    tool, text = result.message.parts
    assert tool == ProviderToolPart(
        id="s1",
        name="nova_code_interpreter",
        arguments='{"snippet":"1+1"}',
        parsed={"snippet": "1+1"},
        result={
            "toolUseId": "s1",
            "type": "nova_code_interpreter_result",
            "status": "success",
            "content": [{"json": {"stdOut": "2"}}, {"text": "done"}],
        },
        provider="bedrock",
        provider_data={"type": "server_tool_use"},
    )
    assert text == TextPart("Two.")
    assert result.message.finish_reason == "stop"


def test_an_image_is_joined_from_its_pieces():
    (image,) = decode(CONVERSE["an image"]).message.parts
    assert image == MediaPart(kind="image", data=b"\x00\x01\x02", media_type="image/png")


def test_a_guardrail_is_a_content_filter():
    message_ = decode(CONVERSE["a guardrail"]).message
    assert (message_.finish_reason, message_.finish_reason_raw) == ("content_filter", "guardrail_intervened")


def test_calls_of_a_filtered_answer_never_run():
    body = message(*call(0, "t", "now", "{}"), reason="guardrail_intervened")
    assert [c.runnable for c in decode(body).message.tool_calls] == [False]


def test_what_is_not_understood_is_kept():
    body = aws_events(
        {"messageStart": {"role": "assistant", "mood": "calm"}},
        {"somethingNew": {"a": 1}},
        start(0, {"hologram": {"w": 3}}),
        delta(0, {"hologram": "ab"}),
        delta(0, {"hologram": "cd"}),
        stop(0),
        {"messageStop": {"stopReason": "end_turn", "additionalModelResponseFields": {"x": 1}}},
        {"metadata": {"usage": {}, "trace": {"guardrail": {}}, "serviceTier": {"type": "flex"}}},
    )
    result = decode(body)
    assert result.error is None
    assert result.message.usage is None
    assert result.message.metadata["provider_fields"] == {
        "messageStart.mood": "calm",
        "somethingNew": {"a": 1},
        "start.hologram": {"w": 3},
        "delta.hologram": "abcd",
        "additionalModelResponseFields": {"x": 1},
        "trace": {"guardrail": {}},
        "serviceTier": {"type": "flex"},
    }


# ---------------------------------------------------------------------------------------------- the end


def test_an_exception_is_an_error_of_the_provider_and_keeps_what_came():
    result = decode(CONVERSE["an exception"])
    assert result.message.text == "Hel"
    assert (result.error.kind, result.error.code, result.error.message, result.error.retryable) == (
        "provider_error",
        "throttlingException",
        "slow down",
        True,
    )
    assert result.message.finish_reason == "error"
    assert result.message.metadata["error"] == {"message": "slow down"}


def test_an_exception_alone_is_one_too():
    assert decode(aws_exception("validationException", {"message": "no"})).error.retryable is False


def test_an_exception_in_plain_words_keeps_them():
    assert decode(aws_exception("internalServerException", b"oh <no>")).error.message == "oh <no>"


def test_an_error_of_the_framing_says_its_code_and_words():
    error = decode(aws_frame({":message-type": "error", ":error-code": "InternalError", ":error-message": "it broke"}, b"")).error
    assert (error.kind, error.code, error.message, error.retryable) == ("provider_error", "InternalError", "it broke", True)


def test_calls_before_an_exception_never_run():
    body = aws_events(BEGIN, *call(0, "t", "now", "{}"), {"messageStop": {"stopReason": "tool_use"}}) + aws_exception(
        "throttlingException", {}
    )
    assert [c.runnable for c in decode(body).message.tool_calls] == [False]


@pytest.mark.parametrize(
    "body",
    [b"", aws_events(BEGIN), aws_events(BEGIN, delta(0, {"text": "x"}), stop(0)), message(delta(0, {"text": "x"}))[:-1]],
    ids=["nothing", "a start", "no stop", "the last frame cut"],
)
def test_a_stream_that_ends_before_its_end_is_truncated(body):
    result = decode(body)
    assert (result.error.kind, result.error.retryable, result.message.finish_reason) == ("stream_truncated", True, None)


def test_a_stop_makes_the_message_whole_without_metadata_and_also_where_the_transport_broke():
    body = aws_events(BEGIN, delta(0, {"text": "x"}), END)
    assert decode(body).error is None


def test_a_stop_without_a_reason_is_said():
    result = decode(aws_events(delta(0, {"text": "x"}), {"messageStop": {}}))
    assert (result.error, result.message.finish_reason) == (None, "stop")
    assert [w.code for w in result.warnings] == ["finish_reason_missing"]


def test_a_frame_that_is_no_json_is_an_invalid_event():
    assert decode(aws_event("contentBlockDelta", b"{oops")).error.kind == "invalid_event"
    assert decode(aws_event("contentBlockDelta", b"[1]")).error.kind == "invalid_event"


def test_bad_utf8_and_halves_of_characters_are_mended():
    halves = aws_event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"a\\ud83d"}}')
    halves += aws_event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"\\ude00b"}}') + aws_events(END)
    assert (decode(halves).message.text, decode(halves).warnings) == ("a😀b", ())
    bad = decode(aws_event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"a\xff"}}') + aws_events(END))
    assert (bad.message.text, [w.code for w in bad.warnings]) == ("a\ufffd", ["invalid_utf8"])


def test_halves_of_characters_in_arguments_are_mended():
    pieces = [
        b'{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\\"a\\":\\"\\ud83d"}}}',
        b'{"contentBlockIndex":0,"delta":{"toolUse":{"input":"\\ude00\\"}"}}}',
    ]
    body = aws_events(start(0, {"toolUse": {"toolUseId": "t", "name": "f"}})) + b"".join(
        aws_event("contentBlockDelta", piece) for piece in pieces
    )
    (only,) = decode(body + aws_events(stop(0), {"messageStop": {"stopReason": "tool_use"}})).message.tool_calls
    assert only.parsed == {"a": "😀"}


def test_think_tags_are_split_only_on_request():
    body = message(delta(0, {"text": "<think>hm</thi"}), delta(0, {"text": "nk>Yes"}), stop(0))
    assert decode(body).message.text == "<think>hm</think>Yes"
    result = decode(body, options={"think_tags": True})
    assert (result.message.reasoning, result.message.text) == ("hm", "Yes")


@pytest.mark.parametrize("which", ["max_parts", "max_tool_calls", "max_argument_bytes"])
def test_limits_end_the_stream(which):
    body = message(*(event for n in range(5) for event in call(n, f"t{n}", "f", '{"a":', "1}")), reason="tool_use")
    result = decode(body, limits={which: 4 if which != "max_argument_bytes" else 6})
    assert (result.error.kind, result.error.which) == ("limit_exceeded", which.removeprefix("max_"))
    assert not any(c.runnable for c in result.message.tool_calls)


# ---------------------------------------------------------------------------------------------- other bodies


def test_events_under_their_names_in_plain_event_streams_are_read():
    lines = [
        f"event: {name}\ndata: {json.dumps(payload)}\n\n" for event in (delta(0, {"text": "Hi"}), END) for name, payload in event.items()
    ]
    assert decode("".join(lines).encode()).message.text == "Hi"
    nested = "".join(f"data: {json.dumps(event)}\n\n" for event in (BEGIN, delta(0, {"text": "Hi"}), delta(0, {"text": "!"}), END))
    assert decode(nested.encode()).message.text == "Hi!"


def test_events_one_a_line_are_read():
    body = "\n".join(json.dumps(event) for event in (BEGIN, delta(0, {"text": "Hi"}), END))
    assert (decode(body.encode()).message.text, decode(body.encode()).error) == ("Hi", None)


def test_an_exception_under_its_name_is_an_error():
    assert decode(b'data: {"throttlingException": {"message": "slow"}}\n\n').error.code == "throttlingException"


@pytest.mark.parametrize(
    ("body", "code", "message_"),
    [
        (b'{"message":"The security token is invalid"}', None, "The security token is invalid"),
        (b'{"Message":"no"}', None, "no"),
        (b'{"__type":"com.amazon.coral.service#ThrottlingException","message":"slow"}', "ThrottlingException", "slow"),
        (b'{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}', "UnknownOperationException", None),
    ],
)
def test_a_json_error_is_an_error_of_the_provider(body, code, message_):
    error = decode(body).error
    assert (error.kind, error.code) == ("provider_error", code)
    assert message_ is None or error.message == message_


def test_a_refused_request_says_its_status():
    error = decode(b'{"message":"Too many requests"}', status=429).error
    assert (error.kind, error.code, error.retryable) == ("provider_error", "429", True)


@pytest.mark.parametrize("body", [b"<html>gateway</html>", b"upstream connect error"])
def test_a_page_is_no_event_stream(body):
    assert decode(body).error.kind == "not_event_stream"


@pytest.mark.parametrize(("body", "kind"), [(b'{"a":1}', "invalid_event"), (b'{"output":{"mess', "stream_truncated")])
def test_json_that_is_no_answer_is_said(body, kind):
    assert decode(body).error.kind == kind


def test_an_event_called_error_is_an_error():
    error = decode(b'event: error\ndata: {"message":"it broke","code":"500"}\n\n').error
    assert (error.kind, error.code, error.message) == ("provider_error", "500", "it broke")


def test_an_exceptions_object_that_cannot_be_kept_leaves_its_words():
    deep = b'{"message":"why","a":' + b"[" * 250 + b"]" * 250 + b"}"
    result = decode(aws_exception("throttlingException", deep))
    assert (result.error.code, "error" in result.message.metadata) == ("throttlingException", False)


def test_events_as_a_list_are_read():
    body = json.dumps([BEGIN, delta(0, {"text": "Hi"}), END]).encode()
    assert (decode(body).message.text, decode(body).error) == ("Hi", None)
