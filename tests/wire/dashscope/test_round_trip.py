import json

import pytest

from decoding_runs import decoded
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.request import Request
from headrace.providers.profiles import DASHSCOPE
from headrace.wire.dashscope.request_out import encode_request
from wire_bytes import said


def call(arguments, identifier="c"):
    return {"tool_calls": [{"index": 0, "id": identifier, "type": "function", "function": {"name": "add", "arguments": arguments}}]}


PIECES = [
    {"content": "", "reasoning_content": "Hm"},
    {"content": "I ", "reasoning_content": "."},
    {"content": "add."},
    call('{"x": ', ""),
    call("2}"),
]
WHOLES = [
    {"content": "", "reasoning_content": "Hm"},
    {"content": "I ", "reasoning_content": "Hm."},
    {"content": "I add.", "reasoning_content": "Hm."},
    {"content": "I add.", "reasoning_content": "Hm.", **call('{"x": ')},
    {"content": "I add.", "reasoning_content": "Hm.", **call('{"x": 2}')},
]


@pytest.mark.parametrize(("messages", "incremental"), [(PIECES, True), (WHOLES, False), (WHOLES, None)])
def test_a_stream_and_the_next_request(messages, incremental):
    body = b"".join(said(message, "tool_calls" if n == len(messages) else "null", n) for n, message in enumerate(messages, 1))
    _, result = decoded(body, protocol="dashscope", provider="dashscope", options={"incremental_output": incremental})
    history = (UserMessage("?"), result.message, ToolMessage("4", call_id="c"))
    encoded = encode_request(Request(model="m", messages=history), DASHSCOPE.replace(provider="dashscope"))
    assert json.loads(encoded.body) == {
        "model": "m",
        "input": {
            "messages": [
                {"role": "user", "content": "?"},
                {
                    "role": "assistant",
                    "content": "I add.",
                    "reasoning_content": "Hm.",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"x": 2}'}}],
                },
                {"role": "tool", "tool_call_id": "c", "name": "add", "content": "4"},
            ]
        },
        "parameters": {"result_format": "message", "incremental_output": True},
    }
    assert encoded.warnings == ()
