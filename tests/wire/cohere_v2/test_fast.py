import msgspec
import pytest

from headrace.wire.cohere_v2.fast import REFUSED, FastContent, decode_event
from wire_bytes import cohere_message, dumped


def data_of(event):
    return event.split(b"data: ")[1].strip()


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (cohere_message("content-delta", 0, content={"text": "a"}), "content"),
        (cohere_message("content-delta", 1, content={"thinking": "a"}), "content"),
        (cohere_message("tool-plan-delta", tool_plan="a"), "tool_plan"),
        (cohere_message("tool-call-delta", 0, tool_calls={"function": {"arguments": "{"}}), "tool_calls"),
    ],
)
def test_pieces_are_understood(event, name):
    message = decode_event(data_of(event)).delta.message
    assert [field for field in message.__struct_fields__ if getattr(message, field) is not None] == [name]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "a", "type": "text"}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "a"}}}, "logprobs": {}},
        {"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": {"id": "c", "function": {"arguments": ""}}}}},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
        {"type": "content-end", "index": 0},
    ],
)
def test_anything_more_is_refused(value):
    with pytest.raises(REFUSED):
        decode_event(dumped(value))


def test_a_lone_half_of_a_character_is_refused():
    with pytest.raises(REFUSED):
        decode_event(b'{"type":"content-delta","delta":{"message":{"content":{"text":"\\ud83d"}}}}')
    assert msgspec.structs.asdict(FastContent()) == {"text": None, "thinking": None}
