"""Whole streams of Converse and InvokeModel, one for each way in which models differ; the values are our own."""

from __future__ import annotations

from aws_bytes import aws_events, aws_exception, invoke_chunks

PAD = {"p": "abcdefgh"}
USAGE = {"inputTokens": 20, "outputTokens": 9, "totalTokens": 45, "cacheReadInputTokens": 12, "cacheWriteInputTokens": 4}


def start(index, block):
    return {"contentBlockStart": {"contentBlockIndex": index, "start": block, **PAD}}


def delta(index, piece):
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": piece, **PAD}}


def stop(index):
    return {"contentBlockStop": {"contentBlockIndex": index, **PAD}}


def call(index, identifier, name, *pieces):
    """A tool call, whole."""
    tool = {"toolUse": {"toolUseId": identifier, "name": name}}
    return [start(index, tool), *(delta(index, {"toolUse": {"input": piece}}) for piece in pieces), stop(index)]


BEGIN = {"messageStart": {"role": "assistant", **PAD}}
METADATA = {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 81}, **PAD}}


def message(*events, reason="end_turn"):
    return aws_events(BEGIN, *events, {"messageStop": {"stopReason": reason, **PAD}}, METADATA)


CONVERSE = {
    "text": message(delta(0, {"text": "The mill"}), delta(0, {"text": ""}), delta(0, {"text": " türns."}), stop(0)),
    "one call": message(*call(0, "t1", "clock", "", '{"zone":', '"Europe/Oslo"}'), reason="tool_use"),
    "a call without arguments": message(*call(0, "t1", "now"), reason="tool_use"),
    "text, then two calls": message(
        delta(0, {"text": "I look."}),
        stop(0),
        *call(1, "t1", "clock", '{"zone":"UTC"}'),
        *call(2, "t2", "add", '{"a":1,', '"b":2}'),
        reason="tool_use",
    ),
    "signed thinking": message(
        delta(0, {"reasoningContent": {"text": "Is it "}}),
        delta(0, {"reasoningContent": {"text": "late?"}}),
        delta(0, {"reasoningContent": {"signature": "c2ln"}}),
        stop(0),
        delta(1, {"text": "No."}),
        stop(1),
    ),
    "sealed thinking": message(
        delta(0, {"reasoningContent": {"redactedContent": "c2VhbGVk"}}), stop(0), delta(1, {"text": "Four."}), stop(1)
    ),
    "a citation before its text": message(
        delta(
            0, {"citation": {"title": "facts", "sourceContent": [{"text": "1993"}], "location": {"web": {"url": "https://example.org"}}}}
        ),
        delta(0, {"text": "In 1993."}),
        stop(0),
    ),
    "a tool of the provider": message(
        start(0, {"toolUse": {"toolUseId": "s1", "name": "nova_code_interpreter", "type": "server_tool_use"}}),
        delta(0, {"toolUse": {"input": '{"snippet":'}}),
        delta(0, {"toolUse": {"input": '"1+1"}'}}),
        stop(0),
        start(1, {"toolResult": {"toolUseId": "s1", "type": "nova_code_interpreter_result", "status": "success"}}),
        delta(1, {"toolResult": [{"json": {"stdOut": "2"}}]}),
        delta(1, {"toolResult": [{"text": "done"}]}),
        stop(1),
        delta(2, {"text": "Two."}),
        stop(2),
    ),
    "an image": message(start(0, {"image": {"format": "png"}}), delta(0, {"image": {"source": {"bytes": "AAEC"}}}), stop(0)),
    "cut by its length": message(*call(0, "t1", "clock", '{"zo'), reason="max_tokens"),
    "a guardrail": message(delta(0, {"text": "No."}), stop(0), reason="guardrail_intervened"),
    "an exception": aws_events(BEGIN, delta(0, {"text": "Hel"})) + aws_exception("throttlingException", {"message": "slow down"}),
}

ANTHROPIC = [
    {
        "type": "message_start",
        "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [], "usage": {"input_tokens": 7}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t1", "name": "clock", "input": {}}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"zone":"UTC"}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 9}},
    {
        "type": "message_stop",
        "amazon-bedrock-invocationMetrics": {"inputTokenCount": 8, "outputTokenCount": 10, "cacheReadInputTokenCount": 3},
    },
]
METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 8, "outputTokenCount": 10}}

INVOKE = {
    "messages": invoke_chunks(*ANTHROPIC),
    "converse": invoke_chunks(
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "Red, "}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"text": "blue."}, "contentBlockIndex": 0}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 12, "outputTokens": 4, "cacheReadInputTokenCount": 2}}, **METRICS},
    ),
    "chat": invoke_chunks(
        {"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "On"}}]},
        {"id": "c1", "choices": [{"index": 0, "delta": {"content": "ce"}, "stop_reason": None}]},
        {"id": "c1", "choices": [{"index": 0, "delta": {"content": ""}, "stop_reason": "length"}], **METRICS},
    ),
    "generation": invoke_chunks(
        {"generation": "Lo", "prompt_token_count": 10, "generation_token_count": 1, "stop_reason": None},
        {"generation": "rem", "prompt_token_count": None, "generation_token_count": 2, "stop_reason": "stop", **METRICS},
    ),
    "output text": invoke_chunks(
        {"outputText": "Wat", "index": 0.0, "inputTextTokenCount": 6.0},
        {"outputText": "er", "index": 0.0, "totalOutputTextTokenCount": 3.0, "completionReason": "FINISH", **METRICS},
    ),
    "outputs": invoke_chunks(
        {"outputs": [{"text": "Fl", "stop_reason": None}]}, {"outputs": [{"text": "our", "stop_reason": "length"}], **METRICS}
    ),
    "finished": invoke_chunks({"is_finished": False, "text": " I"}, {"is_finished": True, "finish_reason": "COMPLETE", **METRICS}),
    "a blocked input": invoke_chunks(
        {"outputText": "Blocked", "index": 0.0, "totalOutputTextTokenCount": 3.0, "amazon-bedrock-guardrailAction": "INTERVENED"}
    ),
    "an exception": invoke_chunks(*ANTHROPIC[:4])
    + aws_exception("modelStreamErrorException", {"message": "it broke", "originalStatusCode": 500}),
}
