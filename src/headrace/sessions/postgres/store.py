"""The store in PostgreSQL.

The rule of this file: it opens, closes and puts together. What is written while the database is away is tried again until it is back, for as
long as it was told to wait, and never written twice (`connection.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import Any, Final, Self, cast

import psycopg
from psycopg_pool import AsyncConnectionPool

from headrace.errors import StateError, StoreError
from headrace.sessions import refusals
from headrace.sessions.postgres.address import Address
from headrace.sessions.postgres.appending import Appending
from headrace.sessions.postgres.connection import Attempt, Connection, fate_of
from headrace.sessions.postgres.failures import failure
from headrace.sessions.postgres.listening import Listener
from headrace.sessions.postgres.patience import GoneError, patiently
from headrace.sessions.postgres.standstill import Standstills
from headrace.sessions.records import Batch
from headrace.sessions.sql.migrations import migrate_once
from headrace.sessions.sql.operation import Make, T, WorkError
from headrace.sessions.sql.rows import to_us
from headrace.sessions.sql.runs import marks
from headrace.sessions.sql.standstill import STANDSTILL_S, bounding_standstill
from headrace.sessions.sql.store import SqlStore
from headrace.sessions.waiters import Waiters

_LONGEST_WAIT_S: Final = 10.0
_SHORT_WAIT_S: Final = 0.5
_RECONNECT_S: Final = 2.0
"""How long the pool tries by itself; its pauses grow, ours are short."""


class _InProgressError(psycopg.OperationalError):
    """A transaction whose commit was asked for is not decided yet."""


class PostgresStore(SqlStore):
    """Keeps runs, logs and conversations in PostgreSQL; see `Store`. Many processes on many machines may use it at a time.

    Its connections belong to the event loop in which it was opened; calls from another one are done there.

    Attributes:
        address: the database and the schema; shown without its password.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "headrace",
        max_connections: int = 8,
        patience_s: float = 60.0,
        standstill_s: float = STANDSTILL_S,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """Name the database; `async with` connects, and makes the schema if it is not there.

        Args:
            url: `postgresql://user:password@host:port/database`, or any other form that libpq takes.
            schema: where the tables are; several stores may share one database.
            max_connections: how many operations may be on their way at a time; one more connection listens.
            patience_s: how long an operation is tried again while the database is away.
            standstill_s: how long a transaction may stand still, such as that of a process that was stopped in the middle of it, before the server
                ends it; the operation begins anew then. A bound of the server's own goes first.
            now: the clock, in UTC; None: the server's, so that all machines have one time.

        Raises:
            ConfigError: the URL cannot be read, or the schema has no proper name.
        """
        self.address = Address.of(url, schema)
        self._dialect = self.address.dialect()
        self._patience_s = patience_s
        self._standstill_s = standstill_s
        self._standstills = Standstills(self.address, after_s=standstill_s)
        self._max_connections = max_connections
        self._now = now
        self._waiters = Waiters()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._appending = Appending(self._write)
        self._underway = 0
        self._is_idle = asyncio.Event()
        self._open: tuple[AsyncConnectionPool[Connection], Listener] | None = None

    def __repr__(self) -> str:
        return f"PostgresStore({self.address!r})"

    async def __aenter__(self) -> Self:
        """Connect, and bring the schema up to date; see `Store`."""
        if self._open is not None:
            raise StateError(f"{self!r} is open already")
        self._loop = asyncio.get_running_loop()
        self._is_idle.set()
        # A connection of its own: while the pool connects, it keeps the reason of a failure to itself.
        await self._tried(self._migrate)
        pool = AsyncConnectionPool[Connection](
            self.address.url,
            min_size=1,
            max_size=self._max_connections,
            open=False,
            kwargs={"autocommit": True},
            configure=self._configure,
            reconnect_timeout=_RECONNECT_S,
            name="headrace",
        )
        await pool.open()
        listener = Listener(self.address, self._waiters)
        listener.start()
        self._open = pool, listener
        return self

    async def _configure(self, connection: Connection) -> None:
        await connection.execute(cast("Any", bounding_standstill(self._standstill_s)))

    async def _migrate(self) -> None:
        connection: Any = await psycopg.AsyncConnection.connect(self.address.url, autocommit=True)
        async with connection:
            await self._configure(connection)
            make = partial(migrate_once, f"database {self.address!r}")
            while await Attempt().write(connection, self._dialect, make, channel=self.address.channel, now_us=self._now_us()):
                pass

    async def __aexit__(self, *exc_info: object) -> None:
        """Wait for what is on its way and close; see `Store`."""
        pool, listener = self._parts
        await self._appending.finish()
        self._open = None
        self._waiters.wake()
        await self._is_idle.wait()
        await self._standstills.stop()
        await listener.stop()
        await pool.close()

    @property
    def _parts(self) -> tuple[AsyncConnectionPool[Connection], Listener]:
        if self._open is None:
            raise StateError(f"{self!r} is not open: async with store: …")
        return self._open

    def _now_us(self) -> int | None:
        return None if self._now is None else to_us(self._now())

    async def _write(self, make: Make[T], *, is_alone: bool = False) -> T:  # noqa: ARG002 - every operation is alone here
        pool, _ = self._parts
        last = Attempt()

        async def attempt() -> T:
            nonlocal last
            async with pool.connection(self._wait_s(self._patience_s)) as connection:
                if last.xid is not None:
                    match await fate_of(connection, last.xid):
                        case "committed":
                            return last.result  # type: ignore[return-value] # pyright: ignore[reportReturnType]
                        case "in progress":
                            raise _InProgressError("the transaction is still being committed")
                        case "aborted":
                            pass
                last = Attempt()
                return await last.write(connection, self._dialect, make, channel=self.address.channel, now_us=self._now_us())

        result = await self._at_home(self._tried(attempt, is_unsure=lambda: last.xid is not None))
        self._waiters.wake(last.touched)
        return result

    async def append(self, batch: Batch) -> None:
        """Add to a run's log; see `Store`."""
        refusals.check_batch(batch)
        refusals.check_texts(run_id=batch.run_id, generate_reason=batch.generate_reason)
        _ = self._parts
        await self._at_home(self._appending.append(batch))

    async def _read(self, make: Make[T], *, for_s: float | None = None) -> T:
        pool, _ = self._parts
        patience_s = self._patience_s if for_s is None else for_s

        async def attempt() -> T:
            async with pool.connection(self._wait_s(patience_s)) as connection:
                return await Attempt().read(connection, self._dialect, make, now_us=self._now_us())

        return await self._at_home(self._tried(attempt, for_s=patience_s))

    async def _at_home(self, doing: Coroutine[Any, Any, T]) -> T:
        """Do something in the event loop to which the connections belong, whichever runs here."""
        if self._loop is None or self._loop is asyncio.get_running_loop():
            return await doing
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(doing, self._loop))

    @staticmethod
    def _wait_s(patience_s: float) -> float:
        """Return how long one try waits until a connection is free or there again."""
        return min(patience_s + _SHORT_WAIT_S, _LONGEST_WAIT_S)

    async def _free_room(self) -> None:
        """Nothing: the server's autovacuum does it."""

    async def _tried(
        self, attempt: Callable[[], Awaitable[T]], *, for_s: float | None = None, is_unsure: Callable[[], bool] = lambda: False
    ) -> T:
        self._underway += 1
        self._is_idle.clear()
        try:
            with self._standstills.ended():
                return await patiently(attempt, for_s=self._patience_s if for_s is None else for_s)
        except GoneError as gone:
            raise failure(self.address, gone.error, after_s=gone.after_s, is_unsure=is_unsure()) from gone.error
        except WorkError as error:
            raise error.error from error.error.__cause__
        except psycopg.Error as error:
            raise failure(self.address, error) from error
        finally:
            self._underway -= 1
            if not self._underway:
                self._is_idle.set()

    async def changed(self, run_id: str, after: int, timeout_s: float) -> None:
        """Wait for news of a run; see `Store`."""
        refusals.check_texts(run_id=run_id)
        until = time.monotonic() + timeout_s
        with self._waiters.entered(run_id) as waiter:
            try:
                mark = (await self._read(partial(marks, [run_id]), for_s=0)).get(run_id)
            except StoreError:  # away for a moment, or too busy; if it stays so, whoever waits is told when it looks
                await waiter.wait(min(until - time.monotonic(), 1.0))
                return
            if mark is not None and mark[0] > after:
                return
            await waiter.wait(min(until - time.monotonic(), self._parts[1].look_every_s))
