"""Who waits for a run to change, and how they are woken from any thread.

The rule of this file: whoever waits enters first and looks at the store afterwards, so what changes in between wakes it too.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TypeAlias

from headrace.sessions.records import RunStatus

Mark: TypeAlias = tuple[int, RunStatus, int]
"""How a run stands: the number of its last event, its status, its epoch."""


class Waiter:
    """One who waits for one run.

    Attributes:
        run_id: the run.
        has_looked: whether `mark` was set.
        mark: how the run stood when it was looked at, for a store that compares; None: there was none.
    """

    __slots__ = ("_future", "_loop", "has_looked", "mark", "run_id")

    def __init__(self, run_id: str) -> None:
        """Wait in the event loop that runs."""
        self.run_id = run_id
        self.has_looked = False
        self.mark: Mark | None = None
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = self._loop.create_future()

    async def wait(self, timeout_s: float) -> None:
        """Return when woken, perhaps already, or when so many seconds have passed."""
        await asyncio.wait([self._future], timeout=max(timeout_s, 0))

    def wake(self) -> None:
        """Wake it, from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._set)
        except RuntimeError:  # its loop is closed: nobody waits any more
            return

    def _set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)


class Waiters:
    """All who wait, by run; any thread may wake them."""

    def __init__(self) -> None:
        """Start with nobody."""
        self._lock = threading.Lock()
        self._by_run: dict[str, set[Waiter]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_run)

    @contextmanager
    def entered(self, run_id: str) -> Generator[Waiter]:
        """Be woken when this run changes, until the block ends."""
        waiter = Waiter(run_id)
        with self._lock:
            self._by_run.setdefault(run_id, set()).add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                others = self._by_run[run_id]
                others.discard(waiter)
                if not others:
                    del self._by_run[run_id]

    def of(self, run_ids: Iterable[str] | None = None) -> list[Waiter]:
        """Return those who wait for these runs; None: all."""
        with self._lock:
            groups = list(self._by_run.values()) if run_ids is None else [self._by_run[one] for one in run_ids if one in self._by_run]
            return [waiter for group in groups for waiter in group]

    def wake(self, run_ids: Iterable[str] | None = None) -> None:
        """Wake those who wait for these runs; None: all."""
        for waiter in self.of(run_ids):
            waiter.wake()
