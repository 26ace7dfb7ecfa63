"""Where the runs of workers that are processes of their own are kept: a file, or a database of the test's own in a real PostgreSQL."""

from __future__ import annotations

import os
import uuid

SOAK = float(os.environ.get("HEADRACE_SOAK") or 0)
"""How much of the long forms runs: 0: the short ones, 1: all; see `make soak`."""


def count(short, long):
    """How often something is done: as CI does it, or in the long form."""
    return max(short, type(short)(long * SOAK))


def database_in(server):
    """Make a database, and return its URL."""
    import psycopg

    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.url.replace("/postgres?", f"/{name}?")


def place_of(request, tmp_path):
    """Return where to keep runs, for a fixture with the parameters `sqlite` and `postgres`."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    return database_in(request.getfixturevalue("postgres_server"))
