"""What every test gets.

Async tests: write `async def test_…`, without a mark. anyio's pytest plugin (the library has anyio through httpx2)
runs them, under asyncio alone; async fixtures and Hypothesis' `@given` work with it.

Skipped tests: with `HEADRACE_NO_SKIPS=1` (`make test NO_SKIPS=1`, as CI does) a skip is a failure that says why it
was skipped. An expected failure (`xfail`) is none.

Hypothesis: profile `dev`, quick, new examples each time; profile `ci` (where `CI` is set), more and always the same
ones. `--hypothesis-profile` or `HYPOTHESIS_PROFILE` chooses another: `thorough` looks long.

Local model: a test that talks to the real small model asks for the fixture `local_weights`.

Several processes (`make test`): the tests of one file run in one of them, one after the other, so that what a file's fixtures start (a
browser, a server, a model) is started once.

Conformance: tests in `tests/conformance/` are collected only where the recorded streams are: in the folder that
`HEADRACE_CONFORMANCE` names, else in `../shared/conformance`. The fixture `conformance_root` is that folder; for
parametrising use `conformance_folder.CONFORMANCE` (tests/support).

Shared code of tests is in `tests/support/`; its modules are imported by their plain names.
"""

from __future__ import annotations

import os
import signal
import sys
import tracemalloc

import pytest
from hypothesis import HealthCheck, settings

from conformance_folder import CONFORMANCE
from no_skips import NoSkips

collect_ignore = ["support"] if CONFORMANCE else ["support", "conformance"]

# No deadline and no "too slow": a busy machine must not fail a test. Time is measured in bench/.
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", max_examples=250, deadline=None, derandomize=True, database=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def pytest_configure(config):
    # A shell starts what it puts in the background with SIGINT ignored, and children inherit that: tests of Ctrl-C need the usual way.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.get("HEADRACE_NO_SKIPS", "") not in {"", "0"}:
        # As a plugin of its own it also sees tests outside this folder (README, docs, docstrings).
        config.pluginmanager.register(NoSkips(), "headrace-no-skips")


def pytest_runtest_teardown(item):
    # Left on, it makes every later test slow, and what it counts is the memory of them all.
    if tracemalloc.is_tracing() and "tracemalloc" not in sys._xoptions and "PYTHONTRACEMALLOC" not in os.environ:
        tracemalloc.stop()
        pytest.fail(f"{item.name} left tracemalloc on")


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def conformance_root():
    """The folder with the recorded streams."""
    if CONFORMANCE is None:
        pytest.skip("no recorded streams: name their folder in HEADRACE_CONFORMANCE")
    return CONFORMANCE


@pytest.fixture(scope="session")
def postgres_server():
    """A real PostgreSQL, one in each worker that asks for it; skips where it is missing."""
    from postgres_server import MISSING, PostgresServer, find_programs

    pytest.importorskip("psycopg_pool", reason="the extra is missing: pip install 'headrace[postgres]'")
    if find_programs() is None:
        pytest.skip(MISSING)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def local_weights():
    """The small local model's file; skips where the extra or the weights are missing."""
    from headrace.errors import ConfigError
    from headrace.models.local_weights import find

    pytest.importorskip("xllamacpp", reason="the extra is missing: pip install 'headrace[local]'")
    try:
        return find("smollm2")
    except ConfigError:
        pytest.skip("the weights are missing: headrace local pull")
