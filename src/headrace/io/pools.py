"""Connections to one place, in pools of a few each.

The rule of this file: it counts requests and no connections. httpcore2's pool looks at every one of its connections whenever a request
begins or ends, and asks the system about those that are idle: hundreds in one pool make each request dear. So requests are spread over small
pools, the first that has room before the next, which keeps connections in use.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import httpcore2

SIZE: Final = 8
"""How many connections a pool holds at most."""


class Pool:
    """One of the pools.

    Attributes:
        pool: the pool itself.
        size: how many connections it may hold.
        requests: how many requests it has now.
        released_s: when the last one was over, on the monotonic clock.
    """

    __slots__ = ("pool", "released_s", "requests", "size")

    def __init__(self, pool: httpcore2.AsyncConnectionPool, size: int) -> None:
        """Begin without a request."""
        self.pool = pool
        self.size = size
        self.requests = 0
        self.released_s = 0.0

    def release(self) -> None:
        """A request is over."""
        self.requests -= 1
        self.released_s = time.monotonic()


class Pools:
    """The pools of one place."""

    def __init__(self, make: Callable[[int], httpcore2.AsyncConnectionPool], *, max_connections: int, keepalive_s: float) -> None:
        """Make none yet.

        Args:
            make: makes a pool of so many connections at most.
            max_connections: how many connections all of them may hold.
            keepalive_s: how long one without requests is kept, beside the first.
        """
        self._make = make
        self._left = max_connections
        self._keepalive_s = keepalive_s
        self._pools: list[Pool] = []

    async def take(self) -> Pool:
        """Return the pool for one more request, to be released: the first that has room; where none has and none may be made, the emptiest."""
        pools = self._pools
        if len(pools) > 1 and not pools[-1].requests and time.monotonic() - pools[-1].released_s > self._keepalive_s:
            unused = pools.pop()
            self._left += unused.size
            await unused.pool.aclose()
        found = next((pool for pool in pools if pool.requests < pool.size), None)
        if found is None and self._left > 0:
            size = min(SIZE, self._left)
            self._left -= size
            found = Pool(self._make(size), size)
            pools.append(found)
        if found is None:
            found = min(pools, key=lambda pool: pool.requests / pool.size)
        found.requests += 1
        return found

    async def aclose(self) -> None:
        """Close all connections."""
        for pool in self._pools:
            await pool.pool.aclose()
