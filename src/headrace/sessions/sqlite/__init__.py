"""A store in one SQLite file, for one machine: any number of processes may use it at a time."""

from headrace.sessions.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
