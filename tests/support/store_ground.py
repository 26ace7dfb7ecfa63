"""Stores to test with: a clock that is moved by hand, and shorthand for what tests put in."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from headrace.sessions.records import Batch, Entry, NewRun

START = datetime(2026, 5, 1, tzinfo=UTC)


class Clock:
    """A clock that goes on by a millisecond at each look, so that nothing happens twice at one time, and by more when told."""

    def __init__(self):
        self.time = START
        self._lock = threading.Lock()

    def __call__(self):
        with self._lock:
            self.time += timedelta(milliseconds=1)
            return self.time

    def advance(self, seconds):
        self.time += timedelta(seconds=seconds)


def entries(*seqs, size=0):
    return tuple(Entry(seq, b'{"n":%d}' % seq + b" " * size) for seq in seqs)


def batch(run_id, *seqs, epoch=1, after=None, size=0, **fields):
    """A batch with these numbers, right behind each other unless `after` says otherwise."""
    start = seqs[0] - 1 if after is None else after
    return Batch(run_id=run_id, epoch=epoch, after=start, entries=entries(*seqs, size=size), **fields)


async def started(store, run_id="r", **fields):
    """A run that was taken up by `me`."""
    await store.create_run(NewRun(id=run_id, **fields))
    return await store.claim(run_id, "me", epoch=0)


async def ended(store, run_id, *seqs, size=0, **fields):
    """A run that has ended."""
    await started(store, run_id, **fields)
    await store.append(batch(run_id, *(seqs or (1,)), size=size, status="ended", generate_reason="completed"))
