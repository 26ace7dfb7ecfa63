"""Where DBOS keeps its records: beside the runs, and never in their way.

The rule of this file: in PostgreSQL it is a schema of its own in the store's database; for a SQLite store it is a file of its own beside the
store's. One file for both would be safe, but a file has one writer at a time, and each would wait for the other's commits.

Nothing in it is worth more than the store: a system database that is lost is made anew, and the runs that were on their way are queued again.
That is why SQLite is told not to wait for the disk at each of DBOS's commits.
"""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.pool import ConnectionPoolEntry

from headrace.errors import ConfigError
from headrace.sessions.sql.standstill import STANDSTILL_S, bounding_standstill
from headrace.sessions.sqlite import SQLiteStore
from headrace.sessions.sqlite.connection import make_file, write_ahead
from headrace.sessions.store import Store

_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,57}")
_BUSY_MS: Final = 30_000
_POOL: Final = 8
_CONNECT_TIMEOUT_S: Final = 10


class Database(msgspec.Struct, frozen=True):
    """A database for DBOS.

    Attributes:
        url: `postgresql://…`, in any form that libpq takes; may hold a password. Empty: SQLite.
        schema: the schema of DBOS's tables in PostgreSQL.
        path: the file, for SQLite.
    """

    url: str = ""
    schema: str = "headrace_dbos"
    path: Path | None = None

    def __repr__(self) -> str:
        return f"Database({str(self.path)!r})" if self.path is not None else f"Database(schema={self.schema!r})"

    @classmethod
    def of(cls, given: Database | str | os.PathLike[str] | None, store: Store) -> Database:
        """Read a PostgreSQL URL or the path of a file; None: the database that belongs to the store.

        Raises:
            ConfigError: it is neither.
        """
        if given is None:
            return cls.beside(store)
        if isinstance(given, Database):
            return given
        text = os.fspath(given)
        if text.startswith(("postgresql://", "postgres://")):
            return cls(url=text)
        text = text.removeprefix("sqlite:///")
        if not text or "://" in text:
            raise ConfigError(f"database is {text!r}; give postgresql://… or the path of a SQLite file", argument="database")
        return cls(path=Path(text).expanduser())

    @classmethod
    def beside(cls, store: Store) -> Database:
        """Return the database that belongs to a store.

        Raises:
            ConfigError: it is neither in SQLite nor in PostgreSQL, or its schema has a name of which no other can be made.
        """
        if isinstance(store, SQLiteStore):
            return cls(path=store.path.with_name(f"{store.path.name}-dbos"))
        address: Any = getattr(store, "address", None)  # PostgresStore's, which is not imported: it needs an extra of its own
        if address is None:
            raise ConfigError(f"{store!r} is in no database that DBOS knows; say which one it may use: database=…", argument="database")
        url, schema = cast("str", address.url), cast("str", address.schema)
        if not _SCHEMA.fullmatch(schema):
            raise ConfigError(
                f"the store's schema is {schema!r}; beside it DBOS needs one: database=Database(url, schema)", argument="database"
            )
        return cls(url=url, schema=f"{schema}_dbos")

    @property
    def sqlalchemy_url(self) -> str:
        """The same as SQLAlchemy writes it."""
        if self.path is not None:
            return URL.create("sqlite", database=str(self.path)).render_as_string()
        parts = {name: str(value) for name, value in conninfo_to_dict(self.url).items() if value is not None}
        user, password, database = parts.pop("user", None), parts.pop("password", None), parts.pop("dbname", None)
        url = URL.create("postgresql", username=user, password=password, database=database, query=parts)
        return url.render_as_string(hide_password=False)

    def engine(self) -> Engine:
        """Return what connects to it; nothing is connected yet, but a file is made, for this user alone.

        Raises:
            OSError: it cannot be made.
        """
        if self.path is None:
            connect = partial(psycopg.connect, self.url, connect_timeout=_CONNECT_TIMEOUT_S, application_name="headrace durable")
            engine = create_engine("postgresql+psycopg://", creator=connect, pool_size=_POOL, max_overflow=0, pool_pre_ping=True)
            event.listen(engine, "connect", _bounded)
            return engine
        make_file(self.path)
        engine = create_engine(URL.create("sqlite", database=str(self.path)), pool_size=_POOL, max_overflow=0)
        event.listen(engine, "connect", _prepared)
        return engine


def _bounded(connection: Any, _entry: ConnectionPoolEntry) -> None:
    """Let a worker that is stopped in the middle of a transaction hold others up no longer than it may in the store."""
    with connection.cursor() as cursor:
        cursor.execute(bounding_standstill(STANDSTILL_S))
    connection.commit()


def _prepared(connection: Any, _entry: ConnectionPoolEntry) -> None:
    """Set up a connection to SQLite as DBOS wants it, and with a journal in which readers and the writer do not wait for each other."""
    connection.isolation_level = "IMMEDIATE"
    for pragma in (f"busy_timeout={_BUSY_MS}", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()
    write_ahead(connection, _BUSY_MS / 1000)
