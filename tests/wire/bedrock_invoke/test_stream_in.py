"""InvokeModel streams: the model's own events, and what Bedrock adds to them."""

from __future__ import annotations

import base64
import json

import pytest

from aws_bytes import aws_event, aws_exception, aws_frame, compact, invoke_chunk, invoke_chunks
from bedrock_samples import ANTHROPIC, INVOKE, METRICS
from headrace.decoding import StreamDecoder, decode_stream
from headrace.messages.deltas import ToolCallFragment

TRACE = {"amazon-bedrock-trace": {"guardrail": {}}}
INTERVENED = {"amazon-bedrock-guardrailAction": "INTERVENED"}


def decode(body, **options):
    return decode_stream(body, protocol="bedrock-invoke", **options)


def codes(result):
    return [warning.code for warning in result.warnings]


@pytest.mark.parametrize(
    ("name", "text", "reason", "raw"),
    [
        ("messages", "Hello.", "tool_calls", "tool_use"),
        ("converse", "Red, blue.", "stop", "end_turn"),
        ("chat", "Once", "length", "length"),
        ("generation", "Lorem", "stop", "stop"),
        ("output text", "Water", "stop", "FINISH"),
        ("outputs", "Flour", "length", "length"),
        ("finished", " I", "stop", "COMPLETE"),
        ("a blocked input", "Blocked", "content_filter", "INTERVENED"),
    ],
)
def test_each_models_own_stream_is_read(name, text, reason, raw):
    result = decode(INVOKE[name], provider="bedrock")
    assert (result.error, result.message.text, result.message.finish_reason, result.message.finish_reason_raw) == (None, text, reason, raw)
    assert (result.message.provider, codes(result)) == ("bedrock", [])


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("messages", (7, 9, 3)),
        ("converse", (14, 4, 2)),
        ("chat", (8, 10, None)),
        ("generation", (10, 2, None)),
        ("output text", (6, 3, None)),
        ("outputs", (8, 10, None)),
        ("a blocked input", (None, 3, None)),
    ],
)
def test_the_models_own_usage_wins_and_the_metrics_fill_gaps(name, counts):
    usage = decode(INVOKE[name]).message.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == counts


def test_a_call_of_the_stream_inside_runs():
    (call,) = decode(INVOKE["messages"]).message.tool_calls
    assert (call.id, call.parsed, call.runnable) == ("t1", {"zone": "UTC"}, True)


def test_what_bedrock_adds_is_kept():
    assert decode(INVOKE["messages"]).message.metadata["provider_fields"]["amazon-bedrock-invocationMetrics"]["inputTokenCount"] == 8
    result = decode(
        aws_event("chunk", {"bytes": base64.b64encode(compact({"outputText": "x", "completionReason": "FINISH"})).decode(), "mood": 1})
    )
    assert result.message.metadata["envelope"] == {"mood": 1}
    assert result.message.text == "x"


def test_a_ping_before_the_stream_tells_nothing_of_its_shape():
    assert decode(invoke_chunks({"type": "ping"}, {}, {"generation": "x", "stop_reason": "stop"})).message.text == "x"
    assert decode(invoke_chunks({"type": "ping"}, *ANTHROPIC)).message.text == "Hello."


# ---------------------------------------------------------------------------------------------- guardrails


def test_a_guardrails_mark_stands_on_every_chunk_and_ends_nothing():
    result = decode(invoke_chunks({"outputText": "Wa", **INTERVENED}))
    assert (result.error.kind, result.message.finish_reason) == ("stream_truncated", None)


def test_a_completion_reason_wins_over_a_guardrails_mark():
    result = decode(
        invoke_chunks({"outputText": "Wa", **INTERVENED}, {"outputText": "x", "completionReason": "FINISH", **INTERVENED, **TRACE})
    )
    assert (result.message.finish_reason, result.message.finish_reason_raw) == ("stop", "FINISH")
    result = decode(invoke_chunks({"messageStop": {"stopReason": "end_turn"}}, {"metadata": {}, **INTERVENED, **METRICS}))
    assert result.message.finish_reason == "stop"


@pytest.mark.parametrize("more", [TRACE, METRICS, {"totalOutputTextTokenCount": 1}])
def test_without_a_reason_the_mark_is_one_where_the_stream_has_ended(more):
    result = decode(invoke_chunks({"outputText": "No.", **INTERVENED, **more}))
    assert (result.error, result.message.finish_reason) == (None, "content_filter")


def test_a_filtered_completion_is_a_content_filter():
    result = decode(invoke_chunks({"outputText": "", "completionReason": "CONTENT_FILTERED"}))
    assert (result.message.finish_reason, result.message.finish_reason_raw) == ("content_filter", "CONTENT_FILTERED")


# ---------------------------------------------------------------------------------------------- faults and other bodies


def test_an_exception_is_an_error_and_keeps_what_came():
    result = decode(INVOKE["an exception"])
    assert (result.message.text, result.error.code, result.error.message, result.error.retryable) == (
        "Hello.",
        "modelStreamErrorException",
        "it broke",
        True,
    )
    assert result.message.metadata["error"]["originalStatusCode"] == 500


def test_an_exception_in_words_and_an_error_of_the_framing_keep_them():
    assert decode(aws_exception("throttlingException", b"slow <down>")).error.message == "slow <down>"
    error = decode(aws_frame({":message-type": "error", ":error-code": "InternalError", ":error-message": "it broke"}, b"")).error
    assert (error.code, error.message) == ("InternalError", "it broke")


@pytest.mark.parametrize("name", [name for name in INVOKE if name != "an exception"])
def test_a_frame_that_was_cut_is_truncation(name):
    assert decode(INVOKE[name][:-1]).error.kind == "stream_truncated"


