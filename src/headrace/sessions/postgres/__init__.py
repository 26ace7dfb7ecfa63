"""A store in PostgreSQL, for many machines: `pip install 'headrace[postgres]'`.

Importing this without the extra raises `MissingExtraError`.
"""

from headrace.errors import MissingExtraError

try:
    import psycopg as _psycopg
    import psycopg_pool as _psycopg_pool
except ImportError as error:
    raise MissingExtraError("postgres", feature="a store in PostgreSQL", module="psycopg (with its pool)") from error

from headrace.sessions.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
del _psycopg, _psycopg_pool
