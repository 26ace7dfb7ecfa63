"""Whatever a client writes, a request is read, or refused with the place that is wrong; what was read can be asked of any server or is refused."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import UsageError
from headrace.wire.profile import DEFAULT
from headrace.wire.protocols import WIRES

PICTURE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
RESPONSES = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "image_url": "https://x", "detail": "low"},
                {"type": "input_file", "filename": "f", "file_data": "data:application/pdf;base64,aGk="},
                {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
            ],
        },
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": 'headrace-1:{"signature":"s"}'},
        {"type": "message", "role": "assistant", "id": "x", "content": [{"type": "output_text", "text": "t", "annotations": []}]},
        {"type": "function_call", "id": "fc", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "computer_call", "call_id": "c", "action": {"x": 1}},
        {"type": "apply_patch_call", "call_id": "e", "operation": {"x": 1}},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "z"}]},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": "u"}},
        {"type": "apply_patch_call_output", "call_id": "e", "status": "failed", "output": "Error: x"},
        {"type": "compaction", "n": 1},
    ],
    "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}, {"type": "custom", "name": "g"}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
    "reasoning": {"effort": "low"},
    "include": ["x"],
}  # fmt: skip
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "a"}, PICTURE, {"file_data": {"fileUri": "u"}}]},
        {
            "role": "model",
            "parts": [
                {"text": "h", "thought": True},
                {"text": "x", "thoughtSignature": "QQ=="},
                {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}},
                {"executableCode": {"code": "1"}},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"output": "x"}, "parts": [PICTURE]}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"nullable": True}}}}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "generationConfig": {"temperature": 1, "responseSchema": {"type": "OBJECT"}, "thinkingConfig": {"thinkingBudget": 5}},
}
CHAT = {
    "model": "m",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "https://x"}}]},
        {
            "role": "assistant",
            "content": "b",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "c"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
}
MESSAGES = {
    "model": "m",
    "max_tokens": 5,
    "system": [{"type": "text", "text": "a"}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "url", "url": "https://x"}}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "h", "signature": "s"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "c"}]}]},
    ],
    "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}
BASES = {"openai-chat": CHAT, "anthropic-messages": MESSAGES, "openai-responses": RESPONSES, "gemini": GEMINI}
ODD = [None, 1, -1, 1.5, True, "", "x", [], {}, [1], [None], {"type": "x"}, {"a": None}, 10**30, [[{}]], "none", ["x", "y"]]
TARGETS = st.sampled_from([name for name, wire in WIRES.items() if wire.encodes])


def places(value, path=()):
    """The path of every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def bent(base, edits):
    """A copy in which some values are others."""
    value = copy.deepcopy(base)
    for path, odd in edits:
        holder = value
        try:
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = copy.deepcopy(odd)
        except (KeyError, IndexError, TypeError):
            continue  # an edit before it took its place away
    return json.dumps(value).encode()


def test_every_protocol_that_is_served_is_tried():
    assert set(BASES) == {name for name, wire in WIRES.items() if wire.serves}


@pytest.mark.parametrize("protocol", BASES)
@given(st.data())
def test_a_bent_request_is_read_or_refused_with_its_place(protocol, data):
    spots = st.sampled_from(list(places(BASES[protocol])))
    edits = data.draw(st.lists(st.tuples(spots, st.sampled_from(ODD)), min_size=1, max_size=3))
    incoming, refusal = tried(lambda: WIRES[protocol].read_request()(bent(BASES[protocol], edits), model="m"))
    if incoming is None:
        assert refusal.argument
        return
    target = data.draw(TARGETS)
    found, refusal = tried(lambda: incoming.request_for(target))
    if found is None:
        assert str(refusal)
        return
    request, left = found
    assert {warning.code for warning in left} <= {"dropped_for_provider"}
    encoded, refusal = tried(lambda: WIRES[target].encode()(request, DEFAULT))
    assert encoded is not None or str(refusal)


def tried(act):
    """What an act gives, or why it was refused."""
    try:
        return act(), None
    except UsageError as error:
        return None, error
