"""The end of a log that is being written here, in memory, so that its readers here need not ask the store for every event.

The rule of this file: only what is kept is in it, and never more than a bound; a reader who is further behind reads from the store.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from headrace.sessions.records import Batch, Entry

MAX_BYTES: Final = 256 * 1024
"""How much of one run's log is held."""


class Recent:
    """The last events of one run.

    Attributes:
        is_over: nothing more is written here.
    """

    def __init__(self, after: int, *, max_bytes: int = MAX_BYTES) -> None:
        """Hold the events above `after`, as they come."""
        self.is_over = False
        self._after = after
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._max_bytes = max_bytes
        self._news: asyncio.Future[None] | None = None

    @property
    def last_seq(self) -> int:
        """The last event."""
        return self._entries[-1].seq if self._entries else self._after

    def add(self, batch: Batch) -> None:
        """More was kept."""
        for entry in batch.entries:
            self._entries.append(entry)
            self._bytes += len(entry.data)
        while self._bytes > self._max_bytes and len(self._entries) > 1:
            gone = self._entries.popleft()
            self._bytes -= len(gone.data)
            self._after = gone.seq
        self._wake()

    def close(self) -> None:
        """Nothing more is written here."""
        self.is_over = True
        self._wake()

    def above(self, seq: int) -> tuple[Entry, ...] | None:
        """Return what comes after an event, or None if that is not held any more."""
        if seq < self._after:
            return None
        if seq >= self.last_seq:
            return ()
        found: list[Entry] = []
        for entry in reversed(self._entries):
            if entry.seq <= seq:
                break
            found.append(entry)
        return tuple(reversed(found))

    async def news(self) -> None:
        """Wait for more, or the end."""
        if self.is_over:
            return
        if self._news is None or self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._news)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
