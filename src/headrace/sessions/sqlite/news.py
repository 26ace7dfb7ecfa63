"""Whether another process has written something that somebody waits for.

The rule of this file: one look for all who wait, at most every `LOOK_EVERY_S`, and none while nobody waits. It asks on the writer's
connection, for which SQLite counts the commits of all others but not its own.
"""

from __future__ import annotations

import sqlite3
import time
from functools import partial
from typing import Final

from headrace.sessions.sql.runs import marks
from headrace.sessions.sqlite.connection import carry_out
from headrace.sessions.waiters import Waiters

LOOK_EVERY_S: Final = 0.02
_OTHERS_WRITE_FOR_S: Final = 1.0


class News:
    """Looks out for what other processes write."""

    def __init__(self, waiters: Waiters) -> None:
        """Wake these."""
        self._waiters = waiters
        self._version: int | None = None
        self._next = 0.0
        self._seen_at = float("-inf")

    @property
    def others_write(self) -> bool:
        """Whether another process wrote a moment ago."""
        return time.monotonic() - self._seen_at < _OTHERS_WRITE_FOR_S

    def look(self, connection: sqlite3.Connection) -> None:
        """Wake those whose run is not as it was when they looked.

        Raises:
            sqlite3.Error: the database cannot be read.
        """
        now = time.monotonic()
        if now < self._next or not self._waiters:
            return
        self._next = now + LOOK_EVERY_S
        version: int = connection.execute("PRAGMA data_version").fetchone()[0]
        if version == self._version:
            return
        if self._version is not None:
            self._seen_at = now
        self._version = version
        waiting = self._waiters.of()
        present, _ = carry_out(connection, partial(marks, sorted({waiter.run_id for waiter in waiting})), now_us=0)
        for waiter in waiting:
            # One who is just looking may see how things stood before: it looks once more.
            if not waiter.has_looked or waiter.mark != present.get(waiter.run_id):
                waiter.wake()
