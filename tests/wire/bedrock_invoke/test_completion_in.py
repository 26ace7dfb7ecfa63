"""Completions: text and little else."""

from __future__ import annotations

from aws_bytes import invoke_chunks
from bedrock_samples import METRICS
from headrace.decoding import decode_stream


def decode(*events, **options):
    return decode_stream(invoke_chunks(*events), protocol="bedrock-invoke", **options)


def test_a_chat_of_the_older_kind_gives_calls_citations_and_repeats_itself_at_the_end():
    result = decode(
        {"event_type": "stream-start", "generation_id": "g1", "is_finished": False},
        {"event_type": "text-generation", "text": "I will ", "is_finished": False},
        {"event_type": "text-generation", "text": "look.", "is_finished": False},
        {"event_type": "citation-generation", "citations": [{"start": 0, "end": 1, "text": "I"}], "is_finished": False},
        {
            "event_type": "tool-calls-generation",
            "text": "I will look.",
            "tool_calls": [{"name": "clock", "parameters": {"zone": "UTC"}}, {"name": "now"}, 7],
            "is_finished": False,
        },
        {
            "event_type": "stream-end",
            "finish_reason": "COMPLETE",
            "is_finished": True,
            "response": {
                "text": "I will look.",
                "tool_calls": [{"name": "clock", "parameters": {"zone": "UTC"}}],
                "finish_reason": "COMPLETE",
            },
            **METRICS,
        },
    )
    message = result.message
    assert (message.id, message.text) == ("g1", "I will look.")
    assert [(c.name, c.parsed, c.runnable) for c in message.tool_calls] == [("clock", {"zone": "UTC"}, True), ("now", {}, True)]
    assert message.finish_reason == "tool_calls"
    assert message.parts[0].citations == ({"start": 0, "end": 1, "text": "I"},)
    assert "missing_tool_id" not in [warning.code for warning in result.warnings]


def test_a_repeat_at_the_end_fills_what_did_not_come():
    assert (
        decode({"event_type": "stream-end", "is_finished": True, "response": {"text": "Hi"}, "finish_reason": "COMPLETE"}).message.text
        == "Hi"
    )


def test_arguments_that_are_no_object_stay_as_they_are():
    (call,) = decode({"tool_calls": [{"id": "x", "name": "f", "parameters": "raw"}], "finish_reason": "COMPLETE"}).message.tool_calls
    assert (call.id, call.arguments, call.runnable) == ("x", '"raw"', False)


def test_running_counts_replace_each_other():
    usage = decode(
        {"generation": "a", "prompt_token_count": 10, "generation_token_count": 1},
        {"generation": "b", "prompt_token_count": None, "generation_token_count": 2, "stop_reason": "stop"},
    ).message.usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 2)
    assert usage.raw == {"prompt_token_count": 10, "generation_token_count": 2}


def test_what_is_not_understood_is_kept():
    message = decode({"generation": "a", "mood": "calm", "stop_reason": "stop", "images": None}).message
    assert message.metadata == {"provider_fields": {"mood": "calm"}}


def test_an_error_inside_is_an_error_of_the_provider():
    result = decode({"generation": "a"}, {"error": {"message": "it broke", "code": 500}})
    assert (result.error.kind, result.error.code, result.message.text) == ("provider_error", "500", "a")
    assert result.message.metadata["error"] == {"message": "it broke", "code": 500}


def test_a_stream_that_never_says_that_it_is_finished_is_truncated():
    assert decode({"generation": "a"}).error.kind == "stream_truncated"
    assert decode({"is_finished": True}).error is None
    assert decode({"generation": "a", **METRICS}).error is None


def test_done_ends_it_in_plain_events():
    body = b'data: {"generation":"a"}\n\ndata: [DONE]\n\ndata: {"generation":"b"}\n\n'
    result = decode_stream(body, protocol="bedrock-invoke")
    assert (result.error, result.message.text) == (None, "a")


def test_half_a_character_in_an_error_is_mended():
    assert decode(b'{"error":{"message":"half \\ud83d"}}').error.message == "half \ufffd"


def test_answers_in_a_list_that_are_no_objects_say_nothing():
    assert decode({"outputs": [7, {"text": "x", "stop_reason": "stop"}], "results": "odd"}).message.text == "x"
