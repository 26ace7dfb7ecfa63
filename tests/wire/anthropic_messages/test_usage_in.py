from __future__ import annotations

import pytest

from headrace.messages.usage import Usage
from headrace.wire.anthropic_messages.usage_in import UsageReader


def read(*reports):
    reader = UsageReader()
    return [reader.report(report) for report in reports][-1]


@pytest.mark.parametrize(
    ("reports", "counts"),
    [
        ([{"input_tokens": 3, "output_tokens": 1}], (3, 1, None, None, None)),
        (
            [{"input_tokens": 25, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7, "output_tokens": 1}],
            (132, 1, 100, 7, None),
        ),
        ([{"input_tokens": 40, "cache_read_input_tokens": 2000}, {"output_tokens": 7}], (2040, 7, 2000, None, None)),
        ([{"input_tokens": 40, "output_tokens": 1}, {"input_tokens": None, "output_tokens": 5}], (40, 5, None, None, None)),
        ([{"input_tokens": 40}, {"input_tokens": 90, "output_tokens": 2}], (90, 2, None, None, None)),
        ([{"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}], (None, 9, None, None, 4)),
        ([{"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 5}}], (None, 9, None, None, 5)),
        ([{"output_tokens": 9, "output_tokens_details": 3}], (None, 9, None, None, None)),
        ([{"output_tokens": "9", "input_tokens": True}], (None, None, None, None, None)),
        ([{"output_tokens": 2, "iterations": [{"input_tokens": 5, "output_tokens": 2}]}], (None, 2, None, None, None)),
        ([{"input_tokens": 6, "output_tokens": 2, "iterations": "x"}], (6, 2, None, None, None)),
    ],
)
def test_the_last_report_of_each_field_counts(reports, counts):
    usage = read(*reports)
    assert tuple(usage.counts().values()) == counts


def test_totals_of_an_answer_that_was_sampled_several_times_are_those_of_the_list():
    usage = read(
        {
            "input_tokens": 6,
            "output_tokens": 2,
            "iterations": [
                {"input_tokens": 60, "output_tokens": 5, "cache_read_input_tokens": 3, "type": "compaction"},
                {"input_tokens": 6, "output_tokens": 2, "type": "message"},
                None,
            ],
        }
    )
    assert tuple(usage.counts().values()) == (69, 7, 3, None, None)


@pytest.mark.parametrize("report", [None, 5, [], {}, {"input_tokens": None}])
def test_a_report_of_nothing_is_none(report):
    assert read(report) is None


def test_the_report_is_kept_field_by_field():
    assert read({"a": 1, "b": {"x": 1}}, {"b": {"y": 2}, "c": None}) == Usage(raw={"a": 1, "b": {"y": 2}})
