"""Ctrl-C while a run goes on: the first one interrupts the run, the second one leaves.

The rule of this file: what a first Ctrl-C ends is the run, not the program; what came is kept. Only where a second one comes is the task
cancelled, and a third one is Python's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType


class Interrupts:
    """How often Ctrl-C was pressed.

    Attributes:
        count: how often.
    """

    def __init__(self) -> None:
        """Count from 0."""
        self.count = 0

    @property
    def wants_to_leave(self) -> bool:
        """Whether it was pressed again after the run was asked to end."""
        return self.count > 1


@contextlib.contextmanager
def interrupting(interrupt: Callable[[], None]) -> Generator[Interrupts]:
    """Call `interrupt` in the event loop at the first Ctrl-C, and cancel the calling task at the second.

    Elsewhere than in the main thread Python gives no signals, and nothing is done.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        interrupts.count += 1
        if interrupts.count == 1:
            loop.call_soon_threadsafe(interrupt)
        elif interrupts.count == 2 and task is not None:
            loop.call_soon_threadsafe(task.cancel)
        else:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def plainly_interruptible() -> Generator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt` at once, where this thread waits for a line and no task could notice a cancellation."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
