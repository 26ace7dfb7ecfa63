from __future__ import annotations

import pytest

from headrace.wire.openai_chat.usage_in import usage_in


def counts(raw, timings=None):
    usage = usage_in(raw, timings)
    return None if usage is None else tuple(usage.counts().values())


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}, (3, 4, None, None, None)),
        ({"input_tokens": 3, "output_tokens": 4}, (3, 4, None, None, None)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1}}, (3, None, 2, 1, None)),
        ({"prompt_tokens": 3, "prompt_tokens_details": None, "cached_tokens": 2}, (3, None, 2, None, None)),
        ({"prompt_tokens": 3, "prompt_cache_hit_tokens": 2, "prompt_cache_miss_tokens": 1}, (3, None, 2, None, None)),
        ({"prompt_tokens": 3, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1}, (3, None, 2, 1, None)),
        ({"input_tokens": 3, "input_tokens_details": {"cached_tokens": 2}}, (3, None, 2, None, None)),
        ({"completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 2}}, (None, 4, None, None, 2)),
        ({"completion_tokens": 4, "reasoning_tokens": 2}, (None, 4, None, None, 2)),
        ({"output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2}}, (None, 4, None, None, 2)),
        ({"prompt_tokens": 3.0, "completion_tokens": 4.5}, (3, None, None, None, None)),
        ({"prompt_tokens": True, "completion_tokens": -1, "input_tokens": "3"}, None),
        ({"total_tokens": 7}, None),
        ({}, None),
    ],
)
def test_every_dialect_counts_in_the_same_words(raw, expected):
    assert counts(raw) == expected


def test_reasoning_that_the_completion_leaves_out_is_told_by_the_total():
    raw = {"prompt_tokens": 10, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 6}}
    assert counts({**raw, "total_tokens": 20}) == (10, 10, None, None, 6)
    assert counts({**raw, "total_tokens": 14}) == (10, 4, None, None, 6)
    assert counts(raw) == (10, 4, None, None, 6)
    assert counts({**raw, "total_tokens": 14, "completion_tokens_details": {"reasoning_tokens": 0}}) == (10, 4, None, None, 0)


def test_timings_say_what_was_cached_where_the_usage_does_not():
    assert counts({"prompt_tokens": 9}, {"cache_n": 4, "prompt_n": 5}) == (9, None, 4, None, None)
    assert counts({"prompt_tokens": 9, "cached_tokens": 0}, {"cache_n": 4}) == (9, None, 0, None, None)
    assert counts({"prompt_tokens": 9}, "fast") == (9, None, None, None, None)


def test_the_report_is_kept_whole():
    raw = {"prompt_tokens": 9, "cost": {"total": 0.1}}
    assert usage_in(raw).raw == raw
