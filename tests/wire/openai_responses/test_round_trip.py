"""From a stream to the next request: what the provider needs again is there, as it gave it."""

from __future__ import annotations

import json

from decoding_runs import decoded
from headrace.messages.message import SystemMessage, ToolMessage, UserMessage
from headrace.messages.request import Request
from headrace.providers.profiles import OPENAI
from headrace.wire.openai_responses.request_out import encode_request
from responses_bytes import SAMPLES

PROFILE = OPENAI.replace(provider="acme")


def next_request(sample, *results):
    _, result = decoded(SAMPLES[sample], protocol="openai-responses", provider="acme")
    messages = (SystemMessage("Be brief."), UserMessage("Go."), result.message, *results, UserMessage("And then?"))
    encoded = encode_request(Request(model="m-1", messages=messages), PROFILE)
    assert encoded.warnings == ()
    return json.loads(encoded.body)


def test_a_round_of_tools():
    body = next_request("tool round", ToolMessage("12:00", call_id="call_1"), ToolMessage("rain", call_id="call_2"))
    assert body == {
        "model": "m-1",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Go."},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "First think."}, {"type": "summary_text", "text": "Then call."}],
                "encrypted_content": "gAAA=",
            },
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "clock", "arguments": '{"zone":"UTC"}'},
            {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "weather", "arguments": '{"city":"Oslo"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "12:00"},
            {"type": "function_call_output", "call_id": "call_2", "output": "rain"},
            {"role": "user", "content": "And then?"},
        ],
        "stream": True,
    }


def test_tools_that_the_provider_ran():
    items = next_request("hosted tools")["input"][1:-1]
    assert items == [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "code": 'print("hé")\n',
            "container_id": "c",
            "outputs": [{"type": "logs", "logs": "hé"}],
        },
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gBBB"},
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "id": "msg_3",
            "phase": "final_answer",
            "content": [{"type": "output_text", "text": "ok", "annotations": []}],
        },
    ]


def test_tools_that_the_provider_defines_and_the_client_runs():
    items = next_request("tools of the client", ToolMessage("1 row", call_id="call_c"), ToolMessage("patched", call_id="call_p"))["input"]
    assert items[1:-1] == [
        {
            "type": "apply_patch_call",
            "id": "ap_1",
            "call_id": "call_p",
            "status": "completed",
            "operation": {"type": "update_file", "path": "a", "diff": "-a\n+b\n"},
        },
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_c", "name": "sql", "input": "select 1"},
        {"type": "apply_patch_call_output", "call_id": "call_p", "status": "completed", "output": "patched"},
        {"type": "custom_tool_call_output", "call_id": "call_c", "output": "1 row"},
    ]
