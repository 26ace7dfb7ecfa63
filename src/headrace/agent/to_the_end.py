"""What must not be cut short once it has begun, such as keeping a run in its conversation.

The rule of this file: a cancellation waits until it is done, and is raised then; a second one does not wait, and it goes on by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

_GOING: Final[set[asyncio.Task[Any]]] = set()
"""What goes on although nobody waits for it: a loop alone does not hold its tasks."""


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do something to its end, also if the present task is cancelled meanwhile.

    Raises:
        asyncio.CancelledError: the present task was cancelled; the work is done (after a second cancellation it still goes on).
        Exception: what the work raised; a cancellation gives way to it, since it says that something was lost.
    """
    task = asyncio.create_task(work, name="headrace-to-the-end")
    _GOING.add(task)
    task.add_done_callback(_GOING.discard)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.shield(task)
        elif not task.cancelled():
            task.result()
        raise
