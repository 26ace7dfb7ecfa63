"""Where DBOS keeps its records: beside the store, in the form that DBOS takes."""

from __future__ import annotations

import contextlib
import stat

import pytest
from sqlalchemy import make_url, text

from headrace.durable import Database
from headrace.errors import ConfigError
from headrace.sessions.memory import MemoryStore
from headrace.sessions.sqlite import SQLiteStore


def test_a_sqlite_store_has_a_file_of_dbos_beside_it(tmp_path):
    assert Database.of(None, SQLiteStore(tmp_path / "runs.db")) == Database(path=tmp_path / "runs.db-dbos")


def test_a_postgres_store_has_a_schema_of_dbos_beside_its_own():
    postgres = pytest.importorskip("headrace.sessions.postgres")
    url = "postgresql://me:secret@db/agents"
    database = Database.of(None, postgres.PostgresStore(url))
    assert (database.schema, database.path) == ("headrace_dbos", None)
    assert database.sqlalchemy_url.startswith("postgresql://me:secret@/agents?")
    assert "secret" not in repr(database)
    with pytest.raises(ConfigError, match="schema"):
        Database.of(None, postgres.PostgresStore(url, schema="Mine!"))


@pytest.mark.parametrize("given", ["", "mysql://x/y"])
def test_what_is_neither_a_file_nor_postgres_is_refused(given):
    with pytest.raises(ConfigError, match="database is"):
        Database.of(given, MemoryStore())


def test_any_url_of_libpq_becomes_one_of_sqlalchemy():
    url = make_url(Database(url="postgresql://me:a%20b%40@db:5433/agents?sslmode=require").sqlalchemy_url)
    assert (url.username, url.password, url.database) == ("me", "a b@", "agents")
    assert dict(url.query) == {"host": "db", "port": "5433", "sslmode": "require"}
    assert Database(url="host=/run/pg dbname=agents").sqlalchemy_url == "postgresql:///agents?host=%2Frun%2Fpg"


def test_its_file_is_for_this_user_alone_and_readers_do_not_wait(tmp_path):
    database = Database.of(tmp_path / "dbos.db", MemoryStore())
    engine = database.engine()
    with contextlib.closing(engine.connect()) as connection:
        found = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous", "busy_timeout")]
    engine.dispose()
    assert found == ["wal", 1, 30_000]
    assert stat.S_IMODE(database.path.stat().st_mode) == 0o600


def test_a_worker_that_is_stopped_in_a_transaction_holds_nobody_up_for_long(postgres_server):
    engine = Database(url=postgres_server.url).engine()
    with contextlib.closing(engine.raw_connection()) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone()[0] == "10s"
    engine.dispose()
