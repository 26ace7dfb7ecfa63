"""The operations on signals and workers, and what is done once only.

The rule of this file: numbers of signals are given out one transaction after the other, so whoever saw a number has seen, or will never
see, all below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace._json import dumps, freeze, loads
from headrace.sessions import refusals
from headrace.sessions.records import Signal, Worker
from headrace.sessions.sql import statements as sql
from headrace.sessions.sql.operation import Operation, Statement, Work
from headrace.sessions.sql.rows import signal_values, worker_values


def signal(run_id: str, kind: str, data: bytes) -> Operation[int]:
    """Say something to a run."""
    if not (yield Statement(sql.LOCK_RUN, {"run_id": run_id})):
        raise refusals.no_run(run_id)
    yield Statement(sql.TURN)
    rows = yield Statement(sql.INSERT_SIGNAL, {"run_id": run_id, "kind": kind, "data": data})
    return int(rows[0][0])


def get_signals(run_ids: Sequence[str], after: int) -> Operation[tuple[Signal, ...]]:
    """Return what was said to runs."""
    rows = yield Statement(sql.GET_SIGNALS, {"run_ids": list(run_ids), "after": after})
    return signal_values(rows)


def forget_signals(ids: Sequence[int]) -> Operation[None]:
    """Delete signals."""
    yield Statement(sql.FORGET_SIGNALS, {"ids": list(ids)})


def beat(worker_id: str) -> Operation[None]:
    """Say that a worker lives."""
    yield Statement(sql.BEAT, {"id": worker_id})


def get_workers() -> Operation[tuple[Worker, ...]]:
    """Return the workers."""
    rows = yield Statement(sql.GET_WORKERS)
    return worker_values(rows)


def forget_worker(worker_id: str) -> Operation[None]:
    """Strike a worker out."""
    yield Statement(sql.FORGET_WORKER, {"id": worker_id})


def take(run_id: str, seq: int) -> Operation[bool]:
    """Take a state up; returns whether nobody had."""
    rows = yield Statement(sql.TAKE, {"run_id": run_id, "seq": seq})
    return bool(rows)


def give_back(run_id: str, seq: int) -> Operation[None]:
    """Undo a `take`."""
    yield Statement(sql.GIVE_BACK, {"run_id": run_id, "seq": seq})


def once(key: str, work: Callable[[Any], Any]) -> Operation[Any]:
    """Do something unless it was done; returns its result."""
    # Entering the key first makes whoever comes at the same time wait until this one is done or has failed.
    if (yield Statement(sql.ENTER_DONE, {"key": key, "result": b"null"})):
        result = dumps(freeze((yield Work(work)), "result"))
        yield Statement(sql.SET_DONE, {"key": key, "result": result})
    else:
        rows = yield Statement(sql.GET_DONE, {"key": key})
        result = bytes(rows[0][0])
    return loads(result)
