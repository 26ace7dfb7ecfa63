"""Durable runs need DBOS; there is one of it in each process, and it is open only while a test's block is."""

from __future__ import annotations

import pytest

from headrace.sessions.sqlite import SQLiteStore

pytest.importorskip("dbos", reason="the extra is missing: pip install 'headrace[durable]'")


@pytest.fixture
async def store(tmp_path):
    async with SQLiteStore(tmp_path / "runs.db", synchronous="normal") as store:
        yield store
