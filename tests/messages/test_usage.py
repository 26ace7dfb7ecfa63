"""Usage: what is known of one call, and sums over calls."""

from __future__ import annotations

import pytest
from hypothesis import given

from headrace._json import dumps
from headrace.errors import UsageError
from headrace.messages.usage import COUNTS, Usage
from message_strategies import usages


def test_none_means_that_nobody_said():
    assert Usage().counts() == dict.fromkeys(COUNTS)
    assert dumps(Usage(input_tokens=0)) == b'{"input_tokens":0}'


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("count", [1.0, "1", True, [1]])
def test_a_count_is_a_whole_number_or_none(name, count):
    for build in (lambda: Usage(**{name: count}), lambda: Usage.of({name: count})):
        with pytest.raises(UsageError, match="a count is a whole number or None") as caught:
            build()
        assert caught.value.argument == f"usage.{name}"


def test_of_takes_a_usage_or_a_mapping_of_its_fields():
    usage = Usage(input_tokens=1)
    assert Usage.of(usage) is usage
    assert Usage.of({"input_tokens": 1, "raw": {"prompt_tokens": 1}}) == Usage(input_tokens=1, raw={"prompt_tokens": 1})


@pytest.mark.parametrize(
    ("value", "argument"),
    [({"prompt_tokens": 1}, "usage.prompt_tokens"), ({5: 1}, "usage.5"), (5, "usage"), (None, "usage"), ({"raw": [1]}, "usage.raw")],
)
def test_of_refuses_what_is_no_usage(value, argument):
    with pytest.raises(UsageError) as caught:
        Usage.of(value)
    assert caught.value.argument == argument


def test_the_raw_report_is_a_frozen_copy_and_must_be_json():
    raw = {"details": {"cost": 0.5}}
    usage = Usage(raw=raw)
    raw["details"]["cost"] = 9
    assert usage.raw == {"details": {"cost": 0.5}}
    with pytest.raises(TypeError):
        usage.raw["a"] = 1
    with pytest.raises(UsageError) as caught:
        Usage(raw={"cost": float("nan")})
    assert caught.value.argument == "usage.raw.cost"


def test_the_total_counts_what_is_known():
    assert Usage().total_tokens == 0
    assert Usage(input_tokens=2).total_tokens == 2
    assert Usage(input_tokens=2, output_tokens=3, reasoning_tokens=1, cache_read_tokens=1).total_tokens == 5


def test_a_later_report_of_one_call_wins_field_by_field():
    first = Usage(input_tokens=9, cache_read_tokens=4, raw={"a": 1, "b": 2})
    later = Usage(input_tokens=10, output_tokens=0, raw={"b": None, "c": 3})
    assert first.updated(later) == Usage(input_tokens=10, output_tokens=0, cache_read_tokens=4, raw={"a": 1, "b": 2, "c": 3})


@given(usages, usages, usages)
def test_updating_is_associative_and_repeating_a_report_changes_nothing(a, b, c):
    assert a.updated(b).updated(c).counts() == a.updated(b.updated(c)).counts()
    assert a.updated(a).counts() == a.counts()


@given(usages, usages)
def test_sums_over_calls_add_what_is_known_and_drop_the_raw_reports(a, b):
    total = a + b
    assert total == b + a == sum([a, b, Usage()])
    assert total.raw == {}
    for name in COUNTS:
        known = [count for count in (getattr(a, name), getattr(b, name)) if count is not None]
        assert getattr(total, name) == (sum(known) if known else None)


def test_only_usages_add_up():
    for add in (lambda: Usage() + 1, lambda: 1 + Usage(), lambda: Usage() + {}):
        with pytest.raises(TypeError):
            add()
