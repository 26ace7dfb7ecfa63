"""What PostgreSQL said, sorted: will it pass by itself, and what is a person told.

The rule of this file: pure; no password is in what it says, since it quotes the server alone.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from headrace.errors import StoreError
from headrace.sessions.postgres.address import Address

_AGAIN: Final = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
_GONE: Final = (
    *(errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.DatabaseDropped, errors.IdleSessionTimeout),
    errors.IdleInTransactionSessionTimeout,
    *(errors.TooManyConnections, errors.ReadOnlySqlTransaction),
)
"""A server that stops, starts, is full, or hands its work over to another one."""
_HELP: Final[dict[type[Exception], str]] = {
    errors.DiskFull: "the server's disk is full: make room, and do it again",
    errors.OutOfMemory: "the server has no memory left: see to it, and do it again",
    errors.InsufficientPrivilege: "the user may not do that: GRANT it the rights on the schema, or name another schema",
    errors.InvalidCatalogName: "there is no such database: make it with createdb, or name another one in the URL",
    errors.InvalidPassword: "the password is wrong, or missing from the URL",
    errors.InvalidAuthorizationSpecification: "the server does not let this user in: see the user in the URL, and pg_hba.conf",
    errors.DataCorrupted: "the server says that its data are damaged: what can be read goes on; put a copy back",
    errors.IndexCorrupted: "the server says that an index is damaged: REINDEX the schema",
    errors.UndefinedTable: "a table is missing: somebody dropped it; open the store again to make it, or put a copy back",
    errors.InvalidSchemaName: "the schema is missing: somebody dropped it; open the store again to make it, or put a copy back",
    errors.ReadOnlySqlTransaction: "the server takes no writes: it is a copy of another one; name that one in the URL",
}


_LOGIN: Final[dict[str, type[Exception]]] = {
    r'database ".*" does not exist': errors.InvalidCatalogName,
    r'role ".*" (does not exist|is not permitted)': errors.InvalidAuthorizationSpecification,
    r"pg_hba\.conf": errors.InvalidAuthorizationSpecification,
    "authentication failed": errors.InvalidPassword,
    "no password supplied": errors.InvalidPassword,
}
"""How a refusal reads while connecting, when psycopg gives no code. Where the server says it in another language, it is tried again, in vain."""


class UnreachableError(StoreError):
    """The database was away for longer than it is waited for."""


def will_pass(error: Exception) -> bool:
    """Return whether the same thing may go well a moment later."""
    if isinstance(error, (*_AGAIN, *_GONE, PoolTimeout, TooManyRequests)):
        return True
    if isinstance(error, PoolClosed) or not isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return False
    # Without a code the server did not answer at all: it is away, or the connection broke. What is wrong with a password is
    # told without one too, while connecting.
    return error.sqlstate is None and not _is_about_login(error)


def _is_about_login(error: Exception) -> bool:
    return any(re.search(words, str(error)) for words in _LOGIN)


def failure(address: Address, error: Exception, *, after_s: float | None = None, is_unsure: bool = False) -> StoreError:
    """Return the error to raise.

    Args:
        address: the database.
        error: what was said last.
        after_s: for how long it was tried.
        is_unsure: whether it may have been written all the same, since the answer to the commit did not come.
    """
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    kinds = [kind for words, kind in _LOGIN.items() if getattr(error, "sqlstate", None) is None and re.search(words, text)]
    for kind, help_ in _HELP.items():
        if isinstance(error, kind) or kind in kinds[:1]:
            return StoreError(f"database {address}: {help_} (PostgreSQL: {text})")
    if after_s is None:
        return StoreError(f"database {address}: PostgreSQL could not do it: {text}")
    unsure = "; what was being written may have been written" if is_unsure else "; nothing was written"
    return UnreachableError(
        f"database {address} could not be reached for {after_s:.0f} s{unsure}; see whether the server runs and the network lets us through ({text})"
    )
