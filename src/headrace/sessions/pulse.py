"""What a worker does again and again: say that it lives, look for the dead, listen.

The rule of this file: each goes on at its own pace, whatever the others wait for, and no failure ends it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from headrace.errors import StoreError

LOG: Final = logging.getLogger("headrace.sessions")


class Pulse:
    """Tasks that do something every so many seconds."""

    def __init__(self) -> None:
        """Do nothing yet."""
        self._tasks: list[asyncio.Task[None]] = []

    def every(self, seconds: float, work: Callable[[], Awaitable[object]], name: str) -> None:
        """Do something every so many seconds, from then on."""
        self._tasks.append(asyncio.create_task(_beat(seconds, work), name=f"headrace-{name}"))

    async def stop(self) -> None:
        """End all of it."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _beat(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except StoreError as error:
            LOG.warning("the store cannot be reached: %s", error)
        except Exception:  # what ends here would end for good, and others would take this worker for dead
            LOG.exception("something went wrong beside the runs; they go on")
