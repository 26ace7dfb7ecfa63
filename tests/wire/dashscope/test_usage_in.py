import pytest

from headrace.wire.dashscope.usage_in import usage_in

KEYS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {
                "input_tokens": 9, "output_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4, "cache_creation_input_tokens": 2},
                "output_tokens_details": {"reasoning_tokens": 3},
            },
            (9, 5, 4, 2, 3),
        ),
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}, (9, None, 4, None, None)),
        ({"output_tokens": 1, "prompt_tokens_details": 5}, (None, 1, None, None, None)),
        ({"characters": 3}, None),
    ],
)  # fmt: skip
def test_the_counts(raw, expected):
    got = usage_in(raw)
    assert (tuple(got.counts()[key] for key in KEYS) if got else None) == expected
