"""The tables, version by version, and the step from one to the next.

The rule of this file: a migration that was released is never changed; what has to be different becomes the next one. Each is done whole,
together with the number that says so, while every other process waits.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import SchemaVersionError
from headrace.sessions.sql import statements as sql
from headrace.sessions.sql.operation import Operation, Statement

_BASE: Final = (
    """
    CREATE TABLE @runs (
        id @text PRIMARY KEY, session_id @text, user_id @text NOT NULL, request @blob NOT NULL, status @text NOT NULL,
        generate_reason @text, epoch BIGINT NOT NULL, owner @text, last_seq BIGINT NOT NULL, checkpoint @blob,
        checkpoint_seq BIGINT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)""",
    "CREATE INDEX @runs_by_time ON @runs (created_at, id)",
    "CREATE INDEX @runs_by_session ON @runs (session_id)",
    "CREATE INDEX @runs_by_user ON @runs (user_id)",
    "CREATE INDEX @runs_alive ON @runs (status) WHERE status <> 'ended'",
    "CREATE TABLE @events (run_id @text NOT NULL, seq BIGINT NOT NULL, data @blob NOT NULL, PRIMARY KEY (run_id, seq)) @clustered",
    "CREATE TABLE @signals (id @serial, run_id @text NOT NULL, kind @text NOT NULL, data @blob NOT NULL)",
    "CREATE INDEX @signals_by_run ON @signals (run_id, id)",
    "CREATE TABLE @workers (id @text PRIMARY KEY, beats BIGINT NOT NULL, started_at BIGINT NOT NULL)",
    "CREATE TABLE @taken (run_id @text NOT NULL, seq BIGINT NOT NULL, PRIMARY KEY (run_id, seq)) @clustered",
    "CREATE TABLE @done (key @text PRIMARY KEY, result @blob NOT NULL)",
    """
    CREATE TABLE @sessions (
        id @text PRIMARY KEY, user_id @text NOT NULL, title @text NOT NULL, messages BIGINT NOT NULL, holder @text, forked_from @text,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)""",
    "CREATE INDEX @sessions_by_user ON @sessions (user_id)",
    "CREATE TABLE @messages (session_id @text NOT NULL, n BIGINT NOT NULL, data @blob NOT NULL, PRIMARY KEY (session_id, n)) @clustered",
    "CREATE TABLE @commits (session_id @text NOT NULL, run_id @text NOT NULL, PRIMARY KEY (session_id, run_id)) @clustered",
)
# What retention asks for: how much is held, who has not changed for long, and when notes were made.
_RETENTION: Final = (
    "ALTER TABLE @runs ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE @sessions ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0",
    """
    UPDATE @runs SET bytes = COALESCE(LENGTH(checkpoint), 0)
        + (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM @events WHERE run_id = @runs.id)""",
    "UPDATE @sessions SET bytes = (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM @messages WHERE session_id = @sessions.id)",
    "ALTER TABLE @taken ADD COLUMN at BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE @done ADD COLUMN at BIGINT NOT NULL DEFAULT 0",
    "UPDATE @taken SET at = @now",
    "UPDATE @done SET at = @now",
    "CREATE INDEX @runs_by_change ON @runs (updated_at, id)",
    "CREATE INDEX @sessions_by_change ON @sessions (updated_at, id)",
)
MIGRATIONS: Final = (_BASE, _RETENTION)
"""The step to version 1, to version 2, and so on."""
INDEXES: Final = (
    *("runs_by_time", "runs_by_session", "runs_by_user", "runs_alive", "runs_by_change"),
    *("signals_by_run", "sessions_by_user", "sessions_by_change"),
)


def migrate_once(place: str) -> Operation[bool]:
    """Do the next migration; returns whether there was one to do.

    Args:
        place: what to call the database in an error.

    Raises:
        SchemaVersionError: a later version of headrace wrote it.
    """
    yield Statement(sql.TURN)
    if not (yield Statement(sql.HAS_VERSION)):
        yield Statement(sql.MAKE_SCHEMA)
        yield Statement(sql.MAKE_VERSION)
    rows = yield Statement(sql.GET_VERSION)
    version: int = rows[0][0] if rows else 0
    if version > len(MIGRATIONS):
        help_ = "use that one, or another database; nothing here was touched"
        raise SchemaVersionError(
            f"{place} has schema version {version}, which a later headrace wrote; this one knows versions up to {len(MIGRATIONS)}: {help_}"
        )
    if version == len(MIGRATIONS):
        return False
    for text in MIGRATIONS[version]:
        yield Statement(text)
    yield Statement(sql.FORGET_VERSION)
    yield Statement(sql.SET_VERSION, {"version": version + 1})
    return True
