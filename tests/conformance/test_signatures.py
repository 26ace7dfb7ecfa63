"""Every thought signature of a recorded stream goes back, byte for byte, in its order and on a part of the same kind."""

from __future__ import annotations

import json

import pytest

from conformance_folder import CONFORMANCE
from headrace.decoding import decode_stream
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.request import Request
from headrace.wire.profile import Profile
from headrace.wire.protocols import WIRES

PROFILE = Profile(provider="acme", reasoning_style="parts")
FILES = [path for protocol in ("gemini", "gemini-interactions") for path in sorted((CONFORMANCE / "corpus" / protocol).glob("*.sse"))]


def events_of(body):
    lines = [line.removeprefix(b"data:").strip() for line in body.replace(b"\r\n", b"\n").split(b"\n") if line.startswith(b"data:")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def signed_parts(contents):
    """What is signed, in order: the kind of the part, and its signature."""
    return [
        (
            "call" if "functionCall" in part else "thought" if part.get("thought") else "text" if "text" in part else "tool",
            part["thoughtSignature"],
        )
        for content in contents
        for part in content.get("parts", ())
        if "thoughtSignature" in part
    ]


def signed_steps(events):
    return [event["delta"]["signature"] for event in events if event.get("delta", {}).get("signature")]


def next_body(path):
    protocol = path.parent.name
    message = decode_stream(path.read_bytes(), protocol=protocol, provider="acme").message
    results = [ToolMessage("r", call_id=call.id) for call in message.tool_calls]
    encoded = WIRES[protocol].encode()(Request(model="m", messages=(UserMessage("q"), message, *results)), PROFILE)
    assert encoded.warnings == ()
    return json.loads(encoded.body)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_was_signed_goes_back_signed(path):
    events = events_of(path.read_bytes())
    if path.parent.name == "gemini":
        came = signed_parts(one.get("content", {}) for event in events for one in event.get("candidates", ()))
        assert signed_parts(next_body(path)["contents"]) == came
    else:
        steps = next_body(path)["input"]
        assert [step["signature"] for step in steps if step.get("signature")] == signed_steps(events)


def test_there_are_signatures_of_each_kind():
    came = {kind for path in FILES if path.parent.name == "gemini" for event in events_of(path.read_bytes())
            for kind, _ in signed_parts(one.get("content", {}) for one in event.get("candidates", ()))}  # fmt: skip
    assert {"call", "text"} <= came
