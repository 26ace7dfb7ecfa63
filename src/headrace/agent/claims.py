"""Which states were taken up again: each only once, since a second time would run its calls a second time.

The rule of this file: a state is named by its run and the number of its last event, so the states of one run are told apart.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, Protocol

MAX_CLAIMS: Final = 100_000
"""How many states are remembered in memory; the oldest are forgotten first."""


class Claims(Protocol):
    """Remembers which states were taken up."""

    async def take(self, run_id: str, seq: int) -> bool:
        """Take a state; returns whether nobody had taken it."""
        ...

    async def give_back(self, run_id: str, seq: int) -> None:
        """Undo a `take`, because nothing happened."""
        ...


class MemoryClaims:
    """Remembers in this process."""

    def __init__(self, limit: int = MAX_CLAIMS) -> None:
        """Start with none."""
        self._limit = limit
        self._taken: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._lock = threading.Lock()

    async def take(self, run_id: str, seq: int) -> bool:
        """Take a state; see `Claims`."""
        with self._lock:
            if (run_id, seq) in self._taken:
                return False
            self._taken[run_id, seq] = None
            while len(self._taken) > self._limit:
                self._taken.popitem(last=False)
            return True

    async def give_back(self, run_id: str, seq: int) -> None:
        """Undo a `take`; see `Claims`."""
        with self._lock:
            self._taken.pop((run_id, seq), None)


CLAIMS: Final = MemoryClaims()
"""The states that were taken up in this process."""


class NoClaims:
    """Remembers nothing: somebody else knows who may go on with a run."""

    async def take(self, run_id: str, seq: int) -> bool:  # noqa: ARG002 - see `Claims`
        """Let it be taken; see `Claims`."""
        return True

    async def give_back(self, run_id: str, seq: int) -> None:
        """Do nothing; see `Claims`."""


NO_CLAIMS: Final = NoClaims()
