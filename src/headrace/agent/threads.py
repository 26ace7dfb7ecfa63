"""Daemon threads for a stranger's synchronous code, only so many at a time.

Not the event loop's own executor: its threads are joined at exit, so one tool that hangs would keep the interpreter from
ending; and a hanging tool would take a place that others need (files, name look-ups). A thread that has done its work stays
for a while and is used again: starting one costs several times what a small tool does.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

MAX_THREADS: Final = 64
"""How many synchronous tools run at once in a process; a thread that hangs keeps its place."""
_IDLE_S: Final = 30.0

_Job: TypeAlias = "tuple[Callable[[], object], str]"
_Waiter: TypeAlias = "tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]"


class DaemonThreads:
    """Starts work in daemon threads; who comes when all places are taken waits, first come, first served.

    One of these serves any number of event loops.

    Attributes:
        limit: how many threads run at once.
    """

    def __init__(self, limit: int, *, idle_s: float = _IDLE_S) -> None:
        """Start without threads; one that has nothing to do for `idle_s` seconds ends."""
        self.limit = limit
        self._idle_s = idle_s
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()  # guards the three below
        self._free = self.limit
        self._idle: list[queue.SimpleQueue[_Job]] = []
        self._waiting: deque[_Waiter] = deque()

    async def start(self, work: Callable[[], object], name: str) -> None:
        """Wait for a place, start the work in a thread, and return. The place is free again when the work has ended.

        The work sees a copy of the caller's context variables; what it raises ends its thread and is not passed on.

        Args:
            work: what to do.
            name: what to call the thread meanwhile.

        Raises:
            RuntimeError: the system gives no more threads.
        """
        if os.getpid() != self._process:  # after a fork, the threads are in the other process
            self._begin()
        await self._take_place()
        context = contextvars.copy_context()
        job = ((lambda: context.run(work)), name)
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(job)
            return
        try:
            threading.Thread(target=self._serve, args=(job,), daemon=True).start()
        except BaseException:
            self._give_place()
            raise

    def _serve(self, job: _Job | None) -> None:
        inbox: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        while job is not None:
            work, threading.current_thread().name = job
            try:
                work()
            except BaseException:
                self._give_place()
                raise
            del work, job  # nothing of the job outlives it here
            with self._lock:
                self._idle.append(inbox)
            self._give_place()
            job = self._next(inbox)

    def _next(self, inbox: queue.SimpleQueue[_Job]) -> _Job | None:
        try:
            return inbox.get(timeout=self._idle_s)
        except queue.Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
            return inbox.get()  # it was chosen at this very moment

    async def _take_place(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            loop = asyncio.get_running_loop()
            waiter = (loop, loop.create_future())
            self._waiting.append(waiter)
        try:
            await waiter[1]
        except BaseException:
            with self._lock:
                is_granted = waiter not in self._waiting
                if not is_granted:
                    self._waiting.remove(waiter)
            if is_granted:  # the place came at the moment of the cancellation: pass it on
                self._give_place()
            raise

    def _give_place(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                loop, future = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(_grant, future)
            except RuntimeError:  # that loop is closed, and nobody waits there any more
                continue
            return


def _grant(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


THREADS: Final = DaemonThreads(MAX_THREADS)
"""The threads of this process."""
