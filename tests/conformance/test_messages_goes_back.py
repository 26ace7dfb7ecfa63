"""Each recorded answer of the Messages protocol goes back in the next request as the content that its events make.

The content is put together here a second time, by the protocol's own rules alone: a block is its start, grown by its deltas.
"""

from __future__ import annotations

import json
import re

import pytest

import headrace
from conformance_folder import CONFORMANCE
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.parts import ToolResultPart
from headrace.messages.request import Request
from headrace.providers.profiles import ANTHROPIC
from headrace.wire.anthropic_messages.request_out import encode_request

PROTOCOL = "anthropic-messages"
PROFILE = ANTHROPIC.replace(provider="anthropic")
FILES = sorted((CONFORMANCE / "corpus" / PROTOCOL).glob("*.sse"))
GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature", "compaction_delta": "content"}


def content_of(body):
    """The blocks that a stream makes; one that says nothing is none."""
    blocks = []
    for line in body.splitlines():
        if not line.startswith(b"data:"):
            continue
        event = json.loads(line[5:])
        if event["type"] == "message_start":
            blocks = [dict(block) for block in event["message"]["content"]]
        elif event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "partial_json": ""})
        elif event["type"] == "content_block_delta":
            grow(blocks[event["index"]], event["delta"])
    return [finished(block) for block in blocks if says_anything(block)]


def grow(block, delta):
    if delta["type"] == "input_json_delta":
        block["partial_json"] += delta["partial_json"]
    elif delta["type"] == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    else:
        field = GROWS[delta["type"]]
        block[field] = (block.get(field) or "") + delta[field]
        block.update((key, value) for key, value in delta.items() if key not in ("type", field))


def says_anything(block):
    return block["type"] != "text" or block["text"].strip()


def finished(block):
    pieces = block.pop("partial_json", "")
    if pieces:
        block["input"] = json.loads(pieces)
    return {key: value for key, value in block.items() if not (value is None or (key == "citations" and not value))}


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_recorded_answer_goes_back_as_it_came(file):
    body = file.read_bytes()
    answer = headrace.decode_stream(body, protocol=PROTOCOL, provider="anthropic").message
    results = [ToolMessage([ToolResultPart(call_id=call.id, parts="done")]) for call in answer.tool_calls]
    request = Request(model="m", messages=(UserMessage("hi"), answer, *results, UserMessage("on")))
    encoded = encode_request(request, PROFILE)
    sent = next((one["content"] for one in json.loads(encoded.body)["messages"] if one["role"] == "assistant"), [])
    if answer.finish_reason == "length" and any(call.parsed is None for call in answer.tool_calls):
        assert sent[-1]["input"] == {"_invalid_arguments": answer.tool_calls[-1].arguments}
        return
    unsigned = [block for block in content_of(body) if block["type"] == "thinking" and not block.get("signature")]
    assert sent == [block for block in content_of(body) if block not in unsigned]
    assert len(encoded.warnings) == sum(bool(block["thinking"]) for block in unsigned)


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_sealed_text_of_it_is_there_byte_for_byte(file):
    body = file.read_bytes()
    answer = headrace.decode_stream(body, protocol=PROTOCOL, provider="anthropic").message
    sent = encode_request(Request(model="m", messages=(UserMessage("hi"), answer, UserMessage("on"))), PROFILE).body
    after = body[body.rindex(b'"type":"message_start"') if b'"type":"message_start"' in body else 0 :]
    for sealed in re.findall(rb'"(?:signature|data|encrypted_content|encrypted_index)":"([^"]+)"', after):
        assert sealed in sent
