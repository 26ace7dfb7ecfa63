"""Which store a name means: memory, a file, a database; or the user's own where nothing is named.

The rule of this file: it opens nothing; what an extra brings is imported when it is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote

from headrace.errors import ConfigError
from headrace.sessions.memory import MemoryStore
from headrace.sessions.sqlite import SQLiteStore
from headrace.sessions.store import Store

VARIABLE: Final = "HEADRACE_DATABASE"
"""The environment variable that names the store where nobody else does."""
_SQLITE: Final = "sqlite:///"


def open_store(where: str | os.PathLike[str] | None = None) -> Store:
    """Return a store, to be used as `async with`.

    Args:
        where: `memory:`; a path, or `sqlite:///` and a path (`sqlite:////` begins an absolute one); `postgresql://…` or `postgres://…`. None: what
            the environment names in `HEADRACE_DATABASE`, else a file in the user's own data folder.

    Raises:
        ConfigError: it is none of these.
        MissingExtraError: it is PostgreSQL, and the extra `postgres` is not installed.
    """
    if where is None:
        where = os.environ.get(VARIABLE) or default_path()
    if not isinstance(where, str):
        return SQLiteStore(where)
    scheme = where.partition(":")[0].lower()
    if scheme in ("postgresql", "postgres"):
        module: Any = importlib.import_module("headrace.sessions.postgres")
        return cast("Store", module.PostgresStore(where))
    if where == "memory:":
        return MemoryStore()
    if where.startswith(_SQLITE):
        return SQLiteStore(_path(unquote(where.removeprefix(_SQLITE)), where))
    if "://" in where:  # the rest may hold a password
        help_ = "it is memory:, a path, sqlite:///path or postgresql://user:password@host/database"
        raise ConfigError(f"the name of a store begins with {scheme + '://'!r}; {help_}", argument="where")
    return SQLiteStore(_path(where, where))


def _path(path: str, where: str) -> str:
    if not path.strip() or "\0" in path:
        raise ConfigError(f"the name of a store is {where!r}, which names no file", argument="where")
    return path


def default_path(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the file in the user's own data folder: where the system wants it, or where `XDG_DATA_HOME` says."""
    home = Path.home()
    match platform:
        case "win32":
            base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        case "darwin":
            base = Path(environ.get("XDG_DATA_HOME") or home / "Library" / "Application Support")
        case _:
            base = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "headrace" / "headrace.db"
