"""How a file gets its write-ahead log, also while others open it."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from headrace.sessions.sqlite.connection import connect, make_file, write_ahead


class Held:
    """A connection to a file that others have: refused so many times, and then not."""

    def __init__(self, times, code=sqlite3.SQLITE_BUSY):
        self.times, self.code, self.tries = times, code, 0
        self.real = sqlite3.connect(":memory:")

    def execute(self, statement):
        self.tries += 1
        if self.tries > self.times:
            return self.real.execute(statement)
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = self.code
        raise error


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, 261], ids=["busy", "busy with recovery"])
def test_who_is_refused_the_journal_at_once_tries_again(code):
    held = Held(3, code)
    write_ahead(held, 60)
    assert held.tries == 4


def test_nobody_tries_for_ever_and_nothing_but_a_held_file_is_tried_again():
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        write_ahead(Held(10**9), 0.02)
    full = Held(1, sqlite3.SQLITE_FULL)
    with pytest.raises(sqlite3.OperationalError):
        write_ahead(full, 60)
    assert full.tries == 1


def test_a_new_file_that_many_open_at_once_is_opened_by_all(tmp_path):
    """SQLite refuses about one of a thousand at once, however long it may wait."""
    said = []

    def open_it(path, together):
        together.wait()
        try:
            connect(path, synchronous="normal", busy_timeout_s=60).close()
        except sqlite3.Error as error:
            said.append(error)

    for n in range(30):
        path, together = tmp_path / f"{n}.db", threading.Barrier(5)
        make_file(path)
        threads = [threading.Thread(target=open_it, args=(path, together)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not said
