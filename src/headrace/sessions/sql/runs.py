"""The operations on runs and their logs.

The rule of this file: who changes a run locks its row first, so what is decided by the row still holds when it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.sessions import refusals
from headrace.sessions.records import Batch, Entry, NewRun, RunRecord
from headrace.sessions.sql import statements as sql
from headrace.sessions.sql.operation import Many, Operation, Statement, Touched
from headrace.sessions.sql.rows import entry_values, run_record, to_us
from headrace.sessions.waiters import Mark


def create_run(run: NewRun) -> Operation[RunRecord]:
    """Keep a new run."""
    values = {"id": run.id, "session_id": run.session_id, "user": run.user, "request": run.request}
    rows = yield Statement(sql.CREATE_RUN, values)
    if not rows:
        raise refusals.run_exists(run.id)
    return run_record(rows[0])


def get_run(run_id: str) -> Operation[RunRecord]:
    """Return a run."""
    rows = yield Statement(sql.GET_RUN, {"run_id": run_id})
    if not rows:
        raise refusals.no_run(run_id)
    return run_record(rows[0])


def list_runs(conditions: Mapping[str, Any], *, before: str | None, limit: int) -> Operation[tuple[RunRecord, ...]]:
    """Return runs, the newest first; `conditions` by the names in `RUN_CONDITIONS`, None: no condition."""
    given = {name: value for name, value in conditions.items() if value is not None}
    if before is not None:
        last = yield from get_run(before)
        given |= {"before_at": to_us(last.created_at), "before_id": before}
    where = " AND ".join(text for name, text in sql.RUN_CONDITIONS.items() if name in given) or "1 = 1"
    rows = yield Statement(sql.LIST_RUNS + where + sql.LIST_RUNS_ORDER, {**given, "limit": limit})
    return tuple(run_record(row) for row in rows)


def claim(run_id: str, owner: str, epoch: int) -> Operation[RunRecord]:
    """Take a run up."""
    rows = yield Statement(sql.LOCK_RUN, {"run_id": run_id})
    if not rows:
        raise refusals.no_run(run_id)
    present, status, _, _ = rows[0]
    refusals.check_claim(run_id, wanted=epoch, epoch=present, status=status)
    rows = yield Statement(sql.CLAIM_RUN, {"run_id": run_id, "owner": owner})
    yield Touched([run_id])
    return run_record(rows[0])


def append(batch: Batch) -> Operation[None]:
    """Add to a run's log."""
    rows = yield Statement(sql.LOCK_RUN, {"run_id": batch.run_id})
    if not rows:
        raise refusals.no_run(batch.run_id)
    epoch, status, last_seq, old_checkpoint = rows[0]
    present: tuple[Entry, ...] = ()
    if last_seq > batch.after and batch.entries:
        values = {"run_id": batch.run_id, "after": batch.after, "last": batch.last_seq}
        present = entry_values((yield Statement(sql.GET_WRITTEN, values)))
    if refusals.is_written(batch, epoch=epoch, status=status, last_seq=last_seq, present=present):
        return
    if batch.entries:
        yield Many(sql.INSERT_EVENT, [{"run_id": batch.run_id, "seq": entry.seq, "data": entry.data} for entry in batch.entries])
    text, grown = sql.UPDATE_RUN, sum(len(entry.data) for entry in batch.entries)
    if batch.checkpoint is not None:
        text += sql.UPDATE_CHECKPOINT
        grown += len(batch.checkpoint) - old_checkpoint
    if batch.status is not None:
        text += sql.UPDATE_STATUS
    values = {"run_id": batch.run_id, "last_seq": batch.last_seq, "grown": grown, "checkpoint": batch.checkpoint}
    values |= {"status": batch.status, "generate_reason": batch.generate_reason}
    yield Statement(text + sql.UPDATE_RUN_WHERE, values)
    yield Touched([batch.run_id])


def get_entries(run_id: str, after: int, limit: int) -> Operation[tuple[Entry, ...]]:
    """Return events."""
    rows = yield Statement(sql.GET_EVENTS, {"run_id": run_id, "after": after, "limit": limit})
    return entry_values(rows)


def marks(run_ids: Sequence[str]) -> Operation[dict[str, Mark]]:
    """Return how runs stand, for whoever waits for a change; those that are not there are not in it."""
    rows = yield Statement(sql.MARK_RUN, {"run_ids": list(run_ids)})
    return {run_id: (last_seq, status, epoch) for run_id, last_seq, status, epoch in rows}


def delete_runs(run_ids: Sequence[str]) -> Operation[int]:
    """Delete runs with their logs and signals; returns how many there were."""
    if not run_ids:
        return 0
    values = {"run_ids": list(run_ids)}
    gone = yield Statement(sql.DELETE_RUNS, values)
    yield Statement(sql.DELETE_EVENTS, values)
    yield Statement(sql.DELETE_RUN_SIGNALS, values)
    yield Touched([run_id for (run_id,) in gone])
    return len(gone)
