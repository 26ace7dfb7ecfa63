"""How long, and how often, something is tried while the database is away.

The rule of this file: a step that is on its way is waited for, also when its caller is cancelled; the pauses between two tries are not.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final

from headrace.sessions.postgres.failures import will_pass
from headrace.sessions.sql.operation import T

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 1.0


class GoneError(Exception):
    """The database was away for longer than it is waited for.

    Attributes:
        error: what was said last.
        after_s: for how long it was tried.
    """

    def __init__(self, error: Exception, after_s: float) -> None:
        """Keep them."""
        super().__init__(str(error))
        self.error = error
        self.after_s = after_s


async def patiently(attempt: Callable[[], Awaitable[T]], *, for_s: float) -> T:
    """Try until it goes well.

    Raises:
        GoneError: it did not for so many seconds, though it may pass.
        Exception: what `attempt` raised, if it will not pass.
    """
    began = time.monotonic()
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return await _whole(attempt)
        except Exception as error:
            if not will_pass(error):
                raise
            if time.monotonic() - began + pause > for_s:
                raise GoneError(error, time.monotonic() - began) from error
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads the tries of many
        pause = min(pause * 2, _LONGEST_PAUSE_S)


async def _whole(attempt: Callable[[], Awaitable[T]]) -> T:
    """Carry out one try; whoever is cancelled meanwhile is so after it."""
    task = asyncio.ensure_future(attempt())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # it was asked for: nobody else will
        raise
