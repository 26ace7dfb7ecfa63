import pytest

from headrace.messages.usage import Usage
from headrace.wire.gemini.usage_in import usage_in


def test_thoughts_are_output_and_what_tools_put_into_the_prompt_is_input():
    raw = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 3,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 5,
        "cachedContentTokenCount": 2,
    }
    assert usage_in(raw) == Usage(input_tokens=13, output_tokens=9, cache_read_tokens=2, reasoning_tokens=5, raw=raw)


def test_a_count_that_nobody_sent_is_none():
    raw = {"promptTokenCount": 10.0, "trafficType": "ON_DEMAND"}
    assert usage_in(raw) == Usage(input_tokens=10, raw=raw)
    assert usage_in({"thoughtsTokenCount": 5}).output_tokens == 5
    assert usage_in({"toolUsePromptTokenCount": 5}).input_tokens == 5


@pytest.mark.parametrize(
    "raw", [{}, {"trafficType": "ON_DEMAND"}, {"promptTokenCount": -1}, {"promptTokenCount": "7"}, {"promptTokenCount": True}]
)
def test_what_counts_nothing_is_no_usage(raw):
    assert usage_in(raw) is None
