"""The methods of a store over SQL: each is one operation, carried out by the database's own driver.

The rule of this file: no SQL, no connection; what is wrong by itself is refused before the database is asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from headrace.messages.codec import encode_message
from headrace.messages.message import Message
from headrace.sessions import refusals
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
from headrace.sessions.sql import conversations, notes, retention, runs
from headrace.sessions.sql.operation import Make, T


class SqlStore(ABC):
    """What SQLite and PostgreSQL have in common; see `Store` for what each method promises."""

    @abstractmethod
    async def _write(self, make: Make[T], *, is_alone: bool = False) -> T:
        """Carry out an operation that writes, in one transaction, and return its result once it is kept.

        Args:
            make: begins it.
            is_alone: whether nothing else may be in the same transaction.
        """

    @abstractmethod
    async def _read(self, make: Make[T]) -> T:
        """Carry out an operation that only reads."""

    @abstractmethod
    async def _free_room(self) -> None:
        """Give room that is free now back to the disk, if the database does not by itself."""

    # ------------------------------------------------------------------------------------------ runs

    async def create_run(self, run: NewRun) -> RunRecord:
        """Keep a new run; see `Store`."""
        refusals.check_texts(id=run.id, session_id=run.session_id, user=run.user)
        return await self._write(partial(runs.create_run, run))

    async def run(self, run_id: str) -> RunRecord:
        """Return a run; see `Store`."""
        refusals.check_texts(run_id=run_id)
        return await self._read(partial(runs.get_run, run_id))

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
        refusals.check_texts(user=user, session_id=session_id, owner=owner, before=before)
        conditions: dict[str, Any] = {"user": user, "session_id": session_id, "statuses": list(statuses) or None, "owner": owner}
        conditions["age_us"] = None if unchanged_s is None else round(unchanged_s * 1_000_000)
        return await self._read(partial(runs.list_runs, conditions, before=before, limit=limit))

    async def claim(self, run_id: str, owner: str, *, epoch: int) -> RunRecord:
        """Take a run up; see `Store`."""
        refusals.check_texts(run_id=run_id, owner=owner)
        return await self._write(partial(runs.claim, run_id, owner, epoch))

    async def append(self, batch: Batch) -> None:
        """Add to a run's log; see `Store`."""
        refusals.check_batch(batch)
        refusals.check_texts(run_id=batch.run_id, generate_reason=batch.generate_reason)
        await self._write(partial(runs.append, batch))

    async def entries(self, run_id: str, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Return events; see `Store`."""
        refusals.check_texts(run_id=run_id)
        return await self._read(partial(runs.get_entries, run_id, after, limit))

    async def delete_run(self, run_id: str) -> bool:
        """Delete a run; see `Store`."""
        refusals.check_texts(run_id=run_id)
        return await self._write(partial(runs.delete_runs, [run_id])) > 0

    # ------------------------------------------------------------------------------------------ signals

    async def signal(self, run_id: str, kind: str, data: bytes = b"null") -> int:
        """Say something to a run; see `Store`."""
        refusals.check_texts(run_id=run_id, kind=kind)
        return await self._write(partial(notes.signal, run_id, kind, data))

    async def signals(self, run_ids: Sequence[str], after: int = 0) -> tuple[Signal, ...]:
        """Return what was said to runs; see `Store`."""
        return await self._read(partial(notes.get_signals, run_ids, after)) if run_ids else ()

    async def forget_signals(self, ids: Sequence[int]) -> None:
        """Delete signals; see `Store`."""
        if ids:
            await self._write(partial(notes.forget_signals, ids))

    # ------------------------------------------------------------------------------------------ workers

    async def beat(self, worker_id: str) -> None:
        """Say that a worker lives; see `Store`."""
        refusals.check_texts(worker_id=worker_id)
        await self._write(partial(notes.beat, worker_id))

    async def workers(self) -> tuple[Worker, ...]:
        """Return the workers; see `Store`."""
        return await self._read(notes.get_workers)

    async def forget_worker(self, worker_id: str) -> None:
        """Strike a worker out; see `Store`."""
        refusals.check_texts(worker_id=worker_id)
        await self._write(partial(notes.forget_worker, worker_id))

    # ------------------------------------------------------------------------------------------ once only

    async def take(self, run_id: str, seq: int) -> bool:
        """Take a state up; see `Store`."""
        refusals.check_texts(run_id=run_id)
        return await self._write(partial(notes.take, run_id, seq))

    async def give_back(self, run_id: str, seq: int) -> None:
        """Undo a `take`; see `Store`."""
        refusals.check_texts(run_id=run_id)
        await self._write(partial(notes.give_back, run_id, seq))

    async def once(self, key: str, work: Callable[[Any], Any]) -> Any:
        """Do something once; see `Store`."""
        refusals.check_texts(key=key)
        return await self._write(partial(notes.once, key, work), is_alone=True)

    # ------------------------------------------------------------------------------------------ conversations

    async def begin(self, session_id: str, run_id: str, *, user: str = "") -> tuple[Message, ...]:
        """Return a conversation and hold it; see `Store`."""
        refusals.check_texts(session_id=session_id, run_id=run_id, user=user)
        return loaded(session_id, await self._write(partial(conversations.begin, session_id, run_id, user)))

    async def commit(self, session_id: str, run_id: str, added: Sequence[Message], *, epoch: int | None = None) -> None:
        """Append what a run added, and let go; see `Store`."""
        refusals.check_texts(session_id=session_id, run_id=run_id)
        rows = [encode_message(message) for message in added]
        await self._write(partial(conversations.commit, session_id, run_id, rows, epoch))

    async def session(self, session_id: str) -> SessionRecord:
        """Return a conversation; see `Store`."""
        refusals.check_texts(session_id=session_id)
        return await self._read(partial(conversations.get_session, session_id))

    async def sessions(self, *, user: str | None = None, before: str | None = None, limit: int = 100) -> tuple[SessionRecord, ...]:
        """Return conversations, the last changed first; see `Store`."""
        refusals.check_texts(user=user, before=before)
        return await self._read(partial(conversations.list_sessions, user=user, before=before, limit=limit))

    async def messages(self, session_id: str, after: int = 0, limit: int | None = None) -> tuple[bytes, ...]:
        """Return the messages of a conversation; see `Store`."""
        refusals.check_texts(session_id=session_id)
        return await self._read(partial(conversations.get_messages, session_id, after, limit))

    async def put_session(
        self, session_id: str, messages: Sequence[bytes], *, user: str = "", title: str = "", forked_from: str | None = None
    ) -> SessionRecord:
        """Make a conversation; see `Store`."""
        refusals.check_texts(session_id=session_id, user=user, title=title, forked_from=forked_from)
        make = partial(conversations.put_session, session_id, messages, user=user, title=title, forked_from=forked_from)
        return await self._write(make)

    async def set_title(self, session_id: str, title: str) -> None:
        """Say what a conversation is about; see `Store`."""
        refusals.check_texts(session_id=session_id, title=title)
        await self._write(partial(conversations.set_title, session_id, title))

    async def delete_session(self, session_id: str) -> bool:
        """Delete a conversation and its runs; see `Store`."""
        refusals.check_texts(session_id=session_id)
        return await self._write(partial(retention.delete_session, session_id))

    # ------------------------------------------------------------------------------------------ retention

    async def delete_user(self, user: str) -> Removed:
        """Delete everything of one user; see `Store`."""
        refusals.check_user(user)
        return await self._until_done(partial(retention.delete_of_user, user))

    async def delete_older(self, age_s: float) -> Removed:
        """Delete what has not changed for long; see `Store`."""
        until = await self._write(partial(retention.age_limit, age_s))
        return await self._until_done(partial(retention.delete_older, until))

    async def delete_oldest(self, max_bytes: int) -> Removed:
        """Delete the longest unchanged until so much is left; see `Store`."""
        return await self._until_done(partial(retention.delete_oldest, max_bytes))

    async def _until_done(self, make: Make[Removed]) -> Removed:
        sessions = runs_ = 0
        while (step := await self._write(make)) != Removed():
            sessions, runs_ = sessions + step.sessions, runs_ + step.runs
        await self._free_room()
        return Removed(sessions=sessions, runs=runs_)

    async def size(self) -> Size:
        """Return how much is held; see `Store`."""
        return await self._read(retention.get_size)
