"""What recorded Bedrock answers hold that must return unchanged: it stands in the next request byte for byte, in its place."""

from __future__ import annotations

import base64
import json

import pytest

import headrace
from aws_service import complaints_about
from conformance_folder import CONFORMANCE
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.request import Request
from headrace.providers.profiles import BEDROCK, BEDROCK_MESSAGES
from headrace.wire.aws_frames import AwsFrames
from headrace.wire.bedrock_converse.request_out import encode_request as encode_converse
from headrace.wire.bedrock_invoke.request_out import encode_request as encode_invoke
from headrace.wire.frames import Frame

CORPUS = CONFORMANCE / "corpus"
CONVERSE = sorted((CORPUS / "bedrock-converse").glob("*.bin"))
INVOKE = sorted((CORPUS / "bedrock-invoke").glob("*.bin"))


def names(paths):
    return [path.stem for path in paths]


def frames_of(path):
    runs = AwsFrames(max_event_bytes=1 << 24).feed(path.read_bytes())
    return [frame for run in runs for frame in ([run] if isinstance(run, Frame) else run.frames())]


def next_request(path, protocol):
    answer = headrace.decode_stream(path.read_bytes(), protocol=protocol, provider="bedrock").message
    results = [ToolMessage("done", call_id=call.id, name=call.name) for call in answer.tool_calls]
    return Request(model="m", messages=(UserMessage("hi"), answer, *results, UserMessage("go on")))


@pytest.mark.parametrize("path", CONVERSE, ids=names(CONVERSE))
def test_a_converse_answer_goes_back_as_its_blocks(path):
    """The content is put together here a second time, by the wire's own rules alone."""
    blocks = {}
    for frame in frames_of(path):
        event = json.loads(frame.data)
        index = event.get("contentBlockIndex")
        if frame.event == "contentBlockStart":
            (kind, start), *_ = [*event["start"].items(), ("text", "")]
            blocks[index] = {kind: start if kind == "text" else {**start, **({"input": ""} if kind == "toolUse" else {"content": []})}}
        elif frame.event == "contentBlockDelta":
            grow(blocks.setdefault(index, {}), event["delta"])
    wanted = [finished(block) for _, block in sorted(blocks.items())]
    wanted = [block for block in wanted if not block.get("text", "x").isspace() and block.get("text") != ""]
    wanted = [block for block in wanted if "signature" in json.dumps(block) or "reasoningText" not in json.dumps(block)]
    body = json.loads(encode_converse(next_request(path, "bedrock-converse"), BEDROCK.replace(provider="bedrock")).body)
    assert not complaints_about(body)
    assert body["messages"][1]["content"] == wanted


def grow(block, delta):
    ((kind, piece),) = delta.items()
    if kind == "text":
        holder = block["citationsContent"]["content"][0] if "citationsContent" in block else block
        holder["text"] = holder.get("text", "") + piece
    elif kind == "citation":
        block.setdefault("citationsContent", {"content": [{"text": block.pop("text", "")}], "citations": []})["citations"].append(piece)
    elif kind == "toolUse":
        block[kind]["input"] += piece["input"]
    elif kind == "toolResult":
        block[kind]["content"] += piece
    elif "redactedContent" in piece:
        block["reasoningContent"] = piece
    else:
        text = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})["reasoningText"]
        for name, value in piece.items():
            text[name] = text.get(name, "") + value


def finished(block):
    if "toolUse" in block:
        return {"toolUse": {**block["toolUse"], "input": json.loads(block["toolUse"]["input"] or "{}")}}
    if "citationsContent" in block:
        content = [piece for piece in block["citationsContent"]["content"] if piece["text"]]
        return {"citationsContent": {**block["citationsContent"], "content": content}}
    return block


@pytest.mark.parametrize("path", INVOKE, ids=names(INVOKE))
def test_calls_of_an_invoked_model_go_back_with_the_very_arguments(path):
    events = [json.loads(base64.b64decode(json.loads(frame.data)["bytes"])) for frame in frames_of(path)]
    pieces = {}
    for event in events:
        delta = event.get("delta") or {}
        if event.get("type") == "content_block_start" and event["content_block"]["type"] == "tool_use":
            pieces[event["index"]] = ""
        elif delta.get("type") == "input_json_delta":
            pieces[event["index"]] += delta["partial_json"]
    request = next_request(path, "bedrock-invoke")
    body = encode_invoke(request, BEDROCK_MESSAGES.replace(provider="bedrock")).body
    for arguments in pieces.values():
        assert f'"input":{arguments or "{}"}'.encode() in body
    assert body.count(b'"tool_use"') == len(pieces)
