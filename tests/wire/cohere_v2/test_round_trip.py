import json

from decoding_runs import decoded
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.request import Request, ToolSpec
from headrace.providers.profiles import COHERE
from headrace.wire.cohere_v2.request_out import encode_request
from wire_bytes import cohere_block, cohere_call, cohere_message, cohere_stream


def test_a_stream_and_the_next_request():
    body = cohere_stream(
        cohere_message("tool-plan-delta", tool_plan="I will "),
        cohere_message("tool-plan-delta", tool_plan="add."),
        *cohere_block(0, "thinking", "Hm", "."),
        *cohere_call(0, "add", '{"x": ', "2}", identifier="add_x1"),
        *cohere_call(1, "clock"),
        finish="TOOL_CALL",
    )
    _, result = decoded(body, protocol="cohere-v2", provider="cohere")
    history = (UserMessage("?"), result.message, ToolMessage([{"sum": 4}], call_id="add_x1"), ToolMessage("noon", call_id="clock_1"))
    request = Request(model="command", messages=history, tools=(ToolSpec(name="add"), ToolSpec(name="clock")))
    encoded = encode_request(request, COHERE.replace(provider="cohere"))
    empty = {"type": "object", "properties": {}}
    assert json.loads(encoded.body) == {
        "model": "command",
        "messages": [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "tool_plan": "I will add.",
                "content": [{"type": "thinking", "thinking": "Hm."}],
                "tool_calls": [
                    {"id": "add_x1", "type": "function", "function": {"name": "add", "arguments": '{"x": 2}'}},
                    {"id": "clock_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "add_x1", "content": [{"type": "document", "document": {"data": {"sum": 4}}}]},
            {"role": "tool", "tool_call_id": "clock_1", "content": "noon"},
        ],
        "stream": True,
        "tools": [
            {"type": "function", "function": {"name": "add", "parameters": empty}},
            {"type": "function", "function": {"name": "clock", "parameters": empty}},
        ],
    }
    assert encoded.warnings == ()
