"""Options are checked when they are made, and the error names the option."""

from __future__ import annotations

import math

import pytest

from headrace.errors import UsageError
from headrace.tools.options import ToolOptions, changed
from headrace.tools.tool import tool


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, "yes") for name in ("needs_approval", "external", "idempotent", "parallel", "strict")],
        *[("timeout_s", value) for value in (0, -1, "3", True, math.nan)],
        *[("max_output_bytes", value) for value in (0, -1, 1.5, None, True)],
        *[("retries", value) for value in (-1, 1.0, "1", None)],
    ],
)
def test_a_wrong_value_is_told_where_it_is_written(name, value):
    with pytest.raises(UsageError, match=name) as caught:
        tool(**{name: value})
    assert caught.value.argument == name


def test_no_limit_is_a_limit_that_can_be_said():
    assert ToolOptions(timeout_s=math.inf).timeout_s == math.inf


def test_retries_are_only_for_what_may_run_twice():
    with pytest.raises(UsageError, match="idempotent=True") as caught:
        tool(retries=2)
    assert caught.value.argument == "retries"
    assert ToolOptions(retries=2, idempotent=True).retries == 2


def test_an_unknown_option_is_named_and_the_known_ones_listed():
    with pytest.raises(UsageError, match="no option 'timeout'; the options are needs_approval, ") as caught:
        tool(timeout=3)
    assert caught.value.argument == "timeout"


def test_changed_makes_a_copy():
    before = ToolOptions(timeout_s=1)
    assert changed(before, {"parallel": False}) == ToolOptions(timeout_s=1, parallel=False)
    assert changed(before, {}) is before
