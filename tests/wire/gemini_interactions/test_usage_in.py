import pytest

from headrace.messages.usage import Usage
from headrace.wire.gemini_interactions.usage_in import usage_in


def test_thoughts_are_output_and_what_tools_put_into_the_input_is_input():
    raw = {
        "total_input_tokens": 10,
        "total_tool_use_tokens": 3,
        "total_output_tokens": 4.0,
        "total_thought_tokens": 5,
        "total_cached_tokens": 2,
    }
    assert usage_in(raw) == Usage(input_tokens=13, output_tokens=9, cache_read_tokens=2, reasoning_tokens=5, raw=raw)


@pytest.mark.parametrize("raw", [{}, {"total_tokens": 7}, {"total_input_tokens": -1}, {"total_input_tokens": "7"}])
def test_what_counts_nothing_is_no_usage(raw):
    assert usage_in(raw) is None
