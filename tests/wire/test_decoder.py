from __future__ import annotations

from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import FinishDelta, PartDelta, ReasoningDelta, StreamError, TextDelta, ToolCallFragment, WarningDelta
from headrace.messages.parts import JsonPart, ToolCallPart
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


def test_only_the_first_text_of_an_answer_starts_inside_of_a_tag():
    output = new_output(DecodeOptions(think_tags=True, think_starts_open=True))
    for part, text in ((0, "a</think>b"), (2, "c<think>d</think>")):
        output.text("text", text, 0, part)
    message = output.fold.message()
    assert (message.reasoning, message.text) == ("ad", "bc")
    output.restart()
    output.text("text", "e</think>f", 0, 0)
    assert (output.fold.message().reasoning, output.fold.message().text) == ("e", "f")


# --- calls in the text

INLINE = DecodeOptions(inline_tool_calls=True, inline_tool_names=("w",))
CALL = '<tool_call>{"name": "w", "arguments": {"city": "Oslo"}}</tool_call>'


def ended(output, *, is_cut=False):
    """The message, as both ways to make it say it."""
    chunks = []
    output.flush(is_cut=is_cut)
    output.chunk(chunks)
    message = MessageChunk.join([*chunks, *output.end(is_terminated=output.error is None)]).to_message()
    assert message == output.fold.message()
    return message


def calls_of(message):
    return [(call.name, call.parsed, call.runnable, call.id_made_up) for call in message.tool_calls]


def fed(output, *pieces, part=None):
    """Feed pieces of text, the sum of whose chunks is looked at with the rest."""
    for piece in pieces:
        output.text("text", piece, 0, part)
    return output


def test_a_call_in_the_text_becomes_a_call_before_the_word_that_ends_the_answer():
    output = fed(new_output(INLINE), "Let me see.", CALL[:9], CALL[9:])
    assert deltas_of(output) == [TextDelta("Let me see.")]
    output.add(FinishDelta("stop"))
    assert [type(delta).__name__ for delta in deltas_of(output)] == ["ToolCallFragment", "FinishDelta"]
    message = output.fold.message()
    assert not message.tool_calls[0].runnable  # the stream may still fail
    output.end(is_terminated=True)
    message = output.fold.message()
    assert (message.text, message.finish_reason) == ("Let me see.", "tool_calls")
    assert calls_of(message) == [("w", {"city": "Oslo"}, True, True)]
    assert [warning.code for warning in message.warnings] == ["finish_reason_mismatch"]


def test_without_a_word_at_the_end_the_calls_come_at_the_end():
    assert calls_of(ended(fed(new_output(INLINE), CALL, CALL))) == [("w", {"city": "Oslo"}, True, True)] * 2
    assert calls_of(ended(fed(new_output(INLINE), CALL, part=3))) == [("w", {"city": "Oslo"}, True, True)]


def test_a_call_in_a_stream_that_was_cut_or_failed_is_text():
    for fail in (False, True):
        output = fed(new_output(INLINE), CALL)
        if fail:
            output.fail(StreamError("provider_error", "a"))
        message = ended(output, is_cut=not fail)
        assert (message.text, message.tool_calls) == (CALL, ())
        assert "possible_inline_tool_call" in [warning.code for warning in message.warnings]


def test_the_word_that_ends_the_answer_says_what_calls_in_the_text_are():
    open_call = CALL.removesuffix("</tool_call>")
    for word, text, expected in (
        ("stop", open_call, 1), ("length", open_call, 0), ("length", CALL, 1), ("content_filter", CALL, 0), ("error", CALL, 0), ("odd", CALL, 1),
    ):  # fmt: skip
        output = fed(new_output(INLINE), text)
        output.add(FinishDelta(word))
        message = ended(output)
        assert (len(message.tool_calls), message.text) == (expected, "" if expected else text), word


def test_where_the_wire_gives_calls_itself_text_stays_text_before_and_after():
    for part in (None, 0):
        output = fed(new_output(INLINE), CALL, part=part)
        output.add(ToolCallFragment(None, None, None, 0))  # says nothing
        output.add(ToolCallFragment("c", "w", "{}", None, None, None if part is None else 1))
        fed(output, CALL, part=part)
        output.add(FinishDelta("stop"))
        message = ended(output)
        assert [call.id for call in message.tool_calls] == ["c"]
        assert message.text == CALL + CALL
    output = fed(new_output(INLINE), CALL)
    output.add(PartDelta(ToolCallPart(id="c", name="w", arguments="{}")))
    assert ended(output).text == CALL


def test_thinking_between_is_a_place_where_calls_come_out():
    output = fed(new_output(INLINE), CALL)
    output.text("reasoning", "hm", 0)
    assert [type(delta).__name__ for delta in deltas_of(output)] == ["ToolCallFragment", "ReasoningDelta"]


def test_calls_in_the_text_keep_their_bounds():
    output = fed(new_output(INLINE, max_tool_calls=1), CALL, CALL)
    output.flush(is_cut=False)
    assert (output.error.which, output.is_dead) == ("tool_calls", True)


def test_tags_and_calls_go_together():
    output = fed(new_output(DecodeOptions(think_tags=True, inline_tool_calls=True)), f"<think>{CALL}</think>\n\n{CALL}<think>b</thi")
    message = ended(output)
    assert [part.type for part in message.parts] == ["reasoning", "tool_call", "reasoning"]
    assert (message.reasoning, message.text) == (f"{CALL}b</thi", "")


def test_what_no_text_should_hold_is_said_at_the_end():
    (chunk,) = fed(new_output(), "<tool_call> <|im_end|>").end(is_terminated=True)
    assert [delta.warning.code for delta in chunk.deltas if isinstance(delta, WarningDelta)] == [
        "possible_inline_tool_call",
        "leaked_special_tokens",
    ]
