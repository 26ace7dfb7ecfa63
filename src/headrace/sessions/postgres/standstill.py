"""Transactions that stand still and hold up others, ended.

The server ends those that it knows to be idle (`sql/standstill.py`). It does not know it of one whose client was stopped while it had said only
a part of several statements that go together (libpq's pipeline); such a one is found by whom it holds up.

The rule of this file: it ends only what holds somebody up, waits for its client, has done so for long, and calls itself what we do; and it
looks only while an operation of ours takes long.

Source: https://www.postgresql.org/docs/current/protocol-flow.html (pipelining), …/functions-admin.html (pg_terminate_backend),
…/functions-info.html (pg_blocking_pids).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Generator
from typing import Final

import psycopg

from headrace.sessions.postgres.address import Address

LOG: Final = logging.getLogger("headrace.sessions")
_END: Final = """
    SELECT count(pg_terminate_backend(holder.pid)) FROM pg_stat_activity AS holder
    WHERE holder.pid IN (
            SELECT unnest(pg_blocking_pids(waiting.pid)) FROM pg_stat_activity AS waiting
            WHERE waiting.wait_event_type = 'Lock' AND waiting.datname = current_database())
        AND holder.usename = current_user AND holder.application_name = current_setting('application_name')
        AND holder.wait_event = 'ClientRead' AND holder.state_change < clock_timestamp() - make_interval(secs => %s)"""


class Standstills:
    """Ends what holds up operations on one database."""

    def __init__(self, address: Address, *, after_s: float) -> None:
        """Look at nothing yet.

        Args:
            address: the database.
            after_s: how long a transaction may stand still, and an operation be on its way until somebody looks.
        """
        self._address = address
        self._after_s = after_s
        self._late = 0
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def ended(self) -> Generator[None]:
        """If the block takes long, end what holds it up."""
        is_late = False

        def look() -> None:
            nonlocal is_late
            is_late = True
            self._late += 1
            if self._task is None:
                self._task = asyncio.create_task(self._look(), name="headrace postgres standstills")

        timer = asyncio.get_running_loop().call_later(self._after_s, look)
        try:
            yield
        finally:
            timer.cancel()
            self._late -= is_late

    async def _look(self) -> None:
        try:
            while self._late:
                with contextlib.suppress(psycopg.Error, OSError):  # the operation is told of it
                    await self._end()
                await asyncio.sleep(self._after_s)
        finally:
            self._task = None

    async def _end(self) -> None:
        async with await psycopg.AsyncConnection.connect(self._address.url, autocommit=True) as connection:
            cursor = await connection.execute(_END, (self._after_s,))
            row = await cursor.fetchone()
        if row is not None and row[0]:
            LOG.warning("%d transactions of workers that stand still held others up, and were ended", row[0])

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
