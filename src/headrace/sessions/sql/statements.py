"""The SQL of the operations, as both databases understand it (see `operation.py` for `@` and `:`).

The rule of this file: text alone. What a condition may be is a fragment here, so that no value is ever written into SQL.
"""

from __future__ import annotations

from typing import Final

# ---------------------------------------------------------------------------------------------- runs

RUN_COLUMNS: Final = (
    "id, session_id, user_id, request, status, generate_reason, epoch, owner, last_seq, checkpoint, checkpoint_seq, created_at, updated_at"
)
CREATE_RUN: Final = f"""
    INSERT INTO @runs (id, session_id, user_id, request, status, epoch, last_seq, checkpoint_seq, created_at, updated_at)
    VALUES (:id, :session_id, :user, :request, 'queued', 0, 0, 0, @now, @now) ON CONFLICT (id) DO NOTHING RETURNING {RUN_COLUMNS}"""
GET_RUN: Final = f"SELECT {RUN_COLUMNS} FROM @runs WHERE id = :run_id"
LIST_RUNS: Final = f"SELECT {RUN_COLUMNS} FROM @runs WHERE "
LIST_RUNS_ORDER: Final = " ORDER BY created_at DESC, id DESC LIMIT :limit"
RUN_CONDITIONS: Final = {
    "user": "user_id = :user",
    "session_id": "session_id = :session_id",
    "statuses": "status @in(statuses)",
    "owner": "owner = :owner",
    "age_us": "updated_at <= @now - :age_us",
    "before_id": "(created_at, id) < (:before_at, :before_id)",
}
LOCK_RUN: Final = "SELECT epoch, status, last_seq, COALESCE(LENGTH(checkpoint), 0) FROM @runs WHERE id = :run_id @lock"
CLAIM_RUN: Final = f"""
    UPDATE @runs SET epoch = epoch + 1, status = 'running', generate_reason = NULL, owner = :owner, updated_at = @now
    WHERE id = :run_id RETURNING {RUN_COLUMNS}"""
MARK_RUN: Final = "SELECT id, last_seq, status, epoch FROM @runs WHERE id @in(run_ids)"

INSERT_EVENT: Final = "INSERT INTO @events (run_id, seq, data) VALUES (:run_id, :seq, :data)"
UPDATE_RUN: Final = "UPDATE @runs SET last_seq = :last_seq, bytes = bytes + :grown, updated_at = @now"
UPDATE_CHECKPOINT: Final = ", checkpoint = :checkpoint, checkpoint_seq = :last_seq"
UPDATE_STATUS: Final = ", status = :status, generate_reason = :generate_reason"
UPDATE_RUN_WHERE: Final = " WHERE id = :run_id"
GET_EVENTS: Final = "SELECT seq, data FROM @events WHERE run_id = :run_id AND seq > :after ORDER BY seq LIMIT :limit"
GET_WRITTEN: Final = "SELECT seq, data FROM @events WHERE run_id = :run_id AND seq > :after AND seq <= :last ORDER BY seq"

DELETE_RUNS: Final = "DELETE FROM @runs WHERE id @in(run_ids) RETURNING id"
DELETE_EVENTS: Final = "DELETE FROM @events WHERE run_id @in(run_ids)"
DELETE_RUN_SIGNALS: Final = "DELETE FROM @signals WHERE run_id @in(run_ids)"

# ------------------------------------------------------------------------------------------- signals

INSERT_SIGNAL: Final = "INSERT INTO @signals (run_id, kind, data) VALUES (:run_id, :kind, :data) RETURNING id"
GET_SIGNALS: Final = "SELECT id, run_id, kind, data FROM @signals WHERE run_id @in(run_ids) AND id > :after ORDER BY id"
FORGET_SIGNALS: Final = "DELETE FROM @signals WHERE id @in(ids)"

# ------------------------------------------------------------------------------------------- workers

BEAT: Final = """
    INSERT INTO @workers AS w (id, beats, started_at) VALUES (:id, 1, @now) ON CONFLICT (id) DO UPDATE SET beats = w.beats + 1"""
GET_WORKERS: Final = "SELECT id, beats, started_at FROM @workers ORDER BY id"
FORGET_WORKER: Final = "DELETE FROM @workers WHERE id = :id"

# ----------------------------------------------------------------------------------------- once only

TAKE: Final = "INSERT INTO @taken (run_id, seq, at) VALUES (:run_id, :seq, @now) ON CONFLICT (run_id, seq) DO NOTHING RETURNING seq"
GIVE_BACK: Final = "DELETE FROM @taken WHERE run_id = :run_id AND seq = :seq"
ENTER_DONE: Final = "INSERT INTO @done (key, result, at) VALUES (:key, :result, @now) ON CONFLICT (key) DO NOTHING RETURNING key"
SET_DONE: Final = "UPDATE @done SET result = :result WHERE key = :key"
GET_DONE: Final = "SELECT result FROM @done WHERE key = :key"

# ------------------------------------------------------------------------------------- conversations

SESSION_COLUMNS: Final = "id, user_id, title, messages, holder, forked_from, created_at, updated_at"
CREATE_SESSION: Final = f"""
    INSERT INTO @sessions (id, user_id, title, messages, forked_from, bytes, created_at, updated_at)
    VALUES (:session_id, :user, :title, :messages, :forked_from, :bytes, @now, @now)
    ON CONFLICT (id) DO NOTHING RETURNING {SESSION_COLUMNS}"""
