"""The operations that delete: a conversation with what belongs to it, a user, what is old, what is too much.

The rule of this file: an operation deletes at most `STEP` things that somebody chose, so that it is short; whoever calls it goes on until
nothing is left to delete. What is alive or held is looked at again once it is locked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.sessions.records import Removed, Size
from headrace.sessions.sql import statements as sql
from headrace.sessions.sql.operation import Operation, Row, Statement
from headrace.sessions.sql.runs import delete_runs

STEP: Final = 200
"""How many conversations, and how many runs, go in one step."""


def delete_session(session_id: str) -> Operation[bool]:
    """Delete a conversation and its runs; returns whether there was one."""
    removed = yield from _delete([session_id], ())
    return removed.sessions > 0


def delete_of_user(user: str) -> Operation[Removed]:
    """Delete some of what belongs to a user."""
    values = {"user": user, "limit": STEP}
    session_ids = _ids((yield Statement(sql.SESSIONS_OF_USER, values)))
    run_ids = _ids((yield Statement(sql.RUNS_OF_USER, values)))
    return (yield from _delete(session_ids, run_ids))


def age_limit(age_s: float) -> Operation[int]:
    """Forget notes that no run can need, and return the time before which a change is too long ago."""
    rows = yield Statement(sql.AGE_LIMIT, {"age_us": round(age_s * 1_000_000)})
    until = int(rows[0][0])
    rows = yield Statement(sql.FIRST_LIVE)
    begun = until if rows[0][0] is None else min(until, rows[0][0])
    yield Statement(sql.FORGET_TAKEN, {"until": begun})
    yield Statement(sql.FORGET_DONE, {"until": begun})
    return until


def delete_older(until: int) -> Operation[Removed]:
    """Delete some of what has not changed since then."""
    values = {"until": until, "limit": STEP}
    runs = yield from delete_runs(_ids((yield Statement(sql.OLD_RUNS, values))))
    session_ids = _ids((yield Statement(sql.OLD_SESSIONS, values)))
    removed = yield from _delete(session_ids, ())
    return Removed(sessions=removed.sessions, runs=removed.runs + runs)


def delete_oldest(max_bytes: int) -> Operation[Removed]:
    """Delete some of what is too much."""
    held = yield from get_size()
    if held.bytes <= max_bytes:
        return Removed()
    values = {"excess": held.bytes - max_bytes, "limit": STEP}
    if run_ids := _ids((yield Statement(sql.OLDEST_RUNS, values))):
        return (yield from _delete((), run_ids))
    found = _ids((yield Statement(sql.OLDEST_SESSIONS, values)))
    free = _ids((yield Statement(sql.LOCK_FREE_SESSIONS, {"session_ids": found})))
    return (yield from _delete(free, ()))


def get_size() -> Operation[Size]:
    """Return how much is held."""
    rows = yield Statement(sql.SIZE)
    sessions, runs, held = rows[0]
    return Size(sessions=sessions, runs=runs, bytes=held)


def _delete(session_ids: Sequence[str], run_ids: Sequence[str]) -> Operation[Removed]:
    values = {"session_ids": list(session_ids)}
    belonging = _ids((yield Statement(sql.RUNS_OF_SESSIONS, values))) if session_ids else []
    gone: list[Row] = []
    if session_ids:
        gone = yield Statement(sql.DELETE_SESSIONS, values)
        yield Statement(sql.DELETE_MESSAGES, values)
        yield Statement(sql.DELETE_COMMITS, values)
    runs = yield from delete_runs(sorted({*belonging, *run_ids}))
    return Removed(sessions=len(gone), runs=runs)


def _ids(rows: Sequence[Row]) -> list[str]:
    return [row[0] for row in rows]
