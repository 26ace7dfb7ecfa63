"""Time, waiting and chance, as one argument: the only place where models take them from."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What a model needs of the world beside the network."""

    def elapsed_s(self) -> float:
        """Seconds from any fixed start; never goes back."""
        ...

    def now(self) -> datetime:
        """The time, with its zone."""
        ...

    def chance(self) -> float:
        """A number from 0 to 1, new each time."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The real one."""

    def elapsed_s(self) -> float:
        """Seconds of the system's monotonic clock."""
        return time.monotonic()

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    def chance(self) -> float:
        """A pseudo-random number; nothing secret hangs on it."""
        return random.random()  # noqa: S311 - the jitter of retries

    async def sleep(self, delay_s: float) -> None:
        """Wait on the event loop."""
        await asyncio.sleep(delay_s)


SYSTEM_CLOCK = SystemClock()
