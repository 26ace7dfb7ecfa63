from __future__ import annotations

from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import FinishDelta, PartDelta, ReasoningDelta, StreamError, TextDelta, ToolCallFragment
from headrace.messages.parts import JsonPart
from headrace.wire.decoder import Output
from headrace.wire.limits import Limits
from headrace.wire.options import NO_OPTIONS, DecodeOptions

THINK = DecodeOptions(think_tags=True)


def new_output(options=NO_OPTIONS, **limits):
    return Output(Limits(**limits), options)


def deltas_of(output):
    """What was added since the last time, as one chunk."""
    chunks = []
    output.chunk(chunks)
    return [delta for chunk in chunks for delta in chunk.deltas]


def test_an_event_that_added_nothing_is_no_chunk():
    output = new_output()
    assert deltas_of(output) == []
    output.text("text", "a", 0)
    assert deltas_of(output) == [TextDelta("a")]
    assert deltas_of(output) == []


def test_each_kind_of_text_becomes_its_delta():
    output = new_output()
    for kind in ("text", "reasoning", "refusal"):
        output.text(kind, kind, 1)
    message = MessageChunk.join(output.end(is_terminated=True)).to_messages()[0]
    assert (message.text, message.reasoning, message.refusal) == ("text", "reasoning", "refusal")


def test_it_is_holding_while_a_filter_is_on_or_half_a_character_has_come():
    assert new_output(THINK).is_holding
    output = new_output()
    assert not output.is_holding
    output.text("text", "a\ud83d", 0)
    assert output.is_holding
    output = new_output()
    assert output.arguments(0, "a\ud83d", 0) == "a"
    assert output.is_holding


def test_what_is_held_of_other_choices_and_kinds_stays_held():
    output = new_output()
    output.text("text", "a\ud83d", 0)
    output.text("text", "b\ud83d", 1)
    output.add(PartDelta(JsonPart(1), choice=1))
    output.add(ReasoningDelta("", signature="s"))
    output.text("text", "\ude00", 0)
    deltas = [delta for delta in deltas_of(output) if isinstance(delta, TextDelta)]
    assert deltas == [TextDelta("a"), TextDelta("b", None, 1), TextDelta("\ufffd", None, 1), TextDelta("😀")]


def test_a_finish_word_ends_what_was_held_of_its_choice():
    output = new_output()
    output.add(ToolCallFragment("c", "f", output.arguments(0, "x\ud83d", 0), 0))
    output.arguments(1, "y\ud83d", 1)
    output.text("text", "a\ud83d", 0)
    output.add(FinishDelta("stop"))
    kinds = [(type(delta).__name__, getattr(delta, "text", None) or getattr(delta, "arguments", None)) for delta in deltas_of(output)]
    assert kinds == [
        ("ToolCallFragment", "x"),
        ("TextDelta", "a"),
        ("WarningDelta", None),
        ("TextDelta", "\ufffd"),
        ("ToolCallFragment", "\ufffd"),
        ("FinishDelta", None),
    ]


def test_a_warning_is_said_once_and_says_where():
    output = new_output()
    output.events, output.offset = 7, 99
    output.warn_once("lenient_json", "first", choice=2)
    output.warn_once("lenient_json", "second")
    output.warn("comment_in_data")
    warnings = [delta.warning for delta in deltas_of(output)]
    assert [(one.code, one.event, one.offset, one.choice, one.detail) for one in warnings] == [
        ("lenient_json", 7, 99, 2, "first"),
        ("comment_in_data", 7, 99, 0, ""),
    ]


def test_the_first_error_stays():
    output = new_output()
    output.fail(StreamError("provider_error", "a"))
    output.kill(StreamError("invalid_event", "b"))
    assert (output.error.message, output.is_dead) == ("a", True)


def test_past_a_limit_the_delta_is_not_taken_and_nothing_follows():
    output = new_output(max_parts=1)
    output.text("text", "a", 0)
    output.text("reasoning", "b", 1)
    output.text("text", "c", 0)
    assert (output.error.kind, output.error.which, output.is_dead) == ("limit_exceeded", "parts", True)
    assert deltas_of(output) == [TextDelta("a")]
    assert list(output.fold.choices) == [0]


def test_the_end_is_the_last_delta():
    output = new_output()
    output.text("text", "a", 0)
    (chunk,) = output.end(is_terminated=True)
    assert chunk.deltas[-1].is_terminated
    assert chunk.to_message().text == "a"
    assert output.is_dead


def test_where_the_stream_was_cut_half_a_character_is_left_out_and_a_tail_comes_out():
    for is_cut, text in ((True, "a<th"), (False, "a<th\ufffd")):
        output = new_output(THINK)
        output.text("text", "a<th\ud83d", 0)
        output.flush(is_cut=is_cut)
        assert "".join(delta.text for delta in deltas_of(output) if isinstance(delta, TextDelta)) == text


def test_what_other_choices_hold_is_not_looked_at_again_and_again():
    output = new_output()
    for choice in range(100):
        output.text("text", "\ud83d", choice)
        output.arguments(0, "\ud83d", choice)
    output.add(FinishDelta("stop", choice=7))
    texts = [(delta.choice, delta.text) for delta in deltas_of(output) if isinstance(delta, TextDelta)]
    assert texts == [(7, "\ufffd")]
    assert 7 not in output._argument_halves
    assert len(output._argument_halves) == 99
    output.flush(is_cut=False)
    assert sum(isinstance(delta, (TextDelta, ToolCallFragment)) for delta in deltas_of(output)) == 2 * 99
