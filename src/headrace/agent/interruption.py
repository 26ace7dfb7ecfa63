"""An interruption from outside, told apart from a cancellation by somebody else.

The rule of this file: what a run waits for is given up by cancelling the task that waits; that cancellation is taken back, so that only those
of others reach the caller.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any


class Interruption:
    """Interrupts the steps of one run.

    Attributes:
        is_asked: somebody wants the run to end.
    """

    __slots__ = ("_cancelled_before", "_is_sent", "_waiter", "is_asked")

    def __init__(self) -> None:
        """Nobody has asked."""
        self.is_asked = False
        self._waiter: asyncio.Task[Any] | None = None
        self._is_sent = False
        self._cancelled_before = 0

    def ask(self) -> None:
        """End what the run waits for, and let its next step see it; from any thread."""
        self.is_asked = True
        waiter = self._waiter
        if waiter is not None and not _is_running(loop := waiter.get_loop()):
            with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
                loop.call_soon_threadsafe(self.ask)
            return
        # A callback of the step that runs just now must not cancel itself: the flag is looked at before the next step.
        if waiter is not None and not self._is_sent and waiter is not asyncio.current_task():
            self._is_sent = waiter.cancel()

    def enter(self) -> None:
        """The present task begins a step."""
        self._waiter = task = asyncio.current_task()
        # Not always 0: a task may clean up after a cancellation of its own, and run an agent for that.
        self._cancelled_before = 0 if task is None else task.cancelling()

    def leave(self) -> None:
        """The step is over; a cancellation that something inside kept to itself is taken back."""
        if self._is_sent:
            self.take_back()
        self._waiter = None

    def take_back(self) -> bool:
        """Take back the cancellation that `ask` sent; return whether there was one and no other."""
        task, self._waiter = self._waiter, None
        if not self._is_sent or task is None:
            return False
        self._is_sent = False
        return task.uncancel() <= self._cancelled_before


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether a loop runs in this very thread."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
