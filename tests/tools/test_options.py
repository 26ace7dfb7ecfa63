"""Options are checked when they are made, and the error names the option."""

from __future__ import annotations

import math

import pytest

from headrace.errors import UsageError
from headrace.tools.options import Check, ToolOptions, changed
from headrace.tools.tool import tool


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, "yes") for name in ("needs_approval", "external", "idempotent", "parallel", "strict", "read_only", "edits", "check")],
        *[(name, None) for name in ("needs_approval", "read_only", "edits")],
        *[(name, value) for name in ("resource", "group") for value in ("", 3, False)],
        *[("resource", template) for template in ("file:{path", "a}", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>3}")],
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


def test_approval_checks_and_resources_may_look_at_the_arguments():
    def is_far(arguments):
        return arguments["km"] > 10

    def checked(arguments):
        return Check("deny", "too far") if is_far(arguments) else None

    options = ToolOptions(needs_approval=is_far, check=checked, resource=lambda arguments: "road", read_only=True, group="travel")
    assert options.needs_approval({"km": 11}) is True
    assert options.check({"km": 11}) == Check("deny", "too far")
    assert options.check({"km": 1}) is None
    assert options.resource({}) == "road"


def test_they_need_not_be_said():
    options = ToolOptions()
    assert (options.needs_approval, options.read_only, options.edits) == (False, False, False)
    assert (options.check, options.resource, options.group) == (None, None, None)


def test_a_check_that_says_neither_ask_nor_deny_is_refused():
    with pytest.raises(UsageError, match="behavior is 'allow'; it must be 'ask' or 'deny'"):
        Check("allow")


def test_a_resource_may_name_arguments_and_write_braces_twice():
    assert ToolOptions(resource="{{{a}}}:{b}").resource == "{{{a}}}:{b}"
