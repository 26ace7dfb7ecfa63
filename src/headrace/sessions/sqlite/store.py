"""The store in a SQLite file.

The rule of this file: it opens, closes and puts together; threads do the work (`writer.py`, `readers.py`). The standard library's SQLite is
all that it needs.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, Self, get_args

from headrace.errors import StateError, UnsupportedError, UsageError
from headrace.sessions import refusals
from headrace.sessions.sql.operation import Make, T
from headrace.sessions.sql.runs import marks
from headrace.sessions.sql.store import SqlStore
from headrace.sessions.sqlite.connection import Synchronous, free_room, make_file
from headrace.sessions.sqlite.failures import failure
from headrace.sessions.sqlite.readers import Readers
from headrace.sessions.sqlite.writer import Writer
from headrace.sessions.waiters import Waiters

_OLDEST: Final = (3, 35, 0)
"""The first that returns what it wrote (RETURNING)."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SQLiteStore(SqlStore):
    """Keeps runs, logs and conversations in one file; see `Store`. Several processes of one machine may use the file at a time.

    Attributes:
        path: the file; beside it SQLite keeps two more while it is open (`-wal`, `-shm`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "full",
        busy_timeout_s: float = 30.0,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """Name the file; `async with` makes it, for this user alone, if it is not there.

        Args:
            path: the file, on a disk of this machine: WAL does not work over a network.
            synchronous: `full`: what was confirmed outlives a loss of power; `normal`: it outlives the process, at a fraction of the cost.
            busy_timeout_s: how long to wait while another process holds the file.
            now: the clock, in UTC.

        Raises:
            UsageError: `synchronous` is neither.
            UnsupportedError: this Python's SQLite is too old.
        """
        if synchronous not in get_args(Synchronous):
            raise UsageError(f"synchronous is {synchronous!r}; it is 'full' or 'normal'", argument="synchronous")
        if sqlite3.sqlite_version_info < _OLDEST:
            oldest = ".".join(map(str, _OLDEST))
            raise UnsupportedError(f"this Python has SQLite {sqlite3.sqlite_version}; a store needs {oldest} or newer: use a newer Python")
        self.path = Path(path).expanduser()
        self._synchronous: Synchronous = synchronous
        self._busy_timeout_s = busy_timeout_s
        self._now = now
        self._waiters = Waiters()
        self._open: tuple[Writer, Readers] | None = None

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path)!r})"

    async def __aenter__(self) -> Self:
        """Open the file; see `Store`."""
        if self._open is not None:
            raise StateError(f"{self!r} is open already")
        self._open = await asyncio.to_thread(self._started)
        return self

    def _started(self) -> tuple[Writer, Readers]:
        try:
            make_file(self.path)
        except OSError as error:
            raise failure(self.path, error) from error
        writer = Writer(self.path, waiters=self._waiters, now=self._now, synchronous=self._synchronous, busy_timeout_s=self._busy_timeout_s)
        writer.start()
        return writer, Readers(self.path, now=self._now, busy_timeout_s=self._busy_timeout_s)

    async def __aexit__(self, *exc_info: object) -> None:
        """Write what is on its way and close; see `Store`."""
        writer, readers = self._parts
        self._open = None
        self._waiters.wake()
        # The writer closes last, so that SQLite can put its journal back into the file.
        await asyncio.to_thread(readers.stop)
        await asyncio.to_thread(writer.stop)

    @property
    def _parts(self) -> tuple[Writer, Readers]:
        if self._open is None:
            raise StateError(f"{self!r} is not open: async with store: …")
        return self._open

    async def _write(self, make: Make[T], *, is_alone: bool = False) -> T:
        return await self._parts[0].write(make, is_alone=is_alone)

    async def _read(self, make: Make[T]) -> T:
        return await self._parts[1].read(make)

    async def _free_room(self) -> None:
        while await self._write(free_room, is_alone=True):
            pass

    async def changed(self, run_id: str, after: int, timeout_s: float) -> None:
        """Wait for news of a run; see `Store`."""
        refusals.check_texts(run_id=run_id)
        with self._waiters.entered(run_id) as waiter:
            waiter.mark = (await self._read(partial(marks, [run_id]))).get(run_id)
            waiter.has_looked = True
            if waiter.mark is not None and waiter.mark[0] > after:
                return
            self._parts[0].look()
            await waiter.wait(timeout_s)
