import pytest

from headrace.messages.usage import Usage
from headrace.wire.cohere_v2.usage_in import usage_in

BILLED = {"billed_units": {"input_tokens": 1, "output_tokens": 2}}
TOKENS = {"tokens": {"input_tokens": 10, "output_tokens": 20.0, "reasoning_tokens": 5}}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({**BILLED, **TOKENS, "cached_tokens": 3}, Usage(input_tokens=10, output_tokens=20, cache_read_tokens=3, reasoning_tokens=5)),
        (BILLED, Usage(input_tokens=1, output_tokens=2)),
        ({"cached_tokens": 0}, Usage(cache_read_tokens=0)),
        ({"tokens": {"input_tokens": -1, "output_tokens": True}}, None),
        ({"tokens": 5, "billed_units": []}, None),
        ({}, None),
    ],
)
def test_tokens_count_before_billed_units_and_the_raw_object_is_kept(raw, expected):
    got = usage_in(raw)
    assert (got.counts() if got else None) == (expected.counts() if expected else None)
    assert got is None or got.raw == raw