GET_SESSION: Final = f"SELECT {SESSION_COLUMNS} FROM @sessions WHERE id = :session_id"
LOCK_SESSION: Final = "SELECT holder, messages FROM @sessions WHERE id = :session_id @lock"
SET_HOLDER: Final = "UPDATE @sessions SET holder = :holder WHERE id = :session_id"
SET_TITLE: Final = "UPDATE @sessions SET title = :title, updated_at = @now WHERE id = :session_id RETURNING id"
GROW_SESSION: Final = """
    UPDATE @sessions SET messages = messages + :added, bytes = bytes + :grown, updated_at = @now WHERE id = :session_id"""
ENTER_COMMIT: Final = """
    INSERT INTO @commits (session_id, run_id) VALUES (:session_id, :run_id) ON CONFLICT (session_id, run_id) DO NOTHING RETURNING run_id"""
INSERT_MESSAGE: Final = "INSERT INTO @messages (session_id, n, data) VALUES (:session_id, :n, :data)"
GET_MESSAGES: Final = "SELECT data FROM @messages WHERE session_id = :session_id AND n > :after ORDER BY n LIMIT :limit"
LIST_SESSIONS: Final = f"SELECT {SESSION_COLUMNS} FROM @sessions WHERE "
LIST_SESSIONS_ORDER: Final = " ORDER BY updated_at DESC, id DESC LIMIT :limit"
SESSION_CONDITIONS: Final = {"user": "user_id = :user", "before_id": "(updated_at, id) < (:before_at, :before_id)"}

DELETE_SESSIONS: Final = "DELETE FROM @sessions WHERE id @in(session_ids) RETURNING id"
DELETE_MESSAGES: Final = "DELETE FROM @messages WHERE session_id @in(session_ids)"
DELETE_COMMITS: Final = "DELETE FROM @commits WHERE session_id @in(session_ids)"

# ----------------------------------------------------------------------------------------- retention

SIZE: Final = """
    SELECT (SELECT COUNT(*) FROM @sessions), (SELECT COUNT(*) FROM @runs),
        CAST((SELECT COALESCE(SUM(bytes), 0) FROM @sessions) + (SELECT COALESCE(SUM(bytes), 0) FROM @runs) AS BIGINT)"""
RUNS_OF_SESSIONS: Final = "SELECT id FROM @runs WHERE session_id @in(session_ids)"
SESSIONS_OF_USER: Final = "SELECT id FROM @sessions WHERE user_id = :user LIMIT :limit @lock"
RUNS_OF_USER: Final = "SELECT id FROM @runs WHERE user_id = :user LIMIT :limit @lock"
AGE_LIMIT: Final = "SELECT @now - :age_us"
FIRST_LIVE: Final = "SELECT MIN(created_at) FROM @runs WHERE status <> 'ended'"
FORGET_TAKEN: Final = "DELETE FROM @taken WHERE at < :until"
FORGET_DONE: Final = "DELETE FROM @done WHERE at < :until"
OLD_RUNS: Final = "SELECT id FROM @runs WHERE status = 'ended' AND updated_at <= :until ORDER BY updated_at, id LIMIT :limit @lock"
OLD_SESSIONS: Final = """
    SELECT id FROM @sessions s WHERE holder IS NULL AND updated_at <= :until
        AND NOT EXISTS (SELECT 1 FROM @runs r WHERE r.session_id = s.id)
    ORDER BY updated_at, id LIMIT :limit @lock"""
# Whoever stands behind so many bytes that have to go anyway goes as well, if that is not yet enough.
OLDEST_RUNS: Final = """
    SELECT id FROM (SELECT id, SUM(bytes) OVER (ORDER BY updated_at, id) - bytes AS ahead FROM @runs WHERE status = 'ended') AS line
    WHERE ahead < :excess ORDER BY ahead LIMIT :limit"""
OLDEST_SESSIONS: Final = """
    SELECT id FROM (
        SELECT id, SUM(bytes) OVER (ORDER BY updated_at, id) - bytes AS ahead FROM @sessions s WHERE holder IS NULL
            AND NOT EXISTS (SELECT 1 FROM @runs r WHERE r.session_id = s.id AND r.status <> 'ended')
    ) AS line WHERE ahead < :excess ORDER BY ahead LIMIT :limit"""
LOCK_FREE_SESSIONS: Final = "SELECT id FROM @sessions WHERE id @in(session_ids) AND holder IS NULL @lock"

# ------------------------------------------------------------------------------------------- version

HAS_VERSION: Final = "@has_version"
MAKE_SCHEMA: Final = "@make_schema"
MAKE_VERSION: Final = "CREATE TABLE IF NOT EXISTS @version (version BIGINT NOT NULL)"
GET_VERSION: Final = "SELECT version FROM @version"
FORGET_VERSION: Final = "DELETE FROM @version"
SET_VERSION: Final = "INSERT INTO @version (version) VALUES (:version)"
TURN: Final = "@turn"
"""What must not happen twice at a time waits for its turn until the transaction ends: migrations, and the numbers of signals."""
