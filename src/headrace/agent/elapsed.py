"""How long a run has taken, over all the processes that it ran in; the time that it waited for people does not count. The clock comes in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime


class Elapsed:
    """Counts from now on, on top of what was counted before."""

    __slots__ = ("_before_s", "_began", "_now")

    def __init__(self, now: Callable[[], datetime], before_s: float = 0.0) -> None:
        """Start to count."""
        self._now = now
        self._before_s = before_s
        self._began = now()

    def reach(self, s: float) -> None:
        """Another clock says that it took so long, in seconds: it took no less."""
        self._before_s += max(0.0, s - self.s)

    @property
    def s(self) -> float:
        """How long, in seconds; never less than before, also if the clock is set back."""
        return self._before_s + max(0.0, (self._now() - self._began).total_seconds())
