"""The tests' own machinery: what is skipped, what is collected, how async tests run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance_folder import find_conformance
from headrace.wire.body import Body
from memory import most_held

SUPPORT = Path(__file__).parent / "support"

CONFTEST = """
from no_skips import NoSkips

def pytest_configure(config):
    config.pluginmanager.register(NoSkips())
"""

SKIPPING = """
import pytest

@pytest.mark.skip(reason="no frobnicator here")
def test_marked(): pass

def test_inside(): pytest.skip("too dark to see")

@pytest.mark.xfail(reason="known", strict=True)
def test_expected_failure(): assert False

def test_good(): pass
"""


def run_pytest(folder, *arguments):
    """Run pytest on a folder of its own with the no-skips plugin loaded."""
    (folder / "conftest.py").write_text(CONFTEST)
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments, str(folder)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_without_skips_allowed_a_skipped_test_fails_with_its_reason_and_an_expected_failure_does_not(tmp_path):
    (tmp_path / "test_some.py").write_text(SKIPPING)
    ended = run_pytest(tmp_path)
    assert ended.returncode == 1, ended.stdout
    assert "1 failed, 1 passed, 1 xfailed, 1 error" in ended.stdout
    assert "no frobnicator here" in ended.stdout
    assert "too dark to see" in ended.stdout


def test_without_skips_allowed_a_file_that_skips_itself_is_an_error(tmp_path):
    (tmp_path / "test_whole.py").write_text("import pytest\n\npytest.importorskip('a_module_that_nobody_has')\n")
    ended = run_pytest(tmp_path)
    assert ended.returncode != 0, ended.stdout
    assert "a_module_that_nobody_has" in ended.stdout


def test_without_skips_allowed_a_skip_in_a_worker_process_fails_too(tmp_path):
    (tmp_path / "test_some.py").write_text(SKIPPING)
    ended = run_pytest(tmp_path, "-n", "1")
    assert ended.returncode == 1, ended.stdout
    assert "1 failed, 1 passed, 1 xfailed, 1 error" in ended.stdout


def test_the_recorded_streams_are_found_beside_the_repository(tmp_path):
    assert find_conformance({}, tmp_path / "repository") is None
    folder = tmp_path / "shared" / "conformance"
    folder.mkdir(parents=True)
    assert find_conformance({}, tmp_path / "repository") == folder


def test_a_named_folder_of_recorded_streams_wins_and_must_exist(tmp_path):
    (tmp_path / "mine").mkdir()
    assert find_conformance({"HEADRACE_CONFORMANCE": str(tmp_path / "mine")}, tmp_path) == (tmp_path / "mine").resolve()
    with pytest.raises(NotADirectoryError, match="nowhere"):
        find_conformance({"HEADRACE_CONFORMANCE": str(tmp_path / "nowhere")}, tmp_path)


@pytest.fixture
async def loop_of_the_fixture():
    return asyncio.get_running_loop()


async def test_async_tests_and_fixtures_share_one_asyncio_loop(loop_of_the_fixture):
    assert asyncio.get_running_loop() is loop_of_the_fixture


def test_warnings_are_errors(request):
    assert request.config.getini("filterwarnings")[0] == "error"


class TestHeldMemory:
    def test_what_a_machine_of_the_house_keeps_counts(self):
        body = Body(max_event_bytes=1 << 30)
        body.feed(b"{")
        assert 100_000 <= most_held(body.feed, b"x" * 10, times=10_000) < 150_000

    def test_pieces_that_anyone_keeps_count(self):
        kept = []
        assert most_held(kept.append, b"x" * 1000, times=100) > 100_000

    def test_what_goes_on_beside_it_does_not_count(self):
        beside = []
        assert most_held(lambda piece: beside.append(bytes(10_000)), b"x", times=100) < 10_000
        assert len(beside) == 100

    def test_what_was_let_go_counts_if_it_was_seen(self):
        kept = []

        def hoard_and_let_go(piece):
            kept.append(piece)
            if len(kept) == 90:
                kept.clear()

        assert 50_000 < most_held(hoard_and_let_go, b"x" * 1000, times=100) < 100_000
