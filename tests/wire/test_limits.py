from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.wire.limits import DEFAULT_LIMITS, Limits


def test_each_has_a_default():
    mib = 1024 * 1024
    assert Limits.of(None) is DEFAULT_LIMITS
    assert (
        Limits(max_event_bytes=16 * mib, max_parts=10_000, max_tool_calls=10_000, max_argument_bytes=64 * mib, max_total_bytes=4096 * mib)
        == DEFAULT_LIMITS
    )


def test_a_mapping_changes_some():
    limits = Limits.of({"max_parts": 3})
    assert (limits.max_parts, limits.max_tool_calls) == (3, 10_000)
    assert Limits.of(limits) is limits


def test_the_fold_watches_parts_calls_and_arguments():
    bounds = Limits(max_parts=1, max_tool_calls=2, max_argument_bytes=3).bounds
    assert (bounds.max_parts, bounds.max_tool_calls, bounds.max_argument_bytes) == (1, 2, 3)


@pytest.mark.parametrize(
    ("value", "argument"),
    [
        ({"max_size": 1}, "limits.max_size"),
        ({"max_parts": 0}, "limits.max_parts"),
        ({"max_parts": 2.0}, "limits.max_parts"),
        ({"max_parts": True}, "limits.max_parts"),
        ({"max_parts": None}, "limits.max_parts"),
        (5, "limits"),
        ([("max_parts", 1)], "limits"),
    ],
)
def test_wrong_limits_are_named(value, argument):
    with pytest.raises(UsageError) as caught:
        Limits.of(value)
    assert caught.value.argument == argument


def test_one_made_by_hand_is_checked_too():
    with pytest.raises(UsageError, match="max_total_bytes"):
        Limits(max_total_bytes=-1)
