"""Which calls of a round may run now. Pure.

The rule of this file: order alone decides. Calls that work on one resource run one after another, in the order that they came; one that
runs alone waits for all before it and is waited for by all behind it; among all that may run, the earliest goes first, and no slot stays
free while one may. Each call costs the logarithm of their number.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import NamedTuple


class _Entry(NamedTuple):
    order: int
    key: int
    resource: str | None
    is_alone: bool


class Lanes:
    """The calls of a round that wait or run, known by a number each."""

    def __init__(self, limit: int) -> None:
        """Start empty; at most `limit` calls run at once."""
        self._limit = limit
        self._count = 0
        self._behind: deque[_Entry] = deque()  # not let in: one that runs alone is in, or stands before them
        self._ready: list[_Entry] = []  # a heap: they need only a free slot
        self._lanes: dict[str, deque[_Entry]] = {}  # by resource in use or about to be: who waits for it
        self._running: dict[int, _Entry] = {}
        self._inside = 0  # let in and not ended
        self._is_closed_off = False  # one that runs alone is in

    @property
    def is_empty(self) -> bool:
        """Whether no call waits and none runs."""
        return not self._behind and not self._inside

    def add(self, key: int, *, resource: str | None = None, is_alone: bool = False) -> None:
        """Take the next call."""
        self._behind.append(_Entry(self._count, key, resource, is_alone))
        self._count += 1

    def start(self) -> list[int]:
        """Return the calls that may start now, earliest first; from now on they run."""
        self._let_in()
        started: list[int] = []
        while self._ready and len(self._running) < self._limit:
            entry = heappop(self._ready)
            self._running[entry.key] = entry
            started.append(entry.key)
        return started

    def end(self, key: int) -> None:
        """Note that a call that ran does so no longer."""
        entry = self._running.pop(key)
        self._inside -= 1
        if entry.is_alone:
            self._is_closed_off = False
        if entry.resource is None:
            return
        waiting = self._lanes[entry.resource]
        if waiting:
            heappush(self._ready, waiting.popleft())
        else:
            del self._lanes[entry.resource]

    def drop_waiting(self) -> None:
        """Forget the calls that wait: they never start."""
        self._behind.clear()
        self._ready.clear()
        for waiting in self._lanes.values():
            waiting.clear()
        self._inside = len(self._running)

    def _let_in(self) -> None:
        while self._behind and not self._is_closed_off:
            if self._behind[0].is_alone and self._inside:
                return
            entry = self._behind.popleft()
            self._inside += 1
            self._is_closed_off = entry.is_alone
            if entry.resource is not None and entry.resource in self._lanes:
                self._lanes[entry.resource].append(entry)
                continue
            if entry.resource is not None:
                self._lanes[entry.resource] = deque()
            heappush(self._ready, entry)
