"""What a store in memory holds, and which of it is to go.

The rule of this file: it chooses; it deletes nothing but notes that no run can ask for any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from headrace.sessions.records import LIVE, Entry, RunRecord, SessionRecord


class Kept:
    """The tables of a store in memory.

    Attributes:
        runs, logs: by the run's id.
        sessions, messages: by the conversation's id.
        commits: which runs committed to which conversation.
        taken: which states were taken up, and when.
        done: what was done once, by its key: the result as JSON, and when.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.runs: dict[str, RunRecord] = {}
        self.logs: dict[str, list[Entry]] = {}
        self.sessions: dict[str, SessionRecord] = {}
        self.messages: dict[str, list[bytes]] = {}
        self.commits: set[tuple[str, str]] = set()
        self.taken: dict[tuple[str, int], datetime] = {}
        self.done: dict[str, tuple[bytes, datetime]] = {}

    def runs_of(self, session_id: str) -> list[str]:
        """Return the ids of a conversation's runs."""
        return [run.id for run in self.runs.values() if run.session_id == session_id]

    def run_bytes(self, run_id: str) -> int:
        """Return how much a run's log and checkpoint hold."""
        return sum(len(entry.data) for entry in self.logs[run_id]) + len(self.runs[run_id].checkpoint or b"")

    def session_bytes(self, session_id: str) -> int:
        """Return how much a conversation's messages hold."""
        return sum(map(len, self.messages[session_id]))

    def bytes(self) -> int:
        """Return how much is held in all."""
        return sum(map(self.run_bytes, self.runs)) + sum(map(self.session_bytes, self.sessions))


def older(kept: Kept, now: datetime, age_s: float) -> tuple[list[str], list[str]]:
    """Return the conversations and the runs that have not changed for so long, and forget notes as old that no live run can need."""
    limit = now - timedelta(seconds=age_s)
    run_ids: list[str] = []
    staying: set[str | None] = set()  # the conversations of runs that stay
    for run in kept.runs.values():
        if run.status not in LIVE and run.updated_at <= limit:
            run_ids.append(run.id)
        else:
            staying.add(run.session_id)
    session_ids = [one.id for one in _free_sessions(kept) if one.updated_at <= limit and one.id not in staying]
    begun = min([limit, *(run.created_at for run in kept.runs.values() if run.status in LIVE)])
    kept.taken = {key: at for key, at in kept.taken.items() if at >= begun}
    kept.done = {key: (result, at) for key, (result, at) in kept.done.items() if at >= begun}
    return session_ids, run_ids


def oldest(kept: Kept, max_bytes: int) -> tuple[list[str], list[str]]:
    """Return the conversations and the runs that have to go so that at most so much is left, as far as they may."""
    run_ids: list[str] = []
    session_ids: list[str] = []
    left = kept.bytes()
    ended = sorted((run for run in kept.runs.values() if run.status not in LIVE), key=lambda run: (run.updated_at, run.id))
    for run in ended:
        if left <= max_bytes:
            return session_ids, run_ids
        run_ids.append(run.id)
        left -= kept.run_bytes(run.id)
    for one in sorted(_free_sessions(kept), key=lambda one: (one.updated_at, one.id)):
        if left <= max_bytes:
            return session_ids, run_ids
        session_ids.append(one.id)
        left -= kept.session_bytes(one.id)
    return session_ids, run_ids


def _free_sessions(kept: Kept) -> Iterator[SessionRecord]:
    """Return the conversations that nobody holds and no live run belongs to."""
    busy = {run.session_id for run in kept.runs.values() if run.status in LIVE}
    return (one for one in kept.sessions.values() if one.holder is None and one.id not in busy)
