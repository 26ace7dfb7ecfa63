"""The thread that writes: it takes whatever is queued into one transaction, so that many writers share what one commit costs.

The rule of this file: whoever queued an operation hears of it after the commit. An operation that is refused takes nothing of the others with
it: nearly all refuse before they write; where one has written, or the transaction fails as a whole, nothing of it is kept and each is done
once more by itself. (A savepoint for each would do the same, and cost more than the operation.) While somebody waits, the thread also
looks whether another process has written.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, cast

from headrace.sessions.sql.migrations import migrate_once
from headrace.sessions.sql.operation import Make, T, WorkError
from headrace.sessions.sql.rows import to_us
from headrace.sessions.sqlite.connection import Synchronous, carry_out, connect
from headrace.sessions.sqlite.failures import MovedError, code_of, failure
from headrace.sessions.sqlite.news import LOOK_EVERY_S, News
from headrace.sessions.waiters import Waiters

MOST_TOGETHER: Final = 1_000
"""How many operations share a transaction at most."""
_TRY_AGAIN_S: Final = 0.002
_LET_OTHERS_S: Final = 0.003
"""How long the file is left to others after a commit where they write too: longer than they wait before they try again."""


class _SpoiltError(sqlite3.Error):
    """A transaction holds something that must not be kept."""


_BROKEN: Final = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""What leaves a connection in doubt; the next transaction gets a new one."""


class Job:
    """An operation that is queued."""

    __slots__ = ("_future", "_loop", "is_alone", "make", "outcome", "touched")

    def __init__(self, make: Make[Any], *, is_alone: bool) -> None:
        """Queue it for the task that runs."""
        self.make = make
        self.is_alone = is_alone
        self.outcome: object = None
        self.touched: Sequence[str] = ()
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[Any] = self._loop.create_future()

    async def result(self) -> Any:
        """Wait until it is kept, or has failed."""
        return await self._future

    @property
    def is_wanted(self) -> bool:
        """Whether anybody waits for it."""
        return not self._future.cancelled()

    @staticmethod
    def tell(jobs: Sequence[Job]) -> None:
        """Hand the outcomes over, from the writer's thread; each event loop is woken once."""
        for loop in {job._loop for job in jobs}:
            with suppress(RuntimeError):  # its loop is closed: nobody asks any more
                loop.call_soon_threadsafe(_settle_all, [job for job in jobs if job._loop is loop])

    def settle(self) -> None:
        """Wake who waits for it, in its event loop."""
        if self._future.done():
            return
        if isinstance(self.outcome, StopIteration):  # which no future can hold
            self.outcome = RuntimeError("the work of `once` raised StopIteration")
        if isinstance(self.outcome, BaseException):
            self._future.set_exception(self.outcome)
        else:
            self._future.set_result(self.outcome)


