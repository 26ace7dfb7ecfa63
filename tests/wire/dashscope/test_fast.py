import pytest

from headrace.wire.dashscope.fast import REFUSED, decode_event
from wire_bytes import dumped


def event(message, **fields):
    return dumped({"output": {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "null"}]}, **fields})


def test_pieces_are_understood_and_the_usage_is_left_as_it_is():
    got = decode_event(event({"content": "a", "reasoning_content": ""}, usage={"input_tokens": 1}, request_id="r"))
    assert got.output.choices[0].message.content == "a"
    assert (bytes(got.usage), got.request_id) == (b'{"input_tokens":1}', "r")


@pytest.mark.parametrize(
    "data",
    [
        event({"content": [{"text": "a"}]}),
        event({"content": "a", "tool_calls": []}),
        event({"content": "a"}, code="x"),
        event({"content": "a"}).replace(b'"null"', b'"stop"'),
        dumped({"output": {"text": "a"}}),
        dumped({"output": {"choices": [{"message": {"content": "a"}, "index": 1}]}}),
    ],
)
def test_anything_more_is_refused(data):
    with pytest.raises(REFUSED):
        decode_event(data)
