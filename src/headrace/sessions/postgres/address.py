"""Which database and which schema in it, and how to name them where everybody reads it: without a password.

The rule of this file: pure; a password goes into a connection and nowhere else.
"""

from __future__ import annotations

import hashlib
from typing import Final, NoReturn

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headrace.errors import ConfigError
from headrace.sessions.refusals import check_texts
from headrace.sessions.sql.migrations import INDEXES
from headrace.sessions.sql.operation import TABLES, Dialect

_MAX_NAME_BYTES: Final = 63
"""PostgreSQL cuts longer names off in silence, and two that begin alike would be one."""
_DEFAULTS: Final[dict[str, str | int | None]] = {
    "application_name": "headrace",
    "connect_timeout": 10,
    # A server that is silent for half a minute has gone, whatever the system's own patience is.
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""What holds unless the URL says otherwise."""
_NOW: Final = "COALESCE(%(now)s::bigint, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint)"


class Address(msgspec.Struct, frozen=True):
    """A database, and the schema in it.

    Attributes:
        url: how to connect, as libpq takes it; may hold a password.
        schema: the schema's name.
        name: what to call it in messages, without a password.
    """

    url: str
    schema: str
    name: str

    def __repr__(self) -> str:
        return self.name

    @classmethod
    def of(cls, url: str, schema: str) -> Address:
        """Check them.

        Raises:
            ConfigError: the URL cannot be read, or the schema's name is empty, too long or the database's own.
        """
        if not isinstance(schema, str) or not 1 <= len(schema.encode("utf-8", "replace")) <= _MAX_NAME_BYTES or schema.startswith("pg_"):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(
                f"schema is {schema!r}; it is a name of 1 to {_MAX_NAME_BYTES} bytes that does not begin with pg_", argument="schema"
            )
        check_texts(schema=schema)
        try:
            parts = conninfo_to_dict(url)
        except (psycopg.Error, TypeError):
            _refuse_url()
        host = parts.get("host") or parts.get("hostaddr") or "localhost"
        port = f":{parts['port']}" if parts.get("port") else ""
        user = f"{parts['user']}@" if parts.get("user") else ""
        return cls(
            make_conninfo("", **{**_DEFAULTS, **parts}),
            schema,
            f"postgresql://{user}{host}{port}/{parts.get('dbname') or ''} (schema {schema})",
        )

    @property
    def channel(self) -> str:
        """The channel on which changes of this schema are told."""
        return f"headrace_{_digest(self.schema)}"

    @property
    def lock(self) -> int:
        """The number of the advisory lock of this schema."""
        return int(_digest(self.schema), 16) - 2**63

    def dialect(self) -> Dialect:
        """Return how PostgreSQL writes the statements, for this schema."""
        schema = _quoted(self.schema)
        literal = "'" + f"{schema}.version".replace("'", "''") + "'"
        words = {
            **{name: f"{schema}.{name}" for name in TABLES},
            **{name: name for name in INDEXES},
            "text": 'TEXT COLLATE "C"',  # so that every database sorts alike
            "blob": "BYTEA",
            "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            "clustered": "",
            "now": _NOW,
            "lock": "FOR UPDATE",
            "turn": f"SELECT pg_advisory_xact_lock({self.lock})",
            "make_schema": f"CREATE SCHEMA IF NOT EXISTS {schema}",
            "has_version": f"SELECT 1 WHERE to_regclass({_escaped(literal)}) IS NOT NULL",
        }
        words = {word: _escaped(text) if text.startswith((schema, "CREATE")) else text for word, text in words.items()}
        return Dialect(words=words, value="%({})s", among="= ANY({})", escape=_escaped)


def _refuse_url() -> NoReturn:
    # Outside of the `except`, and without a cause: what psycopg says of a URL quotes it, with the password.
    help_ = "it is postgresql://user:password@host:port/database, and special characters in it are percent-encoded"
    raise ConfigError(f"the URL of the database cannot be read: {help_}", argument="url") from None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _escaped(text: str) -> str:
    """Return text that stands in a statement with values, for which a percent sign means something."""
    return text.replace("%", "%%")


def run_digest(run_id: str) -> str:
    """Return what a run is called on the channel, whose messages are short."""
    return _digest(run_id)
