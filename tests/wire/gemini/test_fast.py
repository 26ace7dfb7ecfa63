import pytest

from gemini_bytes import call, candidate, text
from headrace._json import dumps
from headrace.wire.gemini.fast import REFUSED, decode_event, raw_part


def test_a_piece_of_text_is_understood():
    event = decode_event(dumps({**candidate(text("a", thought=True), index=0), "usageMetadata": {"promptTokenCount": 1}}))
    assert (event.candidates[0].content.parts[0].text, event.candidates[0].content.parts[0].thought) == ("a", True)
    assert event.usage_metadata == {"promptTokenCount": 1}


@pytest.mark.parametrize(
    "value",
    [
        candidate(text("a", "QQ==")),
        candidate(call()),
        candidate(text("a"), finishReason="STOP"),
        candidate(text("a"), groundingMetadata={}),
        {**candidate(text("a")), "promptFeedback": {}},
        {"error": {}},
    ],
)
def test_what_needs_thought_is_refused(value):
    with pytest.raises(REFUSED):
        decode_event(dumps(value))


def test_a_part_as_the_bytes_that_came():
    data = b'{"candidates": [{"content": {"parts": [{"a":  1.0}, {}]}}, {"content": {"parts": []}}]}'
    assert raw_part(data, 0, 0) == b'{"a":  1.0}'
    assert [raw_part(data, *place) for place in ((0, 2), (1, 0), (2, 0))] == [None, None, None]
    assert raw_part(b'{"candidates": {}}', 0, 0) is raw_part(b"{", 0, 0) is None
