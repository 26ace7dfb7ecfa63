"""A pytest plugin for CI, which installs everything: there a skipped test is a hole, so it fails."""

from __future__ import annotations

import pytest


class NoSkips:
    """Turn skips of tests and of whole files into failures that give the reason; leave `xfail` alone."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        return refuse(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        report = yield
        return refuse(report)


def refuse(report):
    """Make a report of a skip one of a failure."""
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{reason} (HEADRACE_NO_SKIPS: a skip is a failure)"
    return report
