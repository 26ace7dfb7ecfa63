"""Why a model stopped: every row of the table, and which word wins."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.messages.finish import NEUTRAL, Finish, FinishReason, decide, first_said, is_word, neutral

# DESIGN 6.3, row by row.
TABLE = {
    "stop": ["stop", "end_turn", "eos", "eos_token", "stop_sequence", "STOP_SEQUENCE", "STOP", "COMPLETE", "completed", "FINISH"],
    "length": [
        *["length", "max_tokens", "MAX_TOKENS", "LENGTH", "model_length", "max_output_tokens", "incomplete"],
        "model_context_window_exceeded",
    ],
    "tool_calls": ["tool_calls", "function_call", "tool_use", "TOOL_CALL", "requires_action"],
    "content_filter": [
        *["content_filter", "sensitive", "refusal", "guardrail_intervened", "content_filtered", "SAFETY", "RECITATION", "BLOCKLIST"],
        *["PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "ERROR_TOXIC"],
    ],
    "pause": ["pause_turn"],
    "error": [
        *[
            "error",
            "failed",
            "cancelled",
            "network_error",
            "insufficient_system_resource",
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
        ],
        *["TOO_MANY_TOOL_CALLS", "malformed_model_output", "malformed_tool_use", "ERROR", "ERROR_LIMIT", "TIMEOUT"],
    ],
    "other": ["OTHER", "unheard_of", "LANGUAGE", "Stop", "FINISH_REASON_UNSPECIFIED"],
}
ROWS = [(word, reason) for reason, words in TABLE.items() for word in words]
DECISIVE = ["length", "content_filter", "pause", "error"]


def said(*words):
    return [(word, neutral(word)) for word in words]


def decided(*words, has_calls=False, is_ended=True, error_kind=None):
    return decide(said(*words), has_calls=has_calls, is_ended=is_ended, error_kind=error_kind)


@pytest.mark.parametrize(("word", "reason"), ROWS)
def test_each_raw_word_has_its_neutral_one(word, reason):
    assert neutral(word) == reason
    has_calls = reason == "tool_calls"
    assert decided(word, has_calls=has_calls) == Finish(reason, word)


def test_the_table_holds_every_word_and_every_reason():
    assert set(TABLE) == set(get_args(FinishReason))
    assert {word: reason for word, reason in ROWS if reason != "other"} == NEUTRAL


@pytest.mark.parametrize(("word", "reason"), ROWS)
def test_calls_that_came_decide_over_stop_and_tool_words_only(word, reason):
    finish = decided(word, has_calls=True)
    if reason == "stop":
        assert finish == Finish("tool_calls", word, ("finish_reason_mismatch",))
    else:
        assert finish == Finish(reason, word)


def test_a_tool_word_without_calls_is_kept_and_said():
    assert decided("tool_calls") == Finish("tool_calls", "tool_calls", ("finish_without_tool_calls",))


@pytest.mark.parametrize("has_calls", [False, True])
def test_a_whole_stream_without_a_word_is_told_by_its_calls(has_calls):
    assert decided(has_calls=has_calls) == Finish("tool_calls" if has_calls else "stop", None, ("finish_reason_missing",))


def test_a_stream_that_has_not_ended_has_no_reason_yet():
    assert decided(is_ended=False, has_calls=True) == Finish(None, None)


@pytest.mark.parametrize("kind", ["stream_truncated", "invalid_event", "not_event_stream", "limit_exceeded"])
@pytest.mark.parametrize("words", [(), ("stop",), ("length",)])
def test_a_stream_that_died_has_no_reason_and_keeps_its_word(kind, words):
    assert decided(*words, error_kind=kind, has_calls=True) == Finish(None, words[0] if words else None)


@pytest.mark.parametrize("kind", ["provider_error", "malformed_function_call"])
@pytest.mark.parametrize("words", [(), ("stop",), ("tool_calls",)])
def test_an_error_of_the_provider_is_the_reason(kind, words):
    assert decided(*words, error_kind=kind, has_calls=True) == Finish("error", words[0] if words else None)


@pytest.mark.parametrize("reason", DECISIVE)
@pytest.mark.parametrize("other", ["stop", "tool_calls", "OTHER"])
@pytest.mark.parametrize("comes_first", [True, False])
def test_length_filter_pause_and_error_win_over_everything(reason, other, comes_first):
    word = TABLE[reason][0]
    words = (word, other) if comes_first else (other, word)
    assert decided(*words, has_calls=True) == Finish(reason, word, ("multiple_finish_reasons",))


def test_of_two_decisive_words_the_first_counts():
    assert decided("length", "content_filter").reason == "length"
    assert decided("content_filter", "length").reason == "content_filter"


def test_a_stray_stop_after_the_tool_word_changes_nothing():
    assert decided("tool_calls", "stop", has_calls=True) == Finish("tool_calls", "tool_calls", ("multiple_finish_reasons",))
    assert decided("stop", "tool_calls", has_calls=True) == Finish("tool_calls", "tool_calls", ("multiple_finish_reasons",))
    assert decided("stop", "stop") == Finish("stop", "stop", ("multiple_finish_reasons",))


def test_a_dialect_may_give_a_word_its_own_meaning():
    finish = decide([("DONE_TOOLS", "tool_calls")], has_calls=True, is_ended=True, error_kind=None)
    assert finish == Finish("tool_calls", "DONE_TOOLS")
    assert decide([("incomplete", "stop")], has_calls=False, is_ended=True, error_kind=None) == Finish("stop", "incomplete")


@given(st.lists(st.sampled_from([word for word, _ in ROWS])), st.booleans(), st.booleans())
def test_the_reason_follows_from_the_words_and_the_calls(words, has_calls, is_ended):
    finish = decided(*words, has_calls=has_calls, is_ended=is_ended)
    assert finish.raw is None or finish.raw in words
    decisive = [neutral(word) for word in words if neutral(word) in DECISIVE]
    if decisive:
        assert finish.reason == decisive[0]
    elif has_calls and words and neutral(words[0]) != "other":
        assert finish.reason == "tool_calls"


@pytest.mark.parametrize(("word", "says"), [(None, False), ("", False), ("null", False), ("stop", True), ("None", True)])
def test_none_empty_and_null_say_nothing(word, says):
    assert is_word(word) is says


def test_no_words_say_nothing():
    assert first_said([]) is None