def _settle_all(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.settle()


class Writer:
    """Writes one file, from `start` to `stop`."""

    def __init__(
        self, path: Path, *, waiters: Waiters, now: Callable[[], datetime], synchronous: Synchronous, busy_timeout_s: float
    ) -> None:
        """Take what it needs; nothing is opened."""
        self._path = path
        self._waiters = waiters
        self._now = now
        self._synchronous: Synchronous = synchronous
        self._busy_timeout_s = busy_timeout_s
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._main, name="headrace sqlite writer", daemon=True)
        self._connection = cast("sqlite3.Connection", None)
        self._file = cast("os.stat_result", None)
        self._news = News(waiters)

    def start(self) -> None:
        """Open the file, bring its tables up to date, and begin; blocks meanwhile.

        Raises:
            SchemaVersionError: a later version of headrace wrote it.
            StoreError: it cannot be opened.
        """
        try:
            self._open()
            while self._alone(lambda: migrate_once(f"database {self._path}"))[0]:
                pass
        except BaseException as error:
            self._close()
            if isinstance(error, sqlite3.Error):
                raise failure(self._path, error) from error
            raise
        self._thread.start()

    def stop(self) -> None:
        """Write what is queued, and close; blocks meanwhile."""
        self._is_stopping = True
        self._queue.put(None)
        self._thread.join()

    async def write(self, make: Make[T], *, is_alone: bool) -> T:
        """Queue an operation and wait until it is kept."""
        job = Job(make, is_alone=is_alone)
        self._queue.put(job)
        return cast("T", await job.result())

    def look(self) -> None:
        """Begin to look out for other processes, since somebody waits now."""
        self._queue.put(None)

    # --- the thread ---------------------------------------------------------------------------------

    def _main(self) -> None:
        while True:
            jobs = [job for job in self._take() if job.is_wanted]
            for is_alone, group in groupby(jobs, key=lambda job: job.is_alone):
                for together in [[job] for job in group] if is_alone else [list(group)]:
                    self._write(together)
            self._look()
            if self._is_stopping and self._queue.empty():
                break
        self._close()

    def _take(self) -> Iterator[Job]:
        taken: list[Job | None] = []
        try:
            taken.append(self._queue.get(timeout=LOOK_EVERY_S if self._waiters else None))
            while len(taken) < MOST_TOGETHER:
                taken.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        return (job for job in taken if job is not None)

    def _write(self, jobs: list[Job]) -> None:
        try:
            self._together(jobs)
        except sqlite3.Error as error:
            self._recover(error)
            for job in jobs:
                job.outcome, job.touched = failure(self._path, error), ()
            if len(jobs) > 1 or isinstance(error, _SpoiltError):
                self._one_by_one(jobs)
        if touched := {run_id for job in jobs for run_id in job.touched}:
            self._waiters.wake(touched)
        Job.tell(jobs)
        if self._news.others_write:
            time.sleep(_LET_OTHERS_S)

    def _one_by_one(self, jobs: list[Job]) -> None:
        for job in jobs:
            job.is_alone = True
            try:
                self._together([job])
            except sqlite3.Error as error:
                self._recover(error)
                job.outcome, job.touched = failure(self._path, error), ()

    def _together(self, jobs: list[Job]) -> None:
        """Carry operations out in one transaction.

        Raises:
            sqlite3.Error: nothing of it was kept.
        """
        self._begin()
        connection = self._connection
        for job in jobs:
            written = connection.total_changes
            try:
                job.outcome, job.touched = carry_out(connection, job.make, now_us=to_us(self._now()))
            except sqlite3.Error:
                raise
            except Exception as error:  # whoever queued it gets what it raised; the thread goes on
                job.outcome, job.touched = error.error if isinstance(error, WorkError) else error, ()
                if job.is_alone:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                elif connection.total_changes != written:
                    raise _SpoiltError("one that was refused had written") from error
        if connection.in_transaction:
            connection.execute("COMMIT")

    def _alone(self, make: Make[T]) -> tuple[T, list[str]]:
        self._begin()
        try:
            done = carry_out(self._connection, make, now_us=to_us(self._now()))
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return done

    def _begin(self) -> None:
        self._check_file()
        until = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            else:
                return
            self._look()
            time.sleep(_TRY_AGAIN_S)

    def _check_file(self) -> None:
        try:
            present = self._path.stat()
        except OSError as error:
            raise MovedError(str(error)) from error
        if not os.path.samestat(present, self._file):
            raise MovedError("another file is there")

    def _look(self) -> None:
        try:
            self._news.look(self._connection)
        except sqlite3.Error:  # whoever waits looks for itself, and hears then what is wrong
            self._waiters.wake()

    # --- the connection -----------------------------------------------------------------------------

    def _open(self) -> None:
        self._connection = connect(self._path, synchronous=self._synchronous, busy_timeout_s=self._busy_timeout_s)
        self._file = self._path.stat()
        self._connection.execute("PRAGMA busy_timeout = 0")  # `_begin` waits by itself, and looks out meanwhile

    def _recover(self, error: sqlite3.Error) -> None:
        """Make the connection fit for the next transaction."""
        is_sound = code_of(error) not in _BROKEN
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            is_sound = False
        if not is_sound:
            self._close()
            with suppress(sqlite3.Error):  # then the next transaction says so
                self._open()

    def _close(self) -> None:
        if self._connection is not None:  # pyright: ignore[reportUnnecessaryComparison]
            with suppress(sqlite3.Error):
                self._connection.close()
