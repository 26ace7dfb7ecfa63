from __future__ import annotations

import pytest

from decoding_runs import decoded
from headrace.messages.deltas import ToolCallSettled
from headrace.messages.parts import ProviderItem, ReasoningPart, TextPart
from messages_bytes import CITATION, SAMPLES, STOP, body, call, delta, ended, opened, pieces_of, start, stopped, text


def read(some, **options):
    return decoded(some, protocol="anthropic-messages", **options)[1]


def parts(*blocks, **options):
    return read(body(*blocks), **options).message.parts


def codes(result):
    return [warning.code for warning in result.warnings]


class TestText:
    def test_pieces_are_joined_and_blocks_stay_apart(self):
        assert parts(text(0, "a", "b"), text(1, "c")) == (TextPart("ab"), TextPart("c"))

    def test_citations_come_before_between_and_with_the_start(self):
        some = (
            opened(0, "text", text="", citations=[CITATION])
            + delta(0, "citations_delta", citation={"n": 1})
            + delta(0, "text_delta", text="Rye.")
        )
        assert parts(some) == (TextPart("Rye.", citations=[CITATION, {"n": 1}]),)

    def test_a_text_in_the_start_counts(self):
        assert parts(opened(0, "text", text="He"), delta(0, "text_delta", text="He"), delta(0, "text_delta", text="llo")) == (
            TextPart("HeHello"),
        )

    @pytest.mark.parametrize("kind", ["text", "thinking"])
    def test_where_the_first_delta_repeats_it_it_counts_once_if_asked(self, kind):
        options = {"drop_repeated_block_start_text": True}
        for pieces in (["He", "llo"], ["Hello"], ["llo"]):
            some = opened(0, kind, **{kind: "He"}) + b"".join(delta(0, f"{kind}_delta", **{kind: piece}) for piece in pieces)
            assert read(body(some), options=options).message.parts[0].text == "Hello"

    def test_only_the_first_delta_can_repeat(self):
        some = opened(0, "text", text="ha") + delta(0, "text_delta", text="ha") + delta(0, "text_delta", text="ha") + stopped(0)
        assert parts(some, options={"drop_repeated_block_start_text": True}) == (TextPart("haha"),)


class TestThinking:
    def test_pieces_of_a_signature_are_joined(self):
        some = (
            opened(0, "thinking", thinking="a", signature="x")
            + delta(0, "signature_delta", signature="y")
            + delta(0, "signature_delta", signature="z")
        )
        assert parts(some) == (ReasoningPart("a", signature="xyz"),)

    def test_it_may_have_no_signature_or_no_text(self):
        assert parts(opened(0, "thinking", thinking="a"), opened(1, "thinking", signature="s")) == (
            ReasoningPart("a"),
            ReasoningPart("", signature="s"),
        )

    def test_sealed_thinking_is_kept_as_it_came(self):
        assert parts(opened(0, "redacted_thinking", data="zz", more=1)) == (ReasoningPart("", encrypted="zz", provider_data={"more": 1}),)

    def test_of_nothing_there_is_no_part(self):
        assert parts(opened(0, "thinking", thinking="", signature=""), opened(1, "text", text="")) == ()


class TestOrder:
    def test_blocks_that_overlap_go_by_their_number(self):
        [first, second] = read(SAMPLES["calls that overlap"]).message.tool_calls
        assert (first.parsed, second.parsed) == ({"x": 1}, {"y": 2})

    def test_blocks_stand_in_the_order_of_their_numbers(self):
        assert parts(text(3, "c"), text(0, "a"), text(1, "b")) == (TextPart("a"), TextPart("b"), TextPart("c"))

    def test_a_number_that_is_used_again_opens_another_block_behind_all(self):
        message = read(SAMPLES["all blocks at one number"]).message
        assert message.text == "a"
        assert [(item.id, item.name) for item in message.tool_calls] == [("x", "f"), ("y", "g")]

    def test_without_numbers_a_delta_goes_on_with_what_was_opened_last(self):
        result = read(SAMPLES["no numbers"])
        assert result.message.text == "a"
        assert (result.message.tool_calls[0].parsed, codes(result)) == ({"x": 1}, [])


class TestWhatIsMissing:
    def test_a_delta_without_a_start_opens_a_block_of_its_kind_and_a_call_among_them_never_runs(self):
        result = read(SAMPLES["no start of a block"])
        [item] = result.message.tool_calls
        assert result.message.text == "Hi"
        assert (item.arguments, item.name, item.runnable, item.id_made_up) == ('{"a":1}', "", False, True)
        assert codes(result) == ["missing_block_start", "missing_block_start", "missing_tool_id", "missing_tool_name"]

    def test_a_block_without_a_stop_is_whole_when_the_message_is(self):
        result = read(SAMPLES["no stop of a block"])
        assert (result.message.text, result.message.tool_calls[0].runnable, codes(result)) == ("a", True, [])

    def test_a_stop_without_a_start_says_nothing(self):
        assert parts(stopped(0), text(1, "a"), stopped(1), stopped(7)) == (TextPart("a"),)

    def test_a_delta_without_a_type_is_known_by_its_field(self):
        some = (
            body(text(0, "a"), call(1, "f", "{}"), word="tool_use")
            .replace(b'"type":"text_delta",', b"")
            .replace(b'"type":"input_json_delta",', b"")
        )
        message = read(some).message
        assert (message.text, message.tool_calls[0].parsed) == ("a", {})

    def test_an_unknown_delta_of_no_block_is_kept(self):
        result = read(start() + delta(4, "new_delta", x=1) + ended() + STOP)
        assert (result.message.parts, result.message.metadata) == ((), {"provider_fields": {"new_delta.x": 1}})


class TestBounds:
    def test_too_many_blocks_end_the_stream_also_if_they_hold_nothing(self):
        result = read(body(*[opened(n, "text", text="") for n in range(4)], text(4, "a")), limits={"max_parts": 3})
        assert (result.error.kind, result.error.which, result.message.text) == ("limit_exceeded", "parts", "")


def test_the_wire_itself_says_that_a_call_is_whole():
    chunks, _ = decoded(
        start() + call(0, "f", "{}") + opened(1, "tool_use", id="b", name="g") + pieces_of(1, "{}"), protocol="anthropic-messages"
    )
    settled = [one for chunk in chunks for one in chunk.deltas if isinstance(one, ToolCallSettled)]
    assert settled == [ToolCallSettled(0)]


def test_a_delta_may_grow_a_block_that_nobody_knows_also_by_the_short_way():
    some = opened(0, "new", text="a") + delta(0, "text_delta", text="b") + delta(0, "text_delta", text="c")
    assert parts(some) == (ProviderItem(provider="", protocol="anthropic-messages", raw=b'{"type":"new","text":"abc"}'),)
