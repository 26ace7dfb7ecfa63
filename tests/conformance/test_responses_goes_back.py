"""What the recorded Responses streams held goes back whole: each item of the provider's own list, in its order, opaque strings byte for byte."""

from __future__ import annotations

import json

import pytest

import headrace
from conformance_folder import CONFORMANCE
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.parts import JsonPart
from headrace.messages.request import Request
from headrace.providers.profiles import OPENAI
from headrace.wire.openai_responses.request_out import encode_request

PROFILE = OPENAI.replace(provider="acme", call_id_pattern=None)
OPAQUE = ("encrypted_content", "fingerprint", "call_id", "approval_request_id", "container_id", "namespace", "caller", "code", "result")
ROTATING = ("copilot", "openrouter")  # their ids differ from event to event, so any of them is as good


def answers():
    """Each recording whose provider repeats its whole output at the end; that list, and the items as they came whole before."""
    for path in sorted((CONFORMANCE / "corpus" / "openai-responses").glob("*.sse")):
        done = []
        for line in path.read_bytes().splitlines():
            value = json.loads(line[5:]) if line.startswith(b"data:") and b"[DONE]" not in line else {}
            if value.get("type") == "response.output_item.done":
                done.append(value["item"])
            if value.get("type") == "response.completed" and value["response"].get("output"):
                yield pytest.param(path, value["response"]["output"], done, id=path.name)


each = pytest.mark.parametrize(("path", "output", "done"), list(answers()))


def result_of(call):
    return [{"type": "function", "name": "found"}] if call.name == "tool_search_call" else "done"


def sent_back(path):
    message = headrace.decode_stream(path.read_bytes(), protocol="openai-responses", provider="acme").message
    results = [ToolMessage([JsonPart(result_of(call))], call_id=call.id) for call in message.tool_calls]
    encoded = encode_request(Request(model="m", messages=(UserMessage("Go."), message, *results)), PROFILE)
    assert encoded.warnings == ()
    items = json.loads(encoded.body)["input"][1:]
    return items[: len(items) - len(results)], items[len(items) - len(results) :], message


@each
def test_every_item_goes_back_in_its_order(path, output, done):
    items, results, message = sent_back(path)
    output = [whole for whole in output if whole["type"] != "message" or any(part.get("text", "x") for part in whole["content"])]
    assert [item["type"] for item in items] == [item["type"] for item in output]
    for n, (item, whole) in enumerate(zip(items, output, strict=True)):
        # A provider seals its thinking anew for the list at the end; both seals are its own.
        came = [whole, *(form for form in done if form["type"] == whole["type"])]
        if not path.name.startswith(ROTATING):
            assert item.get("id") == whole.get("id"), n
        for name in OPAQUE:
            assert item.get(name) in [form.get(name) or None for form in came], (n, name)
    assert [result["call_id"] for result in results] == [call.id for call in message.tool_calls]


@each
def test_what_was_said_goes_back_as_it_was_said(path, output, done):
    items, _, _ = sent_back(path)
    assert len(done) >= len(items) - 1
    said = {item["id"]: item for item in items if item["type"] == "message"}
    for whole in output:
        if whole["type"] == "message" and whole["id"] in said:
            item = said[whole["id"]]
            assert item.get("phase") == whole.get("phase")
            texts = [part.get("text") or part.get("refusal") for part in whole["content"]]
            assert "".join(part.get("text") or part.get("refusal") for part in item["content"]) == "".join(texts)
            assert [part.get("annotations") for part in item["content"]] == [part.get("annotations") for part in whole["content"]]
        elif whole["type"] == "function_call":
            sent = next(item for item in items if item.get("call_id") == whole["call_id"] and item["type"] == "function_call")
            assert (sent["name"], sent["arguments"]) == (whole["name"], whole["arguments"])
