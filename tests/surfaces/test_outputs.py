"""What tools give out while they run, shown now and then."""

from __future__ import annotations

from headrace.messages.parts import MediaPart, TextPart
from headrace.surfaces.outputs import Outputs


def test_all_of_it_is_shown_whenever_half_as_much_again_has_come():
    outputs = Outputs()
    shown = [pieces and "".join(part.text for part in pieces) for pieces in (outputs.add("k", TextPart("ab")) for _ in range(8))]
    assert [text and len(text) for text in shown] == [2, 4, 6, None, 10, None, None, 16]


def test_what_is_shown_costs_no_more_than_a_few_times_its_length():
    outputs, cost = Outputs(), 0
    for _ in range(10_000):
        cost += sum(len(part.text) for part in outputs.add("k", TextPart("x")) or ())
    assert cost < 4 * 10_000


def test_a_call_that_begins_again_begins_with_nothing():
    outputs = Outputs()
    outputs.add("k", TextPart("from before the crash"))
    outputs.add("other", TextPart("stays"))
    outputs.forget("k")
    assert outputs.add("k", TextPart("anew")) == [TextPart("anew")]
    picture = MediaPart(kind="image", media_type="image/png", data=b"x")
    assert outputs.add("other", picture) == [TextPart("stays"), picture]
