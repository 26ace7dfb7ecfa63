"""Run a coroutine from synchronous code, also where an event loop is running already.

The library is async only. Its few synchronous entry points come through here, and nothing else in it starts a
loop. The rule of this file: every loop and thread that it starts has ended when `run` returns.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result, or raise what it raised.

    The coroutine gets a loop of its own. Where the calling thread runs a loop already (Jupyter, an async test), that
    loop is in a fresh thread, and the caller's loop stands still until the result is there. The coroutine sees a copy
    of the caller's context variables; what it sets there stays its own.

    Args:
        coroutine: What to run; it must not wait for anything of the caller's loop, which stands still.

    Returns:
        What the coroutine returned.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed. The coroutine was cancelled and has ended (its `finally` blocks ran). A
            second Ctrl-C does not wait for that.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_to_end(coroutine)
    return _Elsewhere(coroutine).result()


def _run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    # The factory keeps the runner from replacing, and then removing, a loop that the caller has set for this thread.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(coroutine)


class _Elsewhere(Generic[T]):
    """One coroutine on its way through a loop in a thread of its own."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._outcome: Future[T] = Future()
        # The lock guards the two below: a cancel may come before the task exists and after it has ended.
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    def result(self) -> T:
        """Start the thread, wait for it to end, and give the outcome."""
        context = contextvars.copy_context()
        # A daemon, so that a coroutine that hangs in its clean-up cannot keep the interpreter alive after a second Ctrl-C.
        thread = threading.Thread(target=context.run, args=(self._work,), name="headrace-sync", daemon=True)
        # It waits for the outcome, not in `join`: in Python 3.11 a `join` that Ctrl-C broke takes the thread for ended.
        try:
            thread.start()
            wait((self._outcome,))
        except BaseException:
            self._cancel()
            if thread.ident is None:
                self._coroutine.close()
            else:
                wait((self._outcome,))
                thread.join()
            raise
        thread.join()
        return self._outcome.result()

    def _work(self) -> None:
        try:
            result = _run_to_end(self._supervised())
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread, whatever it is
            self._outcome.set_exception(error)
        else:
            self._outcome.set_result(result)

    async def _supervised(self) -> T:
        with self._lock:
            self._task = asyncio.current_task()
            if self._is_cancelled:
                self._coroutine.close()
                raise asyncio.CancelledError
        try:
            return await self._coroutine
        finally:
            with self._lock:
                self._task = None

    def _cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
