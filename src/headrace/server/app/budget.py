"""What each key may use: requests in a minute, runs at once, tokens a day.

The rule of this file: nobody waits in a queue; who comes too early is told when to come again. Runs and tokens are counted by the store, so
all processes that serve it count the same, and a restart forgets nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from headrace.errors import NotFoundError
from headrace.server.app.faults import FaultError
from headrace.server.app.keys import Key
from headrace.server.app.views import end_of
from headrace.sessions.records import RunRecord
from headrace.sessions.store import Store

_MINUTE_S: Final = 60.0
_PAGE: Final = 500


class Rates:
    """Requests of the last minute, by key; the time comes in, in seconds of a clock that never goes back."""

    def __init__(self) -> None:
        """Begin with none."""
        self._begun: dict[str, deque[float]] = {}

    def enter(self, key: Key, now_s: float) -> None:
        """Count a request.

        Raises:
            FaultError: it is one too many.
        """
        if key.per_minute is None:
            return
        begun = self._begun.setdefault(key.name, deque())
        while begun and begun[0] <= now_s - _MINUTE_S:
            begun.popleft()
        if len(begun) >= key.per_minute:
            wait_s = begun[0] + _MINUTE_S - now_s
            raise FaultError("limit", f"this key may send {key.per_minute} requests in a minute", retry_after_s=wait_s)
        begun.append(now_s)


class _Day(msgspec.Struct):
    """What is known of one key's tokens of one day.

    Attributes:
        start: when the day began.
        tokens: by run, as far as it has come.
        seen: by run, the last event that was looked at; -1: it has ended, and is looked at no more.
    """

    start: datetime
    tokens: dict[str, int] = {}
    seen: dict[str, int] = {}


class Budget:
    """Looks at what the runs of a key use before another one begins or goes on."""

    def __init__(self, store: Store, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Know nothing yet.

        Args:
            store: where runs are.
            now: the time, in UTC.
        """
        self._store = store
        self._now = now
        self._days: dict[str, _Day] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def within(self, key: Key) -> AsyncGenerator[None]:
        """Begin a run in this block: those of one key one after the other, so that none slips in between the count and the beginning.

        Runs of keys without bounds do not wait for each other.

        Raises:
            FaultError: it would be one too many, or use tokens that are not left.
        """
        if not key.is_bounded:
            yield
            return
        async with self._locks.setdefault(key.name, asyncio.Lock()):
            await self._check(key)
            yield

    async def _check(self, key: Key) -> None:
        """Refuse a run that would be one too many, or would use tokens that are not left.

        Raises:
            FaultError: it would.
        """
        if key.max_runs is not None:
            working = await self._store.runs(user=key.name, statuses=("queued", "running"), limit=key.max_runs)
            if len(working) >= key.max_runs:
                raise FaultError(
                    "limit", f"this key has {key.max_runs} runs on their way, which is all that it may have at once", retry_after_s=1
                )
        if key.tokens_per_day is not None:
            used = await self.tokens_today(key)
            if used >= key.tokens_per_day:
                wait_s = (self._today() + timedelta(days=1) - self._now()).total_seconds()
                said = f"this key has used {used} of {key.tokens_per_day} tokens today"
                raise FaultError("limit", said, retry_after_s=wait_s)

    async def tokens_today(self, key: Key) -> int:
        """Return how many tokens the runs of a key have used that began today; of one that goes on, as much as it had at its last pause."""
        day = self._days.get(key.name)
        if day is None or day.start != self._today():
            day = self._days[key.name] = _Day(self._today())
        for run_id in [run_id for run_id, seen in day.seen.items() if seen >= 0]:  # those that went on when they were looked at last
            try:
                await self._look(day, await self._store.run(run_id))
            except NotFoundError:
                day.seen[run_id] = -1
        before: str | None = None
        while True:
            page = await self._store.runs(user=key.name, before=before, limit=_PAGE)
            new = [record for record in page if record.id not in day.seen and record.created_at >= day.start]
            for record in new:
                await self._look(day, record)
            if not new or len(page) < _PAGE:  # the older ones are known, or of another day
                break
            before = page[-1].id
        return sum(day.tokens.values())

    async def _look(self, day: _Day, record: RunRecord) -> None:
        if record.status in ("waiting", "ended") and day.seen.get(record.id) != record.last_seq:
            end = await end_of(self._store, record)
            if end is not None:
                day.tokens[record.id] = end.usage.total_tokens
        day.seen[record.id] = -1 if record.status == "ended" else record.last_seq

    def _today(self) -> datetime:
        return self._now().replace(hour=0, minute=0, second=0, microsecond=0)
