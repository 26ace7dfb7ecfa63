import pytest

from headrace.wire.ollama.fast import REFUSED, decode_line
from wire_bytes import dumped, last_line, line


def test_pieces_are_understood():
    assert decode_line(line({"content": "a"})).message.content == "a"
    assert decode_line(line({"thinking": "a"})).message.thinking == "a"
    assert decode_line(dumped({"model": "m", "response": "a", "done": False})).response == "a"


@pytest.mark.parametrize(
    "data",
    [
        line({"content": "a", "tool_calls": []}),
        line({"content": "a"}, logprobs=[]),
        line({"content": None}),
        line({"content": "a", "role": "tool"}),
        last_line(),
        b'{"error":"x"}',
        b'{"model":"m","message":{"content":"\\ud83d"}}',
    ],
)
def test_anything_more_is_refused(data):
    with pytest.raises(REFUSED):
        decode_line(data)
