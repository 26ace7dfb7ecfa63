from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chat_bytes import DONE, chunk, event, text_stream, whole_body
from decoding_runs import check_result, decoded
from stream_samples import DETAILS, LOGPROBS, SAMPLES, USAGE, call, calls, choice_event


def read(*events, **options):
    """The result of a stream of these events, ended well."""
    chunks, result = decoded(b"".join(events) + chunk(finish=options.pop("finish", "stop")) + DONE, **options)
    check_result(chunks, result)
    return result


def codes(result):
    return [warning.code for warning in result.warnings]


class TestTheHead:
    def test_the_first_id_model_and_time_that_say_something_count(self):
        first = event({"id": "", "model": "", "created": 0, "choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
        message = read(first, chunk({"content": "a"}), chunk({"content": "b"}, id="other", model="other")).message
        assert (message.id, message.model) == ("chatcmpl-7", "m-1")
        assert message.created_at == datetime(2026, 2, 2, 2, 40, tzinfo=UTC)

    def test_an_id_that_comes_alone_waits_for_the_model(self):
        message = read(chunk({"content": "a"}, model=None), chunk({"content": "b"}, id="late", model="m-9")).message
        assert (message.id, message.model, message.text) == ("chatcmpl-7", "m-9", "ab")

    @pytest.mark.parametrize("created", [0, -5, 1e9, "1", None, True, 10**12])
    def test_a_time_that_is_none_is_left_out(self, created):
        assert read(chunk({"content": "a"}, created=created)).message.created_at is None

    def test_ids_that_change_and_are_empty_are_one_message(self):
        result = read(*(chunk({"content": text}, id=identity) for text, identity in (("a", "c1"), ("b", "c2"), ("c", ""))))
        assert (result.message.id, result.message.text) == ("c1", "abc")

    def test_the_provider_that_the_caller_named_is_the_messages(self):
        assert read(chunk({"content": "a"}), provider="mill").message.provider == "mill"

    def test_half_a_character_in_an_id_becomes_the_replacement_character(self):
        assert read(chunk({"content": "a"}, id="x\ud800")).message.id == "x\ufffd"


class TestChoices:
    def test_choices_interleave_and_each_is_a_message(self):
        result = decoded(SAMPLES["two choices"])[1]
        assert [message.text for message in result.choices] == ["Yes", "No"]
        assert [message.finish_reason for message in result.choices] == ["length", "stop"]
        assert result.message is result.choices[0]

    def test_a_choice_without_index_is_the_first(self):
        for index in (None, "0", -1, 0.0):
            assert read(chunk(choices=[{"index": index, "delta": {"content": "a"}}])).message.text == "a"

    def test_a_choice_that_comes_alone_under_another_index_is_not_lost(self):
        result = decoded(choice_event(2, {"content": "a"}, "stop") + DONE)[1]
        assert (result.indexes, result.message.text, result.choices[1].text) == ((0, 2), "", "a")
        assert [one["text"] for one in result.summary()["choices"]] == ["", "a"]

    def test_choices_may_be_null_missing_or_one_object(self):
        assert read(chunk(choices=None), event({"id": "x"}), chunk(choices={"delta": {"content": "a"}})).message.text == "a"

    def test_text_of_an_older_completion_is_text(self):
        assert read(chunk(choices=[{"index": 0, "text": "a"}]), chunk(choices=[{"index": 0, "text": "b"}])).message.text == "ab"

    def test_more_choices_than_parts_are_too_many(self):
        body = b"".join(choice_event(n, {}, "stop") for n in range(4)) + DONE
        result = decoded(body, limits={"max_parts": 3})[1]
        assert (result.error.kind, result.error.which, len(result.choices)) == ("limit_exceeded", "parts", 3)
        assert decoded(body, limits={"max_parts": 4})[1].error is None


class TestFinish:
    @pytest.mark.parametrize(
        ("word", "reason"),
        [
            *(
                ("stop", "stop"),
                ("eos", "stop"),
                ("length", "length"),
                ("content_filter", "content_filter"),
                ("sensitive", "content_filter"),
            ),
            *(("network_error", "error"), ("insufficient_system_resource", "error"), ("model_length", "length"), ("mystery", "other")),
        ],
    )
    def test_words_become_neutral_and_stay(self, word, reason):
        message = decoded(chunk({"content": "a"}) + chunk(finish=word) + DONE)[1].message
        assert (message.finish_reason, message.finish_reason_raw) == (reason, word)

    def test_a_word_that_hides_a_length_is_told_by_the_native_one(self):
        events = [
            calls(call(0, "c", "f", '{"a": "b')),
            chunk(choices=[{"delta": {}, "finish_reason": "tool_calls", "native_finish_reason": "MAX_TOKENS"}]),
        ]
        message = decoded(b"".join(events) + DONE)[1].message
        assert (message.finish_reason, message.finish_reason_raw) == ("length", "tool_calls")
        assert not message.tool_calls[0].runnable

    def test_the_last_piece_may_ride_with_the_finish_word(self):
        message = decoded(chunk({"content": "a"}) + chunk({"content": "b"}, finish="stop"))[1].message
        assert (message.text, message.finish_reason) == ("ab", "stop")

    def test_words_without_meaning_and_things_that_are_no_words_say_nothing(self):
        for word in ("", "null", None, 1, {"a": 1}):
            result = decoded(chunk({"content": "a"}, finish=word) + DONE)[1]
            assert result.message.finish_reason_raw is None
            assert codes(result) == ["finish_reason_missing"]

    def test_without_any_finish_word_the_terminator_ends_it(self):
        result = decoded(SAMPLES["details alone"])[1]
        assert (result.message.finish_reason, codes(result)) == ("stop", ["finish_reason_missing"])


class TestUsage:
    @pytest.mark.parametrize(
        "events",
        [
            [chunk(choices=[], usage=USAGE)],
            [chunk(choices=None, usage=USAGE)],
            [chunk({}, usage=USAGE)],
            [chunk(choices=[{"delta": {}, "usage": USAGE}])],
            [chunk({}, x_groq={"id": "r", "usage": USAGE})],
            [chunk({}, usage={"prompt_tokens": 20, "completion_tokens": 1}), chunk({}, usage={**USAGE, "prompt_tokens": None})],
            [chunk({}, usage={"total_tokens": 0}), chunk(choices=[], usage=USAGE)],
        ],
    )
    def test_it_is_found_wherever_it_stands(self, events):
        usage = read(chunk({"content": "a"}), *events).message.usage
        assert usage.counts() == {
            "input_tokens": 20,
            "output_tokens": 9,
            "cache_read_tokens": 16,
            "cache_write_tokens": None,
            "reasoning_tokens": 5,
        }

    def test_running_totals_replace_each_other(self):
        assert decoded(SAMPLES["usage in every event"])[1].message.usage.output_tokens == 4

    def test_timings_beside_it_know_the_cache(self):
        assert decoded(SAMPLES["choices first, head last"])[1].message.usage.cache_read_tokens == 4

    def test_without_any_there_is_none(self):
        for usage in (None, {}, [], 7, "many"):
            assert read(chunk({"content": "a"}, usage=usage)).message.usage is None

    def test_the_raw_report_is_kept(self):
        assert read(chunk({"content": "a"}, usage={"prompt_tokens": 1, "cost": 0.5})).message.usage.raw == {"prompt_tokens": 1, "cost": 0.5}


class TestErrors:
    @pytest.mark.parametrize(
        ("body", "message", "code"),
        [
            (event({"error": {"message": "m", "code": 503}}), "m", "503"),
            (event({"error": {"message": "m", "code": "c", "type": "t"}}), "m", "c"),
            (event({"error": "m"}), "m", None),
            (event({"error": {"error": {"message": "m", "code": "c"}}}), "m", "c"),
            (event({"error": True, "message": "m"}), "m", None),
            (event({"error": ["m"], "message": "n"}), "n", None),
            (event({"object": "error", "message": "m", "code": 40_001}), "m", "40001"),
            (event({"message": "m", "code": 400}), "m", "400"),
            (event({"message": "m", "type": "invalid"}), "m", "invalid"),
            (event({"detail": "m"}), "m", None),
            (event({"choices": None, "base_resp": {"status_code": 1004, "status_msg": "m"}}), "m", "1004"),
            (chunk(choices=[{"delta": {}, "error": {"message": "m", "code": "c"}, "finish_reason": "error"}]), "m", "c"),
            (chunk({"content": ""}, finish="error", error={"message": "m", "code": 502}), "m", "502"),
            (b'event: error\ndata: {"message": "m"}\n\n', "m", None),
            (b"event: ERROR\ndata: plain words\n\n", "plain words", None),
            (b"event: error\ndata: 7\n\n", "7", None),
            (b"event: error\ndata: null\n\n", "the provider sent an error without a message", None),
            (b"event: error\ndata:\n\n", "the provider sent an error without a message", None),
            (b'event: error\ndata: {"choices": []}\n\n', '{"choices":[]}', None),
            (b'error: {"code": 500, "message": "m"}\n\n', "m", "500"),
            (b"error: plain words\n\n", "plain words", None),
            (event({"type": "error", "error": {"type": "t", "message": "m"}}), "m", "t"),
        ],
    )
    def test_every_form_is_an_error_of_the_provider(self, body, message, code):
        for start in (chunk({"content": "a"}), chunk({"content": "a"}) + chunk({"content": "b"}) * 3):
            chunks, result = decoded(start + body + chunk(finish="stop") + DONE)
            check_result(chunks, result)
            assert (result.error.kind, result.error.message, result.error.code) == ("provider_error", message, code)
            assert result.message.text.startswith("a")
            assert result.message.finish_reason == "error"

    def test_after_an_error_reading_goes_on_for_the_usage(self):
        result = decoded(SAMPLES["an error in the middle"])[1]
        assert result.message.usage.input_tokens == 20
        assert result.error.retryable
        assert not result.message.tool_calls[0].runnable

    def test_after_a_finish_word_it_is_an_error_too(self):
        body = chunk({"content": "a"}) + chunk(finish="stop") + event({"error": {"message": "m"}}) + chunk(choices=[], usage=USAGE)
        result = decoded(body)[1]
        assert (result.error.kind, result.message.usage.input_tokens) == ("provider_error", 20)

    def test_the_first_one_counts_and_the_last_object_is_kept(self):
        result = read(event({"error": {"message": "first"}}), event({"error": {"message": "second", "failed_generation": "x"}}))
        assert result.error.message == "first"
        assert result.message.metadata["error"] == {"message": "second", "failed_generation": "x"}

    @pytest.mark.parametrize("value", [None, "", {}, [], False, 0])
    def test_an_error_that_says_nothing_is_none(self, value):
        assert read(chunk({"content": "a"}, error=value)).error is None

    def test_a_status_of_zero_is_no_error(self):
        assert read(chunk({"content": "a"}, base_resp={"status_code": 0, "status_msg": ""})).error is None


class TestWholeMessages:
    def test_a_body_that_is_one_answer_is_read_as_that_answer(self):
        result = decoded(SAMPLES["a whole body"])[1]
        assert (result.message.text, result.message.finish_reason, result.message.usage.input_tokens) == ("Done.", "tool_calls", 20)
        assert [(item.id, item.parsed, item.runnable) for item in result.message.tool_calls] == [
            ("c1", {"zone": "UTC"}, True),
            ("c2", {}, True),
        ]
        assert codes(result) == []

    def test_a_message_in_an_event_counts_where_no_delta_came(self):
        body = chunk(
            choices=[{"index": 0, "message": {"role": "assistant", "content": "a", "tool_calls": [call(id="c", name="f", arguments="{}")]}}]
        )
        result = decoded(body + chunk(finish="stop"))[1]
        assert (result.message.text, [item.name for item in result.message.tool_calls], codes(result)) == (
            "a",
            ["f"],
            ["finish_reason_mismatch"],
        )

    def test_a_truncated_body_is_truncated(self):
        body = whole_body("a" * 30)
        for at in range(1, len(body)):
            result = decoded(body[:at])[1]
            assert (result.error.kind, result.message.text) == ("stream_truncated", "")


class TestWhatIsKept:
    def test_log_probabilities_are_joined(self):
        assert decoded(SAMPLES["log-probabilities"])[1].message.logprobs == {"content": [*LOGPROBS[0]["content"], *LOGPROBS[1]["content"]]}

    def test_log_probabilities_of_nulls_are_none(self):
        assert read(chunk(choices=[{"delta": {"content": "a"}, "logprobs": {"content": None, "refusal": None}}])).message.logprobs is None

    def test_token_ids_are_joined_and_those_of_the_prompt_count_once(self):
        result = read(
            chunk(choices=[{"index": 0, "delta": {"content": "a"}, "token_ids": [5, 6]}], prompt_token_ids=[1, 2]),
            chunk(choices=[{"index": 0, "delta": {"content": "b"}, "token_ids": [7], "prompt_token_ids": [9]}]),
            chunk(choices=[{"index": 0, "delta": {"content": "c"}, "token_ids": None}]),
            chunk(choices=[{"index": 0, "message": {"content": "abc"}, "token_ids": [5, 6, 7]}]),
        )
        assert (result.message.prompt_token_ids, result.message.completion_token_ids) == ((1, 2), (5, 6, 7))

    def test_fields_that_nobody_knows_stay_in_the_metadata(self):
        message = decoded(SAMPLES["fields that nobody knows"])[1].message
        assert message.metadata["provider_fields"] == {
            "x_trace": {"id": 2},
            "delta.channel": "final",
            "delta.mood": "gladder",
            "choice.matched_stop": 7,
        }
        assert message.tool_calls[0].provider_data == {"extra_content": {"thought": "s1"}}

    def test_nothing_is_kept_of_a_plain_stream(self):
        assert decoded(b"".join(text_stream("a", "b")))[1].message.metadata == {}

    def test_reasoning_details_are_kept_as_they_came(self):
        (part, *_) = decoded(SAMPLES["reasoning beside its details"])[1].message.parts
        assert part.text == "Two and two."
        assert list(part.details) == [{**DETAILS[0], **DETAILS[1], "text": "Two and two."}, DETAILS[2]]

    def test_padding_is_not_kept(self):
        assert read(chunk({"content": "a"}, obfuscation="xxx", p="yy")).message.metadata == {}
