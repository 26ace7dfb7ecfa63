"""The connections to one place: those that wait to be used again, and who waits for one.

The rule of this file: it knows whether a connection is free and nothing of what it carries. Taking one and giving it back cost the same however
many there are, which is why httpcore2's pool is not used: that one looks at each of its connections whenever a request begins or ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import httpcore2

from headrace.errors import StateError
from headrace.io.exchange import Connection


class Pool:
    """The connections to one place; `take` one for a request, and `give_back` it afterwards, whatever became of it."""

    def __init__(self, make: Callable[[], Connection], *, max_connections: int) -> None:
        """Have none yet; `make` makes one that is not opened."""
        self._make = make
        self._max = max_connections
        self._open: set[Connection] = set()
        self._idle: deque[Connection] = deque()  # the one that was used last is the last; where somebody waits there are none
        self._waiting: deque[asyncio.Future[Connection]] = deque()
        self._is_closed = False

    async def take(self, limit_s: float | None) -> Connection:
        """Return a connection for one request: the one that was used last, else a new one, else the next that becomes free.

        Raises:
            PoolTimeout: none became free in time.
            StateError: the pool is closed.
        """
        idle = self._idle
        while idle:
            # The longest unused goes first, if its time is over: else a crowd would stay behind the few that are used.
            connection = idle.popleft() if idle[0].has_expired() else idle.pop()
            if not connection.has_expired():
                return connection
            self._open.discard(connection)
            await connection.aclose()
        if self._is_closed:
            raise StateError("this transport is closed")
        if len(self._open) < self._max:
            return self._made()
        return await self._next_free(limit_s)

    async def give_back(self, connection: Connection) -> None:
        """A request is over: its connection is there for the next one; if it is of no more use it is closed, and there is room for another."""
        is_useful = connection.is_idle() and not connection.has_expired() and not self._is_closed
        if not is_useful:
            self._open.discard(connection)
        waiter = self._next_waiter()
        if waiter is not None:
            waiter.set_result(connection if is_useful else self._made())
        elif is_useful:
            self._idle.append(connection)
        if not is_useful:
            await connection.aclose()

    async def aclose(self) -> None:
        """Close all connections, also those that are in use; who waits for one gets a `StateError`."""
        self._is_closed = True
        while (waiter := self._next_waiter()) is not None:
            waiter.set_exception(StateError("this transport is closed"))
        self._idle.clear()
        while self._open:
            await self._open.pop().aclose()

    def _next_waiter(self) -> asyncio.Future[Connection] | None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():  # those that stopped waiting are
                return waiter
        return None

    def _made(self) -> Connection:
        connection = self._make()
        self._open.add(connection)
        return connection

    async def _next_free(self, limit_s: float | None) -> Connection:
        waiter: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(limit_s):
                return await waiter
        except BaseException as error:
            # It may have been given one in the moment in which it stopped waiting.
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                await self.give_back(waiter.result())
            if isinstance(error, TimeoutError):
                raise httpcore2.PoolTimeout(f"no connection became free in {limit_s:g} s") from error
            raise
