"""Options that concern text mean the same in every protocol, and so do the marks that no text should hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gemini_bytes
import messages_bytes
import responses_bytes
from aws_bytes import invoke_chunks
from bedrock_samples import delta, message, stop
from chat_bytes import text_stream
from decoding_runs import check_result
from decoding_runs import decoded as run
from headrace.decoding import SUPPORTED, StreamDecoder
from inline_samples import NO_CALLS, SAMPLES, TOOLS
from slicing import slicings
from wire_bytes import cohere_block, cohere_stream, last_line, line, said_texts

CALL = '<tool_call>\n{"name": "w", "arguments": {"city": "Oslo"}}\n</tool_call>'
THOUGHT = "<think>It may\n rain.</think>\n\nLet me see."
INLINE = {"inline_tool_calls": True, "inline_tool_names": ["w"]}
SIZES = (1, 7, 10_000)


def invoke(*pieces):
    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}} for piece in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ]
    return invoke_chunks(*events)


def interaction(*pieces):
    said = b"".join(gemini_bytes.delta(0, "text", text=piece) for piece in pieces)
    step = gemini_bytes.start(0, "model_output") + said + gemini_bytes.stopped(0)
    return gemini_bytes.created() + step + gemini_bytes.completed() + gemini_bytes.DONE


BODIES = {
    "openai-chat": lambda *pieces: b"".join(text_stream(*pieces)),
    "openai-responses": lambda *pieces: responses_bytes.started() + responses_bytes.message(0, *pieces) + responses_bytes.ended(),
    "anthropic-messages": lambda *pieces: messages_bytes.body(messages_bytes.text(0, *pieces)),
    "gemini": lambda *pieces: gemini_bytes.stream(*((gemini_bytes.text(piece),) for piece in pieces), gemini_bytes.stop()),
    "gemini-interactions": interaction,
    "bedrock-converse": lambda *pieces: message(*(delta(0, {"text": piece}) for piece in pieces), stop(0)),
    "bedrock-invoke": invoke,
    "cohere-v2": lambda *pieces: cohere_stream(*cohere_block(0, "text", *pieces)),
    "dashscope": lambda *pieces: b"".join(said_texts(*pieces)),
    "ollama": lambda *pieces: b"".join(line({"content": piece}) for piece in pieces) + last_line(),
}


def decoded(protocol, text, size, options=None, *, cut=False):
    """Decode a text that comes in pieces of one size; both ways to the message say the same."""
    pieces = [text[n : n + size] for n in range(0, len(text), size)]
    body = BODIES[protocol](*pieces)
    decoder = StreamDecoder(protocol=protocol, options=options)
    chunks = decoder.feed(body[: len(body) * 9 // 10] if cut else body) + decoder.close(complete=not cut)
    found = decoder.result
    assert sum(chunks).to_message() == found.message
    return found


def test_every_protocol_is_tried():
    assert set(BODIES) == set(SUPPORTED)


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_thinking_between_tags_is_reasoning_on_request(protocol):
    for size in SIZES:
        found = decoded(protocol, THOUGHT, size, {"think_tags": True}).message
        assert (found.reasoning, found.text) == ("It may\n rain.", "Let me see.")
        found = decoded(protocol, THOUGHT.removeprefix("<think>"), size, {"think_tags": True, "think_starts_open": True}).message
        assert (found.reasoning, found.text) == ("It may\n rain.", "Let me see.")
    found = decoded(protocol, THOUGHT, 7).message
    assert (found.reasoning, found.text) == ("", THOUGHT)


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_tags_that_are_not_whole_stay_what_they_are(protocol):
    for size in SIZES:
        found = decoded(protocol, "a <thin> b</think> <think>c</thi", size, {"think_tags": True}).message
        assert (found.reasoning, found.text) == ("c</thi", "a <thin> b</think> ")
        found = decoded(protocol, "a <think>b</think>c<think>d</think>", size, {"think_tags": True}).message
        assert (found.reasoning, found.text) == ("bd", "a c")


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_a_call_in_the_text_is_a_call_on_request(protocol):
    for size in SIZES:
        found = decoded(protocol, f"Let me see.\n{CALL}\n", size, INLINE)
        assert found.error is None
        (call,) = found.message.tool_calls
        assert (call.name, call.parsed, call.runnable, call.id_made_up) == ("w", {"city": "Oslo"}, True, True)
        assert (found.message.text, found.message.finish_reason) == ("Let me see.\n", "tool_calls")
        assert "missing_tool_id" not in [warning.code for warning in found.warnings]


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_a_call_in_the_text_is_text_with_a_warning_otherwise(protocol):
    for options in (None, {**INLINE, "inline_tool_names": ["other"]}):
        found = decoded(protocol, CALL, 7, options)
        assert (found.message.text, found.message.tool_calls) == (CALL, ())
        assert "possible_inline_tool_call" in [warning.code for warning in found.warnings]


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_of_a_stream_that_was_cut_nothing_becomes_a_call(protocol):
    found = decoded(protocol, CALL + "x" * 4000, 100, INLINE, cut=True)
    assert found.error is not None
    assert found.message.tool_calls == ()
    assert found.message.text.startswith(CALL)


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_a_templates_token_in_the_text_is_said(protocol):
    found = decoded(protocol, "Done.<|im_end|>", 7)
    assert "leaked_special_tokens" in [warning.code for warning in found.warnings]
    assert found.message.text == "Done.<|im_end|>"


WORDS = st.sampled_from([CALL, THOUGHT, *(text for _, text, _ in SAMPLES), *NO_CALLS, "<", "</thi", "nk>", "<tool_", "call>", " a\n"])


@given(st.lists(WORDS, max_size=4).map("".join), st.integers(1, 40), st.booleans(), st.booleans(), st.data())
def test_any_slicing_of_the_bytes_gives_the_same_chunks_and_nothing_of_a_cut_stream_runs(text, size, thinks, is_cut, data):
    body = BODIES["openai-chat"](*(text[n : n + size] for n in range(0, len(text), size)))
    body = body[: data.draw(st.integers(0, len(body)))] if is_cut else body
    options = {"options": {"inline_tool_calls": True, "inline_tool_names": TOOLS, "think_tags": thinks}}
    chunks, result = run(body, **options)
    check_result(chunks, result)
    assert run(data.draw(slicings(body)), **options) == (chunks, result)
    if not thinks and not result.message.tool_calls and not is_cut:
        assert result.message.text == text
