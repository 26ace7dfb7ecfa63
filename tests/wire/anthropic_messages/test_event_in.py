from __future__ import annotations

import json

import pytest

from decoding_runs import decoded
from headrace.messages.parts import ProviderItem, ReasoningPart, TextPart
from messages_bytes import BROKEN, SAMPLES, STOP, USAGE, body, call, ended, event, start, text, whole


def read(some, **options):
    return decoded(some, protocol="anthropic-messages", **options)[1]


def codes(result):
    return [warning.code for warning in result.warnings]


class TestTheHead:
    def test_it_gives_id_model_provider_and_what_nobody_knows(self):
        message = read(start([], container={"id": "c_1"}) + text(0, "a") + ended(stop_sequence="\nEnd") + STOP, provider="mill").message
        assert (message.id, message.model, message.provider) == ("msg_1", "m-1", "mill")
        assert message.metadata == {"provider_fields": {"container": {"id": "c_1"}, "stop_sequence": "\nEnd"}}

    def test_a_whole_call_in_it_has_the_arguments_that_stand_there_also_none(self):
        message = read(SAMPLES["a whole call in the head"]).message
        [item] = message.tool_calls
        assert (item.id, item.name, item.parsed, item.runnable) == ("t", "roll", {}, True)
        assert item.provider_data == {"caller": {"tool_id": "s"}}
        assert (message.finish_reason, message.warnings) == ("tool_calls", ())

    @pytest.mark.parametrize("message", [None, {}, {"content": None}, {"content": "plain"}, {"content": ["plain", 5]}])
    def test_odd_ones_break_nothing(self, message):
        result = read(event({"type": "message_start", "message": message}) + ended() + STOP)
        assert result.error is None
        assert result.message.text in ("", "plain")


class TestBegunAnew:
    def test_a_message_that_begins_in_the_middle_of_another_drops_it(self):
        result = read(SAMPLES["begun anew in the middle of a call"])
        assert (result.message.id, result.message.text, result.message.tool_calls) == ("msg_2", "Two", ())
        assert codes(result) == ["restarted_message"]

    def test_a_head_that_comes_twice_changes_nothing_but_is_said(self):
        once, twice = read(body(text(0, "Once."))), read(SAMPLES["begun twice"])
        assert twice.message.parts == once.message.parts
        assert twice.message.usage == once.message.usage
        assert codes(twice) == ["restarted_message"]

    def test_usage_words_and_what_was_kept_of_the_first_are_gone(self):
        first = start([], container={"id": "c"}, usage={"input_tokens": 900}) + call(0, "f", "{}") + ended("tool_use")
        result = read(first + start() + text(0, "b") + ended() + STOP)
        assert (result.message.finish_reason, result.message.metadata) == ("stop", {})
        assert result.message.usage.raw["input_tokens"] == USAGE["input_tokens"]


class TestTheEndOfAMessage:
    @pytest.mark.parametrize(
        ("word", "reason"),
        [
            ("end_turn", "stop"), ("max_tokens", "length"), ("stop_sequence", "stop"), ("pause_turn", "pause"), ("refusal", "content_filter"),
            ("model_context_window_exceeded", "length"), ("something new", "other"),
        ],
    )  # fmt: skip
    def test_each_word_has_a_neutral_one_and_is_kept(self, word, reason):
        message = read(body(text(0, "a"), word=word)).message
        assert (message.finish_reason, message.finish_reason_raw) == (reason, word)

    def test_the_same_word_again_with_newer_totals_is_not_two_words(self):
        result = read(SAMPLES["totals twice"])
        assert result.message.usage.output_tokens == 9
        assert codes(result) == []

    def test_a_refusal_says_why_and_none_of_its_calls_is_run(self):
        message = read(SAMPLES["refused"]).message
        assert message.finish_reason == "content_filter"
        assert not message.tool_calls[0].runnable
        assert message.metadata["provider_fields"]["stop_details"]["category"] == "cyber"

    def test_a_call_that_the_bound_cut_off_keeps_its_text_and_is_not_run(self):
        result = read(SAMPLES["cut by the bound"])
        [item] = result.message.tool_calls
        assert (item.arguments, item.runnable, result.message.finish_reason) == ('{"a": "On', False, "length")
        assert codes(result) == ["truncated_tool_arguments"]


