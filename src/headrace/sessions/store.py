"""What a store of runs and conversations must do: one small interface, kept by memory, SQLite and PostgreSQL alike.

The rule of this file: a method is one step that is done whole or not at all, and when it has returned, what it wrote is kept: a process
that dies afterwards loses none of it. What goes beyond one step (coalescing, tails, recovery, repair) is written once, over this interface.

Errors of all methods: `StoreError` if the store cannot do its work (the disk is full, the database has been gone for longer than the
store waits, a file is corrupt): the message says which, and what helps; nothing was written. `UsageError` for a text (an id, a name, a title)
that not every database can hold: with a zero byte, or half of a surrogate pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from headrace.messages.message import Message
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


class Store(Protocol):
    """Keeps runs, their logs and conversations. Use it as `async with`; all methods may be called side by side."""

    async def __aenter__(self) -> Self:
        """Open it: connect, and bring the schema up to date.

        Raises:
            SchemaVersionError: a later version of headrace wrote it.
        """
        ...

    async def __aexit__(self, *exc_info: object) -> None:
        """Write what is on its way and close."""
        ...

    # ------------------------------------------------------------------------------------------ runs

    async def create_run(self, run: NewRun) -> RunRecord:
        """Keep a new run, as `queued`, with epoch 0 and no owner.

        Raises:
            ConflictError: there is a run of this id.
        """
        ...

    async def run(self, run_id: str) -> RunRecord:
        """Return a run.

        Raises:
            NotFoundError: there is none.
        """
        ...

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
        """Return runs, the newest first (by creation, then id); each condition that is given must hold.

        Args:
            user: whose they are.
            session_id: the conversation.
            statuses: one of these; empty: any.
            owner: who took them up last.
            unchanged_s: they have not changed for so many seconds, by the store's own clock.
            before: the id of a run: only older ones, to go on with a list.
            limit: at most so many.

        Raises:
            NotFoundError: there is no run `before`.
        """
        ...

    async def claim(self, run_id: str, owner: str, *, epoch: int) -> RunRecord:
        """Take a run up: its epoch goes up by one, it is `running`, and from now on only the new epoch may write.

        Args:
            run_id: the run.
            owner: who takes it up.
            epoch: the one it must have now; whoever saw an older state of the run loses.

        Raises:
            ConflictError: it has another epoch, or has ended.
            NotFoundError: there is no such run.
        """
        ...

    async def append(self, batch: Batch) -> None:
        """Add to a run's log. A batch that was written already, as after a connection that died before it said so, does no harm.

        Raises:
            ConflictError: another epoch holds the run (`FencedError`), the log does not end where the batch begins, or the run has ended:
                nothing follows the end.
            NotFoundError: there is no such run.
            UsageError: the numbers of the events do not grow.
        """
        ...

    async def entries(self, run_id: str, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Return up to `limit` events with numbers above `after`, in order; of a run that is not there none."""
        ...

    async def changed(self, run_id: str, after: int, timeout_s: float) -> None:
        """Wait until the log of a run has an event above `after`, its status may have changed, or so many seconds have passed.

        It may return early; whoever waits looks again. A writer in another process is noticed as well, within 50 ms where the
        database can be reached.
        """
        ...

    async def delete_run(self, run_id: str) -> bool:
        """Delete a run, its log and its signals; returns whether there was one."""
        ...

    # ------------------------------------------------------------------------------------------ signals

    async def signal(self, run_id: str, kind: str, data: bytes = b"null") -> int:
        """Say something to a run; returns the number of the signal.

        Raises:
            NotFoundError: there is no such run.
        """
        ...

    async def signals(self, run_ids: Sequence[str], after: int = 0) -> tuple[Signal, ...]:
        """Return what was said to these runs with numbers above `after`, in order."""
        ...

    async def forget_signals(self, ids: Sequence[int]) -> None:
        """They were heard: delete them."""
        ...

    # ------------------------------------------------------------------------------------------ workers

    async def beat(self, worker_id: str) -> None:
        """Say that a worker lives; the first time it is entered."""
        ...

    async def workers(self) -> tuple[Worker, ...]:
        """Return the workers that are entered."""
        ...

    async def forget_worker(self, worker_id: str) -> None:
        """Strike a worker out: it has left, or is dead."""
        ...

    # ------------------------------------------------------------------------------------------ once only

    async def take(self, run_id: str, seq: int) -> bool:
        """Take a state of a run up, as `agent.claims.Claims` wants it; returns whether nobody had."""
        ...

    async def give_back(self, run_id: str, seq: int) -> None:
        """Undo a `take`, because nothing happened."""
        ...

    async def once(self, key: str, work: Callable[[Any], Any]) -> Any:
        """Do something in the database exactly once: what it writes and the note that it was done are kept in one transaction.

        Args:
            key: names it, such as a call's `call_key`.
            work: gets the connection, inside of a transaction: SQLite's `sqlite3.Connection` (and is a plain function, called in the
                writer's thread), PostgreSQL's `psycopg.AsyncConnection` (and is async); memory gives None (plain). Must not commit.
                Returns a JSON value. If it raises, nothing is kept and the error passes through. On PostgreSQL it begins anew if it asked
                the database nothing for a while (`standstill_s`).

        Returns:
            What `work` returned, now or when it was done before, as it comes out of JSON.

        Raises:
            UsageError: the result is no JSON value, or `work` committed; nothing is kept, as far as it is in the store's hands.
        """
        ...

    # ------------------------------------------------------------------------------------------ conversations

    async def begin(self, session_id: str, run_id: str, *, user: str = "") -> tuple[Message, ...]:
        """Return a conversation and hold it for a run, which may hold it already; one that is not there is made, for this user.

        A message that cannot be read is left out, and stays in the store; a log line says so (see `repair.py`).

        Raises:
            ConflictError: another run holds it.
        """
        ...

    async def commit(self, session_id: str, run_id: str, added: Sequence[Message], *, epoch: int | None = None) -> None:
        """Append what a run added, and let go if the run holds it. The same run's second commit of a conversation adds nothing.

        An empty `added` only lets go, and does not count as the commit. With `epoch` the run must be kept here and have that one, in the
        same step.

        Raises:
            FencedError: the run has another epoch: somebody else has taken it over.
            NotFoundError: the conversation was deleted meanwhile, and something was added; or `epoch` is given, and the run is not there.
        """
        ...

    async def session(self, session_id: str) -> SessionRecord:
        """Return a conversation.

        Raises:
            NotFoundError: there is none.
        """
        ...

    async def sessions(self, *, user: str | None = None, before: str | None = None, limit: int = 100) -> tuple[SessionRecord, ...]:
        """Return conversations, the last changed first (then by id); `before` is the id of one: only those behind it in this order.

        A conversation changes when it gets messages or a title; to be held is no change.

        Raises:
            NotFoundError: there is no conversation `before`.
        """
        ...

    async def messages(self, session_id: str, after: int = 0, limit: int | None = None) -> tuple[bytes, ...]:
        """Return the messages of a conversation as JSON, from the (after + 1)th on.

        Raises:
            NotFoundError: there is none.
        """
        ...

    async def put_session(
        self, session_id: str, messages: Sequence[bytes], *, user: str = "", title: str = "", forked_from: str | None = None
    ) -> SessionRecord:
        """Make a conversation with these messages.

        Raises:
            ConflictError: there is one of this id.
        """
        ...

    async def set_title(self, session_id: str, title: str) -> None:
        """Say what a conversation is about.

        Raises:
            NotFoundError: there is none.
        """
        ...

    async def delete_session(self, session_id: str) -> bool:
        """Delete a conversation, its runs and their logs; returns whether there was one."""
        ...

    # ------------------------------------------------------------------------------------------ retention
    # These three go in small steps, so that nobody who writes waits for long: each step is whole, and what was deleted before one that
    # fails stays deleted.

    async def delete_user(self, user: str) -> Removed:
        """Delete everything of one user: conversations, runs, logs, signals. Not for the user "", who is nobody."""
        ...

    async def delete_older(self, age_s: float) -> Removed:
        """Delete conversations and runs that have not changed for so many seconds.

        What waits, runs or is held stays, and a conversation stays as long as a run of it. Notes of `take` and `once` that are as old go
        too, unless a run that is not over was there before them.
        """
        ...

    async def delete_oldest(self, max_bytes: int) -> Removed:
        """Delete runs that have ended, the longest unchanged first, then conversations that nobody holds, until at most so much is held.

        A conversation with a run that is not over stays, so more may be left.
        """
        ...

    async def size(self) -> Size:
        """Return how much is held."""
        ...
