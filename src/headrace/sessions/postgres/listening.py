"""The connection that listens: it hears of every commit in the schema and wakes who waits for that run.

The rule of this file: it never fails; while it does not hear anything, whoever waits looks for itself more often. When it hears again, it wakes
all, since what was said meanwhile is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from contextlib import suppress
from typing import Final

import psycopg
from psycopg.sql import SQL, Identifier

from headrace.sessions.postgres.address import Address, run_digest
from headrace.sessions.waiters import Waiter, Waiters

LOG: Final = logging.getLogger("headrace.sessions")
LOOK_EVERY_S: Final = 10.0
"""How often whoever waits looks for itself, in case that a message was lost."""
LOOK_EVERY_WHEN_DEAF_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 2.0


class Listener:
    """Listens from `start` to `stop`."""

    def __init__(self, address: Address, waiters: Waiters) -> None:
        """Wake these."""
        self._address = address
        self._waiters = waiters
        self._task: asyncio.Task[None] | None = None
        self._hears = False

    @property
    def look_every_s(self) -> float:
        """How long one may wait before looking again."""
        return LOOK_EVERY_S if self._hears else LOOK_EVERY_WHEN_DEAF_S

    def start(self) -> None:
        """Begin to listen, in a task."""
        self._task = asyncio.create_task(self._main(), name="headrace postgres listener")

    async def stop(self) -> None:
        """Listen no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _main(self) -> None:
        pause = 0.0
        while True:
            try:
                await asyncio.sleep(pause)
                await self._listen()
            except (psycopg.Error, OSError) as error:
                if self._hears:
                    LOG.warning("database %r: the connection that listens broke; connecting again (%s)", self._address, str(error).strip())
                    pause = 0.0
            self._hears = False
            self._waiters.wake()
            pause = min(max(pause * 2, 0.05), _LONGEST_PAUSE_S)

    async def _listen(self) -> None:
        async with await psycopg.AsyncConnection.connect(self._address.url, autocommit=True) as connection:
            await connection.execute(SQL("LISTEN {}").format(Identifier(self._address.channel)))
            self._hears = True
            self._waiters.wake()
            async for notice in connection.notifies():
                self._heard(notice.payload)

    def _heard(self, digest: str) -> None:
        for waiter in self._by_digest()[digest]:
            waiter.wake()

    def _by_digest(self) -> defaultdict[str, list[Waiter]]:
        found: defaultdict[str, list[Waiter]] = defaultdict(list)
        for waiter in self._waiters.of():
            found[run_digest(waiter.run_id)].append(waiter)
        return found
