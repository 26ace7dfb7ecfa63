"""What the recorded answers of Cohere and Ollama hold that has to go back goes back: plans, thinking, ids and arguments as they came."""

from __future__ import annotations

import json

import pytest

from conformance_folder import CONFORMANCE
from headrace.decoding import decode_stream
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.parts import ToolResultPart
from headrace.messages.request import Request
from headrace.providers.profiles import COHERE, OLLAMA_NATIVE
from headrace.wire.protocols import WIRES

PROFILES = {"cohere-v2": COHERE, "ollama": OLLAMA_NATIVE}
ANSWERS = [
    item
    for item in json.loads((CONFORMANCE / "corpus" / "index.json").read_text(encoding="utf-8"))
    if item["protocol"] in PROFILES and item["expect"]["tool_calls"]
]


def object_of(arguments):
    value = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    return value or {}


@pytest.mark.parametrize("answer", ANSWERS, ids=[item["file"] for item in ANSWERS])
def test_an_answer_with_calls_goes_back_with_its_results(answer):
    expect, protocol = answer["expect"], answer["protocol"]
    message = decode_stream((CONFORMANCE / "corpus" / answer["file"]).read_bytes(), protocol=protocol, provider="own").message
    results = ToolMessage([ToolResultPart(call_id=call.id, name=call.name, parts="done") for call in message.tool_calls])
    request = Request(model="m", messages=(UserMessage("?"), message, results))
    encoded = WIRES[protocol].encode()(request, PROFILES[protocol].replace(provider="own"))
    _, sent, *tools = json.loads(encoded.body)["messages"]
    assert encoded.warnings == ()
    assert sent.get("tool_plan") == expect.get("tool_plan")
    for call, wanted, tool in zip(sent["tool_calls"], expect["tool_calls"], tools, strict=True):
        assert (call["id"], call["function"]["name"]) == (wanted["id"], wanted["name"])
        assert object_of(call["function"]["arguments"]) == object_of(wanted["arguments"])
        assert (
            not wanted["arguments"]
            or isinstance(wanted["arguments"], dict)
            or protocol != "cohere-v2"
            or call["function"]["arguments"] == wanted["arguments"]
        )
        assert (tool["tool_call_id"], tool["content"]) == (call["id"], "done")
    thinking = sent.get("thinking") or "".join(block["thinking"] for block in sent.get("content") or () if isinstance(block, dict))
    assert thinking == expect["reasoning"]


def test_there_are_answers_of_both():
    assert {item["protocol"] for item in ANSWERS} == set(PROFILES)
