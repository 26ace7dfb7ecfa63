"""A store in memory: what it keeps lives as long as the process. For tests, demos and runs that need not outlive it.

The rule of this file: plain dictionaries, and no method waits in the middle of its step, so each is one step by itself. It is also the
model that the databases are compared with, so it shares with them only what is refused (`refusals.py`). One event loop uses it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from operator import attrgetter
from typing import Any, Final, Self

import msgspec

from headrace._json import dumps, freeze, loads
from headrace.messages.codec import encode_message
from headrace.messages.message import Message
from headrace.sessions import refusals
from headrace.sessions.memory_retention import Kept, older, oldest
from headrace.sessions.records import (
    Batch,
    Entry,
    NewRun,
    Removed,
    RunRecord,
    RunStatus,
    SessionRecord,
    Signal,
    Size,
    Worker,
)
from headrace.sessions.repair import loaded
from headrace.sessions.waiters import Waiters

_replace: Final = msgspec.structs.replace
_seq: Final = attrgetter("seq")


def _utc_now() -> datetime:
    return datetime.now(UTC)


class MemoryStore:
    """Keeps runs, logs and conversations in memory; see `Store`."""

    def __init__(self, *, now: Callable[[], datetime] = _utc_now) -> None:
        """Start empty.

        Args:
            now: the clock, in UTC.
        """
        self._now = now
        self._kept = Kept()
        self._signals: dict[int, Signal] = {}
        self._numbers = count(1)
        self._workers: dict[str, Worker] = {}
        self._waiters = Waiters()

    async def __aenter__(self) -> Self:
        """Open it: nothing has to be done."""
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close it; what it keeps stays until it is forgotten itself."""

    # ------------------------------------------------------------------------------------------ runs

    async def create_run(self, run: NewRun) -> RunRecord:
        """Keep a new run; see `Store`."""
        refusals.check_texts(id=run.id, session_id=run.session_id, user=run.user)
        if run.id in self._kept.runs:
            raise refusals.run_exists(run.id)
        now = self._now()
        record = RunRecord(
            **msgspec.structs.asdict(run),
            status="queued",
            generate_reason=None,
            epoch=0,
            owner=None,
            last_seq=0,
            checkpoint=None,
            checkpoint_seq=0,
            created_at=now,
            updated_at=now,
        )
        self._kept.runs[run.id], self._kept.logs[run.id] = record, []
        return record

    async def run(self, run_id: str) -> RunRecord:
        """Return a run; see `Store`."""
        return self._run(run_id)

    def _run(self, run_id: str) -> RunRecord:
        if run_id not in self._kept.runs:
            raise refusals.no_run(run_id)
        return self._kept.runs[run_id]

    async def runs(
        self,
        *,
        user: str | None = None,
        session_id: str | None = None,
        statuses: Sequence[RunStatus] = (),
        owner: str | None = None,
        unchanged_s: float | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> tuple[RunRecord, ...]:
        """Return runs, the newest first; see `Store`."""
        last = None if before is None else self._run(before)
        until = None if unchanged_s is None else self._now() - timedelta(seconds=unchanged_s)
        found = [
            run
            for run in self._kept.runs.values()
            if (user is None or run.user == user)
            and (session_id is None or run.session_id == session_id)
            and (not statuses or run.status in statuses)
            and (owner is None or run.owner == owner)
            and (until is None or run.updated_at <= until)
            and (last is None or (run.created_at, run.id) < (last.created_at, last.id))
        ]
        found.sort(key=lambda run: (run.created_at, run.id), reverse=True)
        return tuple(found[:limit])

    async def claim(self, run_id: str, owner: str, *, epoch: int) -> RunRecord:
        """Take a run up; see `Store`."""
        refusals.check_texts(owner=owner)
        run = self._run(run_id)
        refusals.check_claim(run_id, wanted=epoch, epoch=run.epoch, status=run.status)
        run = _replace(run, status="running", generate_reason=None, owner=owner, epoch=epoch + 1, updated_at=self._now())
        self._kept.runs[run_id] = run
        self._waiters.wake([run_id])
        return run

    async def append(self, batch: Batch) -> None:
        """Add to a run's log; see `Store`."""
        refusals.check_batch(batch)
        refusals.check_texts(generate_reason=batch.generate_reason)
        run, log = self._run(batch.run_id), self._kept.logs[batch.run_id]
        present = log[bisect_right(log, batch.after, key=_seq) : bisect_right(log, batch.last_seq, key=_seq)]
        if refusals.is_written(batch, epoch=run.epoch, status=run.status, last_seq=run.last_seq, present=present):
            return
        log += batch.entries
        changes: dict[str, Any] = {"last_seq": batch.last_seq, "updated_at": self._now()}
        if batch.checkpoint is not None:
            changes |= {"checkpoint": batch.checkpoint, "checkpoint_seq": batch.last_seq}
        if batch.status is not None:
            changes |= {"status": batch.status, "generate_reason": batch.generate_reason}
        self._kept.runs[run.id] = _replace(run, **changes)
        self._waiters.wake([run.id])

    async def entries(self, run_id: str, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Return events; see `Store`."""
        log = self._kept.logs.get(run_id, [])
        start = bisect_right(log, after, key=_seq)
        return tuple(log[start : start + limit])

    async def changed(self, run_id: str, after: int, timeout_s: float) -> None:
        """Wait for news of a run; see `Store`."""
        with self._waiters.entered(run_id) as waiter:
            run = self._kept.runs.get(run_id)
            if run is None or run.last_seq <= after:
                await waiter.wait(timeout_s)

    async def delete_run(self, run_id: str) -> bool:
        """Delete a run; see `Store`."""
        return self._delete_runs([run_id]) > 0

    def _delete_runs(self, run_ids: Iterable[str]) -> int:
        gone = {run_id for run_id in run_ids if self._kept.runs.pop(run_id, None) is not None}
        for run_id in gone:
            del self._kept.logs[run_id]
        self._signals = {number: signal for number, signal in self._signals.items() if signal.run_id not in gone}
        self._waiters.wake(gone)
        return len(gone)

    # ------------------------------------------------------------------------------------------ signals

    async def signal(self, run_id: str, kind: str, data: bytes = b"null") -> int:
        """Say something to a run; see `Store`."""
        refusals.check_texts(kind=kind)
        self._run(run_id)
        number = next(self._numbers)
        self._signals[number] = Signal(id=number, run_id=run_id, kind=kind, data=data)
        return number

    async def signals(self, run_ids: Sequence[str], after: int = 0) -> tuple[Signal, ...]:
        """Return what was said to runs; see `Store`."""
        wanted = set(run_ids)
        return tuple(signal for number, signal in self._signals.items() if number > after and signal.run_id in wanted)

    async def forget_signals(self, ids: Sequence[int]) -> None:
        """Delete signals; see `Store`."""
        for number in ids:
            self._signals.pop(number, None)

    # ------------------------------------------------------------------------------------------ workers

    async def beat(self, worker_id: str) -> None:
        """Say that a worker lives; see `Store`."""
        refusals.check_texts(worker_id=worker_id)
        known = self._workers.get(worker_id)
        beats, started_at = (known.beats, known.started_at) if known else (0, self._now())
        self._workers[worker_id] = Worker(id=worker_id, beats=beats + 1, started_at=started_at)

    async def workers(self) -> tuple[Worker, ...]:
        """Return the workers; see `Store`."""
        return tuple(sorted(self._workers.values(), key=attrgetter("id")))

    async def forget_worker(self, worker_id: str) -> None:
        """Strike a worker out; see `Store`."""
        self._workers.pop(worker_id, None)

    # ------------------------------------------------------------------------------------------ once only

    async def take(self, run_id: str, seq: int) -> bool:
        """Take a state up; see `Store`."""
        refusals.check_texts(run_id=run_id)
        if (run_id, seq) in self._kept.taken:
            return False
        self._kept.taken[run_id, seq] = self._now()
        return True

    async def give_back(self, run_id: str, seq: int) -> None:
        """Undo a `take`; see `Store`."""
        self._kept.taken.pop((run_id, seq), None)

    async def once(self, key: str, work: Callable[[Any], Any]) -> Any:
        """Do something once; see `Store`."""
        refusals.check_texts(key=key)
        if key not in self._kept.done:
            result = dumps(freeze(work(None), "result"))
            self._kept.done[key] = (result, self._now())
        return loads(self._kept.done[key][0])

    # ------------------------------------------------------------------------------------------ conversations

    async def begin(self, session_id: str, run_id: str, *, user: str = "") -> tuple[Message, ...]:
        """Return a conversation and hold it; see `Store`."""
        refusals.check_texts(session_id=session_id, run_id=run_id, user=user)
        record = self._kept.sessions.get(session_id)
        if record is None:
            record = self._put(session_id, (), user=user, title="", forked_from=None)
        refusals.check_holder(session_id, run_id=run_id, holder=record.holder)
        self._kept.sessions[session_id] = _replace(record, holder=run_id)
        return loaded(session_id, self._kept.messages[session_id])

    async def commit(self, session_id: str, run_id: str, added: Sequence[Message], *, epoch: int | None = None) -> None:
        """Append what a run added, and let go; see `Store`."""
        rows = [encode_message(message) for message in added]
        refusals.check_texts(run_id=run_id)
        if epoch is not None:
            refusals.check_epoch(run_id, wanted=epoch, epoch=self._run(run_id).epoch)
        record = self._kept.sessions.get(session_id)
        if record is None:
            if rows:
                raise refusals.no_session(session_id)
            return
        if record.holder == run_id:
            record = _replace(record, holder=None)
        if rows and (session_id, run_id) not in self._kept.commits:
            self._kept.commits.add((session_id, run_id))
            self._kept.messages[session_id] += rows
            record = _replace(record, messages=len(self._kept.messages[session_id]), updated_at=self._now())
        self._kept.sessions[session_id] = record

    async def session(self, session_id: str) -> SessionRecord:
        """Return a conversation; see `Store`."""
        return self._session(session_id)

    def _session(self, session_id: str) -> SessionRecord:
        if session_id not in self._kept.sessions:
            raise refusals.no_session(session_id)
        return self._kept.sessions[session_id]

    async def sessions(self, *, user: str | None = None, before: str | None = None, limit: int = 100) -> tuple[SessionRecord, ...]:
        """Return conversations, the last changed first; see `Store`."""
        last = None if before is None else self._session(before)
        found = [
            one
            for one in self._kept.sessions.values()
            if (user is None or one.user == user) and (last is None or (one.updated_at, one.id) < (last.updated_at, last.id))
        ]
        found.sort(key=lambda one: (one.updated_at, one.id), reverse=True)
        return tuple(found[:limit])

    async def messages(self, session_id: str, after: int = 0, limit: int | None = None) -> tuple[bytes, ...]:
        """Return the messages of a conversation; see `Store`."""
        self._session(session_id)
        return tuple(self._kept.messages[session_id][after : None if limit is None else after + limit])

    async def put_session(
        self, session_id: str, messages: Sequence[bytes], *, user: str = "", title: str = "", forked_from: str | None = None
    ) -> SessionRecord:
        """Make a conversation; see `Store`."""
        refusals.check_texts(session_id=session_id, user=user, title=title, forked_from=forked_from)
        if session_id in self._kept.sessions:
            raise refusals.session_exists(session_id)
        return self._put(session_id, messages, user=user, title=title, forked_from=forked_from)

    def _put(self, session_id: str, messages: Sequence[bytes], **about: Any) -> SessionRecord:
        now = self._now()
        record = SessionRecord(id=session_id, messages=len(messages), holder=None, created_at=now, updated_at=now, **about)
        self._kept.sessions[session_id], self._kept.messages[session_id] = record, list(messages)
        return record

    async def set_title(self, session_id: str, title: str) -> None:
        """Say what a conversation is about; see `Store`."""
        refusals.check_texts(title=title)
        self._kept.sessions[session_id] = _replace(self._session(session_id), title=title, updated_at=self._now())

    async def delete_session(self, session_id: str) -> bool:
        """Delete a conversation and its runs; see `Store`."""
        return self._delete([session_id], self._kept.runs_of(session_id)).sessions > 0

    # ------------------------------------------------------------------------------------------ retention

    def _delete(self, session_ids: Iterable[str], run_ids: Iterable[str]) -> Removed:
        gone = {one for one in session_ids if self._kept.sessions.pop(one, None) is not None}
        for session_id in gone:
            del self._kept.messages[session_id]
        self._kept.commits = {(session_id, run_id) for session_id, run_id in self._kept.commits if session_id not in gone}
        return Removed(sessions=len(gone), runs=self._delete_runs(run_ids))

    async def delete_user(self, user: str) -> Removed:
        """Delete everything of one user; see `Store`."""
        refusals.check_user(user)
        session_ids = [one.id for one in self._kept.sessions.values() if one.user == user]
        run_ids = [run.id for run in self._kept.runs.values() if run.user == user or run.session_id in session_ids]
        return self._delete(session_ids, run_ids)

    async def delete_older(self, age_s: float) -> Removed:
        """Delete what has not changed for long; see `Store`."""
        return self._delete(*older(self._kept, self._now(), age_s))

    async def delete_oldest(self, max_bytes: int) -> Removed:
        """Delete the longest unchanged until so much is left; see `Store`."""
        return self._delete(*oldest(self._kept, max_bytes))

    async def size(self) -> Size:
        """Return how much is held; see `Store`."""
        return Size(sessions=len(self._kept.sessions), runs=len(self._kept.runs), bytes=self._kept.bytes())
