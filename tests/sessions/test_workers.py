"""Which workers live."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime

from headrace.sessions.records import Worker
from headrace.sessions.workers import Watch, is_gone, new_worker_id

AT = datetime(2026, 1, 1, tzinfo=UTC)


def worker(name: str, beats: int) -> Worker:
    return Worker(id=name, beats=beats, started_at=AT)


def test_one_that_beats_lives_and_one_that_is_silent_for_too_long_is_dead():
    now = 0.0
    watch = Watch(lambda: now, dead_after_s=10)
    watch.look([worker("a", 1), worker("b", 1)])
    now = 9.0
    watch.look([worker("a", 2), worker("b", 1)])
    now = 10.0
    assert not watch.is_dead("a")
    assert watch.is_dead("b")
    assert watch.dead == ("b",)
    watch.look([worker("a", 2), worker("b", 2)])
    assert not watch.is_dead("b")


def test_one_that_was_struck_out_or_never_entered_is_dead():
    watch = Watch(lambda: 0.0, dead_after_s=10)
    watch.look([worker("a", 1)])
    assert watch.is_dead("x")
    assert watch.is_dead(None)
    watch.look([])
    assert watch.is_dead("a")


def test_a_new_watcher_gives_everybody_the_whole_time():
    now = 1e9
    watch = Watch(lambda: now, dead_after_s=10)
    watch.look([worker("a", 77)])
    assert not watch.is_dead("a")


def test_names_of_processes_differ_and_this_one_is_there():
    one, other = new_worker_id(), new_worker_id()
    assert one != other
    assert not is_gone(one)


def test_a_process_of_this_machine_that_has_ended_is_gone():
    command = "from headrace.sessions.workers import new_worker_id; print(new_worker_id())"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True, env=os.environ)
    assert is_gone(done.stdout.strip())


def test_a_process_with_the_number_of_one_that_was_before_it_is_not_that_one():
    place, _, number = new_worker_id().rpartition("/")
    pid, born, chance = number.split("-")
    if born:
        assert is_gone(f"{place}/{pid}-{int(born) + 1}-{chance}")


def test_of_other_machines_nothing_is_known():
    assert not is_gone("elsewhere/1-1-00000000")
    assert not is_gone("a name of its own")
