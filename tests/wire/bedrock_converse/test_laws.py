"""What holds for every body: any slicing gives the same, any cut and any flipped byte is noticed, nothing raises."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aws_bytes import aws_event, invoke_chunk
from bedrock_samples import ANTHROPIC, CONVERSE, INVOKE
from decoding_runs import check_result, decoded, deltas_of
from examples import some
from headrace.decoding import StreamDecoder
from slicing import bytewise, slicings

SAMPLES = [("bedrock-converse", name, body) for name, body in CONVERSE.items()]
SAMPLES += [("bedrock-invoke", name, body) for name, body in INVOKE.items()]
each = pytest.mark.parametrize(("protocol", "body"), [(p, b) for p, _, b in SAMPLES], ids=[f"{p}: {n}" for p, n, _ in SAMPLES])


def calls_of(result):
    return [(call.id, call.name, call.arguments) for call in result.message.tool_calls if call.runnable]


@each
def test_byte_by_byte_gives_the_same_chunks_and_the_same_message(protocol, body):
    chunks, result = decoded(body, protocol=protocol)
    check_result(chunks, result)
    again, same = decoded(bytewise(body), protocol=protocol)
    assert same == result
    assert deltas_of(again) == deltas_of(chunks)


@each
@some
@given(data=st.data())
def test_any_slicing_gives_the_same_chunks(protocol, body, data):
    chunks, result = decoded(body, protocol=protocol)
    again, same = decoded(data.draw(slicings(body)), protocol=protocol)
    assert (deltas_of(again), same) == (deltas_of(chunks), result)


@each
def test_each_cut_is_a_prefix_and_has_no_call_that_the_whole_has_not(protocol, body):
    _, whole = decoded(body, protocol=protocol)
    for at in range(len(body)):
        chunks, part = decoded(body[:at], protocol=protocol)
        check_result(chunks, part)
        assert whole.message.text.startswith(part.message.text), at
        if part.error is None:
            assert part.message.text == whole.message.text, at
            assert set(calls_of(part)) <= set(calls_of(whole)), at
        else:
            assert part.error.kind in ("stream_truncated", "provider_error"), at


@each
def test_each_flipped_byte_is_an_error(protocol, body):
    for at in range(0, len(body), 3):
        chunks, result = decoded(body[:at] + bytes([body[at] ^ 0x20]) + body[at + 1 :], protocol=protocol)
        check_result(chunks, result)
        assert result.error is not None, at


@pytest.mark.parametrize("name", CONVERSE)
def test_the_short_way_and_the_general_one_say_the_same(name):
    body = CONVERSE[name]
    chunks, result = decoded(body, protocol="bedrock-converse")
    decoder = StreamDecoder(protocol="bedrock-converse")
    decoder._decoder.has_short_way = False
    general = decoder.feed(body) + decoder.close()
    assert deltas_of(general) == deltas_of(chunks)
    assert decoder.result == result


VALUES = (None, True, 0, -1, 2.5, "", "x", "\ud83d", [], {}, [[]], {"text": None}, {"toolUse": 1}, [None], 10**30)


@given(st.integers(0, 2**32))
def test_events_of_any_shape_break_no_law(seed):
    rng = random.Random(seed)

    def value(depth=0):
        if depth > 2 or rng.random() < 0.4:
            return rng.choice(VALUES)
        keys = ("contentBlockIndex", "delta", "start", "text", "toolUse", "toolResult", "reasoningContent", "redactedContent", "signature")
        more = (
            "citation",
            "image",
            "source",
            "bytes",
            "format",
            "input",
            "toolUseId",
            "name",
            "type",
            "stopReason",
            "usage",
            "message",
            "content",
        )
        return {rng.choice(keys + more): value(depth + 1) for _ in range(rng.randrange(5))}

    names = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "somethingNew")
    body = b"".join(
        aws_event(rng.choice(names), {"contentBlockIndex": rng.choice((0, 0, 1, 2, None)), **(v if isinstance(v := value(), dict) else {})})
        for _ in range(12)
    )
    chunks, result = decoded(body, protocol="bedrock-converse")
    check_result(chunks, result)
    assert decoded(bytewise(body), protocol="bedrock-converse")[1] == result


@given(st.integers(0, 2**32))
def test_events_of_any_shape_inside_of_envelopes_break_no_law(seed):
    rng = random.Random(seed)
    inside = [json.loads(json.dumps(event)) for event in ANTHROPIC]
    words = (
        "generation",
        "outputText",
        "text",
        "completion",
        "choices",
        "outputs",
        "results",
        "data",
        "tool_calls",
        "citations",
        "response",
        "delta",
    )
    more = (
        "stop_reason",
        "finish_reason",
        "is_finished",
        "error",
        "message",
        "type",
        "contentBlockDelta",
        "messageStop",
        "metadata",
        "usage",
    )
    marks = ("amazon-bedrock-invocationMetrics", "amazon-bedrock-guardrailAction", "amazon-bedrock-trace", "prompt_token_count")

    def value(depth=0):
        if depth > 2 or rng.random() < 0.4:
            return rng.choice(VALUES)
        made = {rng.choice(words + more + marks): value(depth + 1) for _ in range(rng.randrange(4))}
        return [made] if rng.random() < 0.3 else made

    events = [rng.choice(inside) if rng.random() < 0.4 else value() for _ in range(8)]
    body = b"".join(invoke_chunk(event) for event in events)
    chunks, result = decoded(body, protocol="bedrock-invoke")
    check_result(chunks, result)
    again, same = decoded(bytewise(body), protocol="bedrock-invoke")
    assert (deltas_of(again), same) == (deltas_of(chunks), result)
