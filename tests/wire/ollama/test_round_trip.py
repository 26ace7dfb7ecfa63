import json

from decoding_runs import decoded
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.request import Request
from headrace.providers.profiles import OLLAMA_NATIVE
from headrace.wire.ollama.request_out import encode_request
from wire_bytes import last_line, line


def test_a_stream_and_the_next_request():
    call = {"id": "call_a", "function": {"index": 0, "name": "add", "arguments": {"x": 2, "y": [1.5, None]}}}
    nameless = {"function": {"name": "clock", "arguments": {}}}
    body = line({"thinking": "Hm."}) + line({"content": "I add."}) + line({"tool_calls": [call, nameless]}) + last_line()
    _, result = decoded(body, protocol="ollama", provider="ollama-native")
    history = (UserMessage("?"), result.message, ToolMessage("4", call_id="call_a"), ToolMessage("noon", call_id="call_1"))
    encoded = encode_request(Request(model="m", messages=history), OLLAMA_NATIVE.replace(provider="ollama-native"))
    assert json.loads(encoded.body) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "content": "I add.",
                "thinking": "Hm.",
                "tool_calls": [
                    {"id": "call_a", "function": {"name": "add", "arguments": {"x": 2, "y": [1.5, None]}}},
                    {"id": "call_1", "function": {"name": "clock", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "add", "tool_call_id": "call_a", "content": "4"},
            {"role": "tool", "tool_name": "clock", "tool_call_id": "call_1", "content": "noon"},
        ],
        "stream": True,
    }
    assert encoded.warnings == ()
