"""The small values of events."""

from __future__ import annotations

import pytest

from headrace.wire.bedrock_converse.payload import decoded_base64, text_of, usage_in, word


@pytest.mark.parametrize(
    ("value", "want"), [("a", "a"), ("", None), (None, None), (7, "7"), (True, None), ({}, None), ("\ud83d", "\ufffd")]
)
def test_a_word_is_a_name_or_a_number(value, want):
    assert word(value) == want


@pytest.mark.parametrize(("value", "want"), [("a", "a"), (None, ""), ({"a": 1}, '{"a":1}'), (7, "7")])
def test_a_piece_of_json_text_may_come_as_the_value(value, want):
    assert text_of(value) == want


@pytest.mark.parametrize(("text", "want"), [("YQ==", b"a"), ("Y*==", None), ("Y", None), ("ä", None)])
def test_base64_is_read_or_refused(text, want):
    assert decoded_base64(text) == want


@pytest.mark.parametrize("raw", [None, [], {}, {"totalTokens": 4}, {"inputTokens": None, "outputTokens": "3"}])
def test_what_counts_nothing_is_no_usage(raw):
    assert usage_in(raw) is None


def test_cached_tokens_are_part_of_the_input():
    usage = usage_in({"inputTokens": 1.0, "outputTokens": 2, "cacheReadInputTokenCount": 3, "cacheWriteInputTokenCount": 4})
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (8, 2, 3, 4)
    metrics = usage_in({"inputTokenCount": 5, "outputTokenCount": 6, "invocationLatency": 9})
    assert (metrics.input_tokens, metrics.output_tokens, metrics.cache_read_tokens) == (5, 6, None)
    assert usage_in({"cacheReadInputTokens": 3}).input_tokens is None
