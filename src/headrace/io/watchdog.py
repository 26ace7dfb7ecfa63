"""The limits on waiting for one answer, kept by one timer handle, whatever the number of reads.

The rule of this file: a read sets a time stamp and no timer. The one handle looks at the stamp when the earliest limit could have
run out, and moves on if bytes came. A limit runs only while somebody waits for the peer, so a slow reader is never taken for a
slow peer (`total_s` apart, which is a limit on everything).

A wait that is too long ends by cancelling the waiting task, in the way of `asyncio.timeout`: a cancellation from elsewhere always wins.
"""

from __future__ import annotations

import asyncio
from math import inf

from headrace.errors import StreamTimeoutError, TimeoutStage
from headrace.io.transport import Timeouts

_HELP: dict[TimeoutStage, str] = {
    "connect": "no connection after {} s",
    "first_chunk": "no first bytes of the answer after {} s; a model that thinks for long needs a larger first_chunk_s",
    "idle": "no bytes for {} s, after {} chunks; the peer stalled, or idle_s is too small for it",
    "total": "the answer was not whole after {} s, with {} chunks so far; total_s bounds the whole answer",
}


def timeout_error(what: str, stage: TimeoutStage, limit_s: float, *, chunks: int = 0) -> StreamTimeoutError:
    """The error for a limit that ran out; `what` names the request, without secrets."""
    return StreamTimeoutError(f"{what}: {_HELP[stage].format(f'{limit_s:g}', chunks)}", stage=stage, timeout_s=limit_s, chunks=chunks)


class Watchdog:
    """Watches the waits of one answer: `begin` before each, then `answered`, `got_chunk` or `ended_by`.

    The total limit runs from the construction.

    Attributes:
        chunks: how many pieces came.
        is_waiting: whether somebody waits for the peer now.
    """

    def __init__(self, timeouts: Timeouts, what: str) -> None:
        """Watch for `timeouts`; `what` names the request in errors, without secrets."""
        self.chunks = 0
        self.is_waiting = False
        self._what = what
        self._loop = asyncio.get_running_loop()
        self._first_chunk_s = inf if timeouts.first_chunk_s is None else timeouts.first_chunk_s
        self._idle_s = inf if timeouts.idle_s is None else timeouts.idle_s
        self._total_s = inf if timeouts.total_s is None else timeouts.total_s
        self._total_at = self._loop.time() + self._total_s
        self._allowed_s = self._first_chunk_s  # how long the present wait, or the next, may be
        self._began = 0.0
        self._task: asyncio.Task[object] | None = None
        self._cancels_before = 0
        self._handle: asyncio.Handle | None = None
        self._ran_out: TimeoutStage | None = None

    def begin(self) -> None:
        """A wait for the peer begins, in the current task.

        Raises:
            StreamTimeoutError: the total limit ran out while nobody waited.
        """
        now = self._loop.time()
        if now >= self._total_at:
            raise timeout_error(self._what, "total", self._total_s, chunks=self.chunks)
        task = asyncio.current_task(self._loop)
        assert task is not None, "a coroutine that waits runs in a task"
        self._task = task
        self._cancels_before = task.cancelling()
        self._began = now
        self.is_waiting = True
        if self._handle is None:
            self._arm()

    def answered(self) -> None:
        """The status and headers came; the time they took counts towards the first chunk."""
        self.is_waiting = False
        self._allowed_s -= self._loop.time() - self._began

    def got_chunk(self) -> None:
        """Bytes of the body came."""
        self.is_waiting = False
        self.chunks += 1
        if self.chunks == 1:
            # The handle may be set to the first chunk's limit, which can be far beyond the idle limit.
            self._allowed_s = self._idle_s
            self.stop()

    def got_more(self) -> None:
        """Bytes came, and the wait for more of them goes on."""
        self._began = self._loop.time()
        self.chunks += 1
        if self.chunks == 1:
            self._allowed_s = self._idle_s
            self.stop()
            self._arm()

    def ended_by(self, error: BaseException) -> StreamTimeoutError | None:
        """The wait ended by an exception: the error to raise in its place if it was a limit that ended it, else None."""
        self.is_waiting = False
        if self._ran_out is None or self._task is None or not isinstance(error, asyncio.CancelledError):
            return None
        stage, self._ran_out = self._ran_out, None
        if self._task.uncancel() > self._cancels_before:
            return None
        limits: dict[TimeoutStage, float] = {"first_chunk": self._first_chunk_s, "idle": self._idle_s, "total": self._total_s}
        return timeout_error(self._what, stage, limits[stage], chunks=self.chunks)

    def stop(self) -> None:
        """Let go of the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _limit_at(self) -> float:
        # Without a wait, the next one can begin at once and then has its whole time before it.
        began = self._began if self.is_waiting else self._loop.time()
        return min(began + self._allowed_s, self._total_at)

    def _arm(self) -> None:
        at = self._limit_at()
        if at < inf:
            self._handle = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        self._handle = None
        now = self._loop.time()
        if self.is_waiting and now >= self._limit_at():
            # After a pause of the whole loop (a long computation) bytes may lie in the socket, with the reader about to wake:
            # it gets its turn before this is decided.
            self._handle = self._loop.call_soon(self._decide, self._began)
        elif now < self._total_at:
            self._arm()

    def _decide(self, began: float) -> None:
        self._handle = None
        if not self.is_waiting or self._began != began or self._task is None:
            self._arm()
            return
        self._ran_out = "total" if self._total_at <= began + self._allowed_s else "first_chunk" if self.chunks == 0 else "idle"
        self._task.cancel()
