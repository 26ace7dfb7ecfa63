"""What was mended, in words."""

from __future__ import annotations

from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.server.gateway.repairs import comment_of, counts_of, first_repair, words_of


def test_codes_are_counted_in_their_order():
    counts = counts_of([Warning("b"), Warning("a"), Warning("b")])
    assert (words_of(counts), comment_of(counts)) == ("b x2, a x1", b": headrace: b x2, a x1\n\n")


def test_what_every_translation_brings_is_not_said():
    assert comment_of(counts_of([Warning("held_tool_call"), Warning("made_tool_id")])) == b""


def test_what_a_protocol_allows_is_no_repair():
    notes = [
        Warning("dropped_for_provider"),
        Warning("truncated_tool_arguments"),
        Warning("leaked_special_tokens"),
        Warning("made_tool_id"),
    ]
    assert first_repair(notes) is None
    assert first_repair([*notes, Warning("reused_tool_index"), Warning("lenient_json")]) == "reused_tool_index"
