"""What went wrong with a SQLite file, in words: which file, what happened, what helps.

The rule of this file: pure; SQLite's own text stands behind ours, never alone.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from headrace.errors import StoreError

_DAMAGED: Final = "what can be read goes on; copy the file, and save what is left: sqlite3 FILE .recover"
_HELP: Final[dict[int, tuple[str, str]]] = {
    sqlite3.SQLITE_FULL: ("the disk is full (or the limit of the file's size is reached)", "make room, and do it again"),
    sqlite3.SQLITE_IOERR: ("the disk could not be read or written", "see whether it is full, mounted and sound, and do it again"),
    sqlite3.SQLITE_READONLY: ("it cannot be written", "give this user the right to write the file and its folder, or name another file"),
    sqlite3.SQLITE_PERM: ("it cannot be written", "give this user the right to write the file and its folder, or name another file"),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "see whether the folder is there and this user may write into it"),
    sqlite3.SQLITE_NOTADB: ("it is no SQLite database, or its beginning is damaged", "name another file, or put a copy back"),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", _DAMAGED),
    sqlite3.SQLITE_BUSY: ("another process holds it, for longer than this one waits", "end that process, or wait longer: busy_timeout_s"),
    sqlite3.SQLITE_TOOBIG: ("something is larger than SQLite takes", "a value may hold a billion bytes at most"),
}


class MovedError(sqlite3.OperationalError):
    """The file is not where it was: what is written to it now would be lost. SQLite does not look, so we do."""


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's primary code for an error, 0 if it is Python's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def failure(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """Return the error to raise for what SQLite or the system said of a file."""
    if isinstance(error, OSError):
        return StoreError(f"database {path}: {error.strerror or error}; see whether its folder is there and this user may write into it")
    if isinstance(error, MovedError):
        help_ = "put it back, or close the store and open it again; what was confirmed before is in the file that was there"
        return StoreError(f"database {path}: the file was deleted, moved or replaced while it was open; {help_}")
    if code_of(error) in _HELP:
        what, help_ = _HELP[code_of(error)]
        return StoreError(f"database {path}: {what}; {help_} (SQLite: {error})")
    return StoreError(f"database {path}: SQLite could not do it: {error}")
