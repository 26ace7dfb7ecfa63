"""Rows of the database as the values that a store gives out; the columns stand in `statements.py`, in the same order.

The rule of this file: times are whole microseconds since 1970 in UTC, in every database.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from headrace.sessions.records import Entry, RunRecord, SessionRecord, Signal, Worker
from headrace.sessions.sql.operation import Row

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_us(at: datetime) -> int:
    """Return a time as the database keeps it."""
    return (at - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    """Return a time that the database keeps."""
    return _EPOCH + timedelta(microseconds=microseconds)


def run_record(row: Row) -> RunRecord:
    """Read a run."""
    id_, session_id, user, request, status, reason, epoch, owner, last_seq, checkpoint, checkpoint_seq, created_at, updated_at = row
    return RunRecord(
        id=id_,
        session_id=session_id,
        user=user,
        request=request,
        status=status,
        generate_reason=reason,
        epoch=epoch,
        owner=owner,
        last_seq=last_seq,
        checkpoint=checkpoint,
        checkpoint_seq=checkpoint_seq,
        created_at=from_us(created_at),
        updated_at=from_us(updated_at),
    )


def session_record(row: Row) -> SessionRecord:
    """Read a conversation."""
    id_, user, title, messages, holder, forked_from, created_at, updated_at = row
    return SessionRecord(
        id=id_,
        user=user,
        title=title,
        messages=messages,
        holder=holder,
        forked_from=forked_from,
        created_at=from_us(created_at),
        updated_at=from_us(updated_at),
    )


def entry_values(rows: Iterable[Row]) -> tuple[Entry, ...]:
    """Read events."""
    return tuple(Entry(seq, data) for seq, data in rows)


def signal_values(rows: Iterable[Row]) -> tuple[Signal, ...]:
    """Read signals."""
    return tuple(Signal(id=id_, run_id=run_id, kind=kind, data=data) for id_, run_id, kind, data in rows)


def worker_values(rows: Iterable[Row]) -> tuple[Worker, ...]:
    """Read workers."""
    return tuple(Worker(id=id_, beats=beats, started_at=from_us(started_at)) for id_, beats, started_at in rows)
