"""A connection to a SQLite file, and how an operation is carried out on it.

The rule of this file: a connection is used by one thread at a time; transactions are begun and ended by name, never behind one's back.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from headrace._json import dumps_text
from headrace.errors import UsageError
from headrace.sessions.sql.migrations import INDEXES
from headrace.sessions.sql.operation import (
    TABLES,
    Dialect,
    Make,
    Many,
    Operation,
    Row,
    Several,
    Statement,
    Step,
    T,
    Touched,
    Work,
    WorkError,
)

Synchronous: TypeAlias = Literal["full", "normal"]
"""`full`: what was confirmed outlives also a loss of power; `normal`: it outlives the process, but perhaps not the power."""

_PAGES_AT_ONCE: Final = 1_000
_TRY_AGAIN_S: Final = 0.005
_PREFIX: Final = "headrace_"
"""Before every table's name, since others may keep tables in the same file."""
DIALECT: Final = Dialect(
    words={
        **{name: f"{_PREFIX}{name}" for name in (*TABLES, *INDEXES)},
        "text": "TEXT",
        "blob": "BLOB",
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "clustered": "WITHOUT ROWID",
        "now": ":now",
        "lock": "",  # there is one writer at a time
        "turn": "SELECT 1",
        "make_schema": "SELECT 1",
        "has_version": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'headrace_version'",
    },
    value=":{}",
    among="IN (SELECT value FROM json_each({}))",
)


def make_file(path: Path) -> None:
    """Make the folder and an empty file that this user alone may read, where there is none.

    Raises:
        OSError: the system does not let us.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))


def connect(path: Path, *, synchronous: Synchronous, busy_timeout_s: float, is_reader: bool = False) -> sqlite3.Connection:
    """Open a connection.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    # Any thread may close it, so sqlite3's own check is off; the rule above is kept by whoever has it.
    # It makes no file: one that is gone is an error, not a new and empty store.
    name = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(
        name, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        if is_reader:
            connection.execute("PRAGMA query_only = ON")
        else:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts for a file without tables alone
            write_ahead(connection, busy_timeout_s)
            connection.execute(f"PRAGMA synchronous = {synchronous.upper()}")
            connection.execute("PRAGMA secure_delete = ON")  # what a user had deleted is not left in the file's free pages
    except BaseException:
        connection.close()
        raise
    return connection


def write_ahead(connection: sqlite3.Connection, wait_s: float) -> None:
    """Have a file keep its journal as a write-ahead log, in which readers and the writer do not wait for each other.

    Who changes the journal needs the file for itself, and is refused at once where another process opens a new file too: SQLite's own
    waiting does not hold for this, so it is waited here.

    Args:
        connection: outside of a transaction.
        wait_s: how long to try, at most.

    Raises:
        sqlite3.Error: somebody else has it, for longer than that; or it cannot be changed.
    """
    until = time.monotonic() + wait_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        else:
            return
        time.sleep(_TRY_AGAIN_S)


def carry_out(connection: sqlite3.Connection, make: Make[T], *, now_us: int) -> tuple[T, list[str]]:
    """Carry out an operation inside of a transaction.

    Returns:
        Its result, and the runs that it changed.

    Raises:
        sqlite3.Error: the database could not.
        WorkError: a stranger's code failed.
        UsageError: a stranger's code ended the transaction.
        StoreError: the operation refused.
    """
    operation, touched = make(), list[str]()
    answer: Any = None
    while True:
        try:
            step: Step = operation.send(answer)
        except StopIteration as end:
            return cast("T", end.value), touched
        answer = None
        match step:
            case Statement(text, values):
                answer = execute(connection, text, values, now_us)
            case Many(text, many):
                connection.executemany(DIALECT.spell(text), many)
            case Several():
                raise NotImplementedError("statements are not far from a file: nothing asks for several at once here")
            case Touched(run_ids):
                touched += run_ids
            case Work(call):
                answer = _work(connection, call)


def execute(connection: sqlite3.Connection, text: str, values: Mapping[str, Any], now_us: int = 0) -> list[Row]:
    """Execute a statement and return its rows."""
    fitting = {name: dumps_text(value) if isinstance(value, list) else value for name, value in values.items()}
    return connection.execute(DIALECT.spell(text), {**fitting, "now": now_us}).fetchall()


def free_room() -> Operation[bool]:
    """Cut some free pages off the end of the file; returns whether there are more."""
    before = yield Statement("PRAGMA freelist_count")
    yield Statement(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
    after = yield Statement("PRAGMA freelist_count")
    return bool(0 < after[0][0] < before[0][0])


def _work(connection: sqlite3.Connection, call: Any) -> Any:
    try:
        result = call(connection)
    except Exception as error:
        raise WorkError(error) from error
    if not connection.in_transaction:
        raise UsageError("the work of `once` ended the transaction; it must neither commit nor roll back (nor use `with connection`)")
    return result
