"""The tables of an older version are brought up to date, those of a newer one are left alone."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from headrace.errors import SchemaVersionError
from headrace.sessions.records import Size
from headrace.sessions.sql import migrations
from headrace.sessions.sqlite import SQLiteStore
from store_ground import batch, started

OLD_ROWS = (
    "INSERT INTO @runs VALUES ('r', 's', 'u', 'e30', 'running', NULL, 1, 'me', 2, 'abc', 2, 1000000, 2000000)",
    "INSERT INTO @events VALUES ('r', 1, '12345'), ('r', 2, '67')",
    "INSERT INTO @sessions VALUES ('s', 'u', 'Sums', 1, NULL, NULL, 1000000, 2000000)",
    "INSERT INTO @messages VALUES ('s', 1, '1234567890')",
    "INSERT INTO @taken VALUES ('r', 7)",
    "INSERT INTO @done VALUES ('key', '42')",
)


class Database:
    """One database: a store over it, and statements past the store."""

    def __init__(self, new_store, execute):
        self.new_store = new_store
        self.execute = execute


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    if request.param == "sqlite":
        path = tmp_path / "store.db"

        def execute(text):
            with sqlite3.connect(path) as connection:
                rows = connection.execute(text.replace("@", "headrace_")).fetchall()
            connection.close()
            return rows

        return Database(lambda: SQLiteStore(path), execute)
    server, schema = request.getfixturevalue("postgres_server"), request.getfixturevalue("postgres_schema")
    import psycopg

    from headrace.sessions.postgres import PostgresStore

    def execute(text):
        quoted = '"' + schema.replace('"', '""') + '".'
        with psycopg.connect(server.url, autocommit=True) as connection:
            cursor = connection.execute(text.replace("@", quoted))
            return cursor.fetchall() if cursor.description else []

    return Database(lambda: PostgresStore(server.url, schema=schema), execute)


async def make_version_1(database, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
        async with database.new_store():
            pass
    for text in OLD_ROWS:
        database.execute(text)
    assert database.execute("SELECT version FROM @version") == [(1,)]


async def test_a_new_database_has_the_newest_version(database):
    async with database.new_store():
        pass
    assert database.execute("SELECT version FROM @version") == [(len(migrations.MIGRATIONS),)]


async def test_an_older_database_is_brought_up_to_date_with_what_it_holds(database, monkeypatch):
    await make_version_1(database, monkeypatch)
    async with database.new_store() as store:
        run = await store.run("r")
        assert (run.session_id, run.user, run.last_seq, run.epoch) == ("s", "u", 2, 1)
        assert [entry.seq for entry in await store.entries("r")] == [1, 2]
        assert await store.size() == Size(sessions=1, runs=1, bytes=7 + 3 + 10)
        assert await store.take("r", 7) is False
        await store.append(batch("r", 3))
        await store.delete_older(3600)  # the notes are as old as the migration, not as 1970
        assert await store.take("r", 7) is False
    assert database.execute("SELECT version FROM @version") == [(2,)]


async def test_processes_that_open_an_older_database_at_once_migrate_it_once(database, monkeypatch):
    await make_version_1(database, monkeypatch)

    async def open_it():
        async with database.new_store() as store:
            return (await store.size()).bytes

    assert await asyncio.gather(*(open_it() for _ in range(5))) == [20] * 5
    assert database.execute("SELECT version FROM @version") == [(2,)]


async def test_processes_that_make_a_database_at_once_make_it_once(database):
    async def open_it(n):
        async with database.new_store() as store:
            await started(store, f"r{n}")

    await asyncio.gather(*(open_it(n) for n in range(5)))
    async with database.new_store() as store:
        assert len(await store.runs()) == 5


async def test_a_newer_database_is_refused_and_left_alone(database):
    async with database.new_store() as store:
        await started(store)
    database.execute("UPDATE @version SET version = 99")
    with pytest.raises(
        SchemaVersionError, match=r"has schema version 99, which a later headrace wrote; this one knows versions up to 2"
    ) as caught:
        async with database.new_store():
            pass
    assert "store.db" in str(caught.value) or "postgresql://" in str(caught.value)
    assert database.execute("SELECT version FROM @version") == [(99,)]
    database.execute("UPDATE @version SET version = 2")
    async with database.new_store() as store:
        assert (await store.run("r")).epoch == 1


async def test_a_migration_that_fails_leaves_the_version_before_it(database, monkeypatch):
    await make_version_1(database, monkeypatch)
    broken = (*migrations.MIGRATIONS[:1], (*migrations.MIGRATIONS[1][:2], "SELECT nonsense FROM nowhere"))
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", broken)
        with pytest.raises(Exception, match="nowhere"):
            async with database.new_store():
                pass
    assert database.execute("SELECT version FROM @version") == [(1,)]
    async with database.new_store() as store:
        assert (await store.size()).bytes == 20