def test_nothing_is_truncation():
    assert decode(b"").error.kind == "stream_truncated"


@pytest.mark.parametrize("inside", [b"{oops", b"[1]", b"7"])
def test_an_event_inside_that_is_no_object_is_invalid(inside):
    assert decode(invoke_chunk(inside)).error.kind == "invalid_event"
    assert decode(INVOKE["messages"][:400] + b"").error is not None


def test_an_envelope_that_is_not_quite_one_is_opened():
    data = base64.b64encode(compact({"generation": "x", "stop_reason": "stop"})).decode()
    assert decode(aws_event("chunk", {"p": 7, "bytes": data})).message.text == "x"


def test_events_without_an_envelope_are_the_models_own():
    lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in ANTHROPIC)
    assert decode(lines.encode()).message.text == "Hello."
    assert decode(b'data: {"generation":"x"}\n\ndata: {"generation":"y","stop_reason":"stop"}\n\n').message.text == "xy"


def test_a_limit_ends_the_stream():
    assert decode(INVOKE["messages"], limits={"max_parts": 1}).error.which == "parts"
    assert decode(INVOKE["messages"] + INVOKE["messages"], limits={"max_argument_bytes": 3}).error.which == "argument_bytes"


@pytest.mark.parametrize(
    ("body", "text", "reason"),
    [
        ({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}, "Hi", "stop"),
        (
            {
                "output": {"message": {"content": [{"text": "Hi"}]}},
                "stopReason": "max_tokens",
                "usage": {"inputTokens": 1, "outputTokens": 2},
            },
            "Hi",
            "length",
        ),
        ({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "stop_reason": "stop"}]}, "Hi", "stop"),
        ({"inputTextTokenCount": 3, "results": [{"tokenCount": 2, "outputText": "Hi", "completionReason": "FINISH"}]}, "Hi", "stop"),
        ({"generation": "Hi", "prompt_token_count": 1, "generation_token_count": 2, "stop_reason": "length"}, "Hi", "length"),
        ({"generations": [{"id": "g", "text": "Hi", "finish_reason": "MAX_TOKENS"}]}, "Hi", "length"),
        ({"outputs": [{"text": "Hi", "stop_reason": "stop"}]}, "Hi", "stop"),
        ({"completion": "Hi", "stop_reason": "stop_sequence", "stop": "\n\nHuman:"}, "Hi", "stop"),
        ({"completions": [{"data": {"text": "Hi"}, "finishReason": {"reason": "endoftext"}}]}, "Hi", "stop"),
    ],
)
def test_a_whole_answer_is_read(body, text, reason):
    result = decode(json.dumps(body).encode())
    assert (result.error, result.message.text, result.message.finish_reason) == (None, text, reason)


def test_a_json_error_and_a_page_are_told():
    error = decode(b'{"message":"The provided model identifier is invalid."}').error
    assert (error.kind, error.message) == ("provider_error", "The provided model identifier is invalid.")
    assert decode(b"<html></html>").error.kind == "not_event_stream"
    assert decode(b'{"a":1}').error.kind == "invalid_event"
    assert decode(b'{"message":"no"}', status=403).error.code == "403"


def test_a_broken_frame_is_an_invalid_event():
    body = bytearray(INVOKE["messages"])
    body[-1] ^= 1
    result = decode(bytes(body))
    assert (result.error.kind, result.message.text) == ("invalid_event", "Hello.")


def test_events_in_envelopes_know_their_places():
    frames = [invoke_chunk(event, p="x" * n) for n, event in enumerate(ANTHROPIC)]
    call = next(n for n, event in enumerate(ANTHROPIC) if event.get("index") == 1)
    decoder = StreamDecoder(protocol="bedrock-invoke")
    fragments = [d for chunk in decoder.feed(b"".join(frames)) for d in chunk.deltas if isinstance(d, ToolCallFragment)]
    assert [(d.event, d.offset) for d in fragments] == [(n, sum(map(len, frames[:n]))) for n in (call, call + 1)]


@pytest.mark.parametrize("behind", [{}, METRICS, {"amazon-bedrock-trace": {"a": 1}}])
def test_what_comes_behind_the_end_of_the_stream_inside_is_looked_at_however_it_came(behind):
    stop = {"type": "message_stop"}
    frames = [invoke_chunk(event) for event in (*ANTHROPIC[:-1], stop, behind)]
    whole, apart = decode(b"".join(frames)), decode(frames)
    assert whole.summary() == apart.summary()
    assert whole.message.usage.output_tokens == 9
    assert whole.message.usage.input_tokens == 7


def test_words_of_bedrocks_inside_of_a_text_are_text():
    words = json.dumps(METRICS)
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}}
    result = decode(invoke_chunks(*ANTHROPIC[:3], *[piece] * 3, *ANTHROPIC[4:]))
    assert result.message.text == "Hel" + words * 3


def test_of_a_run_an_envelope_that_is_not_quite_one_is_opened_in_its_place():
    frames = [invoke_chunk(event) for event in ANTHROPIC]
    held = base64.b64encode(compact(ANTHROPIC[3])).decode()
    frames[3] = aws_event("chunk", {"bytes": held, "more": 1})
    whole = decode(b"".join(frames))
    assert whole.summary() == decode(frames).summary()
    assert (whole.message.text, whole.message.finish_reason) == ("Hello.", "tool_calls")


def test_a_stream_of_events_that_the_short_way_refuses_says_the_same_however_it_was_cut():
    pieces = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{n}"}, "new": n} for n in range(100)]
    frames = [invoke_chunk(event) for event in (*ANTHROPIC[:3], *pieces, *ANTHROPIC[4:])]
    whole = decode(b"".join(frames))
    assert whole.summary() == decode(frames).summary()
    assert whole.message.text == "Hel" + "".join(map(str, range(100)))
