"""The threads that read, each with a connection of its own: they see what was committed, and never make the writer wait.

The rule of this file: an operation reads in one transaction, so that what it sees belongs together.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Final

from headrace.sessions.sql.operation import Make, T
from headrace.sessions.sql.rows import to_us
from headrace.sessions.sqlite.connection import carry_out, connect
from headrace.sessions.sqlite.failures import failure

THREADS: Final = 4
"""How many read at a time."""


class Readers:
    """Reads one file, until `stop`."""

    def __init__(self, path: Path, *, now: Callable[[], datetime], busy_timeout_s: float) -> None:
        """Take what it needs; connections are opened when somebody reads."""
        self._path = path
        self._now = now
        self._busy_timeout_s = busy_timeout_s
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="headrace sqlite reader")
        self._idle: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()

    async def read(self, make: Make[T]) -> T:
        """Carry out an operation that only reads.

        Raises:
            StoreError: the file cannot be read, or the operation refused.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, make)

    def _read(self, make: Make[T]) -> T:
        try:
            connection = self._connection()
            try:
                connection.execute("BEGIN")
                try:
                    result, _ = carry_out(connection, make, now_us=to_us(self._now()))
                finally:
                    connection.execute("ROLLBACK")  # it read; there is nothing to commit
            except sqlite3.Error:
                connection.close()
                raise
            except BaseException:
                self._idle.put(connection)
                raise
            self._idle.put(connection)
            return result
        except sqlite3.Error as error:
            raise failure(self._path, error) from error

    def _connection(self) -> sqlite3.Connection:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return connect(self._path, synchronous="full", busy_timeout_s=self._busy_timeout_s, is_reader=True)

    def stop(self) -> None:
        """Close all connections; blocks until what is being read was read."""
        self._threads.shutdown()
        while not self._idle.empty():
            self._idle.get_nowait().close()
