"""One store after the other: a test that asks for `store` runs over each kind."""

from __future__ import annotations

import uuid

import pytest

from headrace.sessions.memory import MemoryStore
from headrace.sessions.sqlite import SQLiteStore
from store_ground import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def postgres_schema(postgres_server):
    """A schema of the test's own, with characters that need care."""
    import psycopg

    schema = f"t\"%s'{uuid.uuid4().hex[:12]}"
    yield schema
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(psycopg.sql.Identifier(schema)))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def new_store(request, clock, tmp_path):
    """Makes a store, not open yet; two of a database share what it holds."""
    match request.param:
        case "memory":
            return lambda: MemoryStore(now=clock)
        case "sqlite":
            return lambda: SQLiteStore(tmp_path / "store.db", now=clock)
    server, schema = request.getfixturevalue("postgres_server"), request.getfixturevalue("postgres_schema")
    from headrace.sessions.postgres import PostgresStore

    return lambda: PostgresStore(server.url, schema=schema, now=clock)


@pytest.fixture
async def store(new_store):
    async with new_store() as store:
        yield store