class TestWholeMessages:
    def test_a_body_that_was_not_streamed_is_the_same_message(self):
        message = read(SAMPLES["a whole body"]).message
        assert message.text == "Hi"
        assert message.tool_calls[0].parsed == {"n": 10000000000000001}
        assert (message.finish_reason, message.usage.input_tokens, message.warnings) == ("tool_calls", 125, ())

    def test_one_that_comes_as_an_event_is_a_whole_answer(self):
        parts = read(SAMPLES["a whole message as an event"]).message.parts
        assert parts == (ReasoningPart("t", signature="s"), TextPart("plain"))

    def test_one_that_comes_behind_its_pieces_adds_nothing_but_what_is_newer(self):
        message = read(SAMPLES["a whole message behind its pieces"]).message
        assert (message.text, message.usage.output_tokens, message.finish_reason) == ("Hi", 9, "stop")

    def test_the_bytes_of_its_unknown_blocks_stay_as_they_came(self):
        raw = b'{"type": "new",  "n": 1.0}'
        some = whole({"type": "X"}).replace(b'{"type": "X"}', raw)
        assert read(some).message.parts == (ProviderItem(provider="", protocol="anthropic-messages", raw=raw),)


class TestErrors:
    @pytest.mark.parametrize(
        ("name", "code", "message", "retryable"),
        [
            ("an error", "overloaded_error", "busy", True),
            ("an error without a type", "500", "no such format", True),
            ("an error as a body", "not_found_error", "no such model", False),
            ("a bare error", "500", "lost", True),
        ],
    )
    def test_each_form_is_one_error(self, name, code, message, retryable):
        error = read(SAMPLES[name]).error
        assert (error.kind, error.code, error.message, error.retryable) == ("provider_error", code, message, retryable)

    @pytest.mark.parametrize("kind", ["api_error", "timeout_error", "rate_limit_error"])
    def test_what_may_pass_may_be_tried_again(self, kind):
        assert read(event({"type": "error", "error": {"type": kind, "message": "m"}})).error.retryable

    def test_what_had_come_is_kept_and_so_is_the_error_itself(self):
        message = read(SAMPLES["an error"]).message
        assert (message.text, message.finish_reason) == ("a", "error")
        assert message.metadata == {
            "error": {"type": "overloaded_error", "message": "busy"},
            "provider_fields": {"request_id": "r_1"},
        }

    def test_the_name_error_is_one_whatever_the_type_says(self):
        assert read(start() + event({"type": "ping"}, "error")).error.kind == "provider_error"

    @pytest.mark.parametrize("value", [b'"lost"', b"lost", b""])
    def test_an_error_in_plain_words_is_one(self, value):
        assert read(start() + b"event: error\ndata: " + value + b"\n\n").error.kind == "provider_error"

    @pytest.mark.parametrize("name", ["nested without end", "numbers out of range", "JSON that is no object"])
    def test_what_cannot_be_kept_is_an_event_that_is_none(self, name):
        assert read(SAMPLES[name]).error.kind == "invalid_event"

    def test_a_body_of_another_kind_is_no_answer(self):
        assert read(SAMPLES["something else as a body"]).error.kind == "invalid_event"
        assert read(SAMPLES["a page"]).error.kind == "not_event_stream"

    def test_all_broken_samples_are_told_from_each_other_by_kind(self):
        assert {read(SAMPLES[name]).error.kind for name in BROKEN} == {
            "provider_error",
            "invalid_event",
            "stream_truncated",
            "not_event_stream",
        }


class TestWhatNobodyKnows:
    def test_events_fields_and_deltas_are_kept(self):
        message = read(SAMPLES["fields that nobody knows"]).message
        assert message.text == "ab"
        assert message.parts[0].provider_data == {"mood": "glad"}
        assert message.metadata["provider_fields"] == {
            "container": {"id": "c_1"}, "service": "x", "more": 1, "odd": 1, "new_delta.what": "w", "event.new_event.n": 1,
        }  # fmt: skip

    def test_a_type_that_stands_in_the_name_alone_counts(self):
        assert read(SAMPLES["names alone"]).message == read(body(text(0, "a"))).message

    @pytest.mark.parametrize("kind", ["content_block_start", "content_block_delta", "message_delta"])
    def test_events_without_what_they_should_hold_say_nothing(self, kind):
        some = event({"type": kind, "index": 0}) + event({"type": kind, "content_block": 5, "delta": [], "usage": "x"})
        result = read(start() + some + text(0, "a") + ended() + STOP)
        assert (result.message.text, result.error) == ("a", None)


def test_usage_is_kept_as_it_came_too():
    raw = read(body(text(0, "a"))).message.usage.raw
    assert raw == json.loads(json.dumps({**USAGE, "output_tokens": 7}))
