"""A policy is checked when it is made, and the error names the field."""

from __future__ import annotations

import pytest

from headrace.agent.context.offload import MemoryResults
from headrace.agent.context.policy import ContextPolicy
from headrace.errors import UsageError


def test_by_default_nothing_is_bounded():
    policy = ContextPolicy()
    assert (policy.max_tokens, policy.max_messages, policy.max_result_tokens, policy.offload) == (None, None, None, None)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_messages": 1.5}, "max_messages"),
        ({"keep_messages": -1}, "keep_messages"),
        ({"max_result_tokens": "9"}, "max_result_tokens"),
        ({"compact_at": 0}, "compact_at"),
        ({"compact_at": 1.1}, "compact_at"),
        ({"keep": True}, "keep"),
        ({"keep": 0.9}, "keep"),
        ({"summarize": "yes"}, "summarize"),
        ({"offload": MemoryResults()}, "offload"),
        ({"max_messages": 5, "keep_messages": 5}, "keep_messages"),
    ],
)
def test_a_wrong_field_is_told_by_name(fields, name):
    with pytest.raises(UsageError, match=name) as caught:
        ContextPolicy(**fields)
    assert caught.value.argument == name
