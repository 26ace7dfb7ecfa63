"""One store after the other: a test that asks for `store` runs over each kind."""

from __future__ import annotations

import pytest

from headrace.sessions.memory import MemoryStore
from headrace.sessions.sqlite import SQLiteStore
from store_ground import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def new_store(request, clock, tmp_path):
    """Makes a store, not open yet; two of a database share what it holds."""
    if request.param == "memory":
        return lambda: MemoryStore(now=clock)
    return lambda: SQLiteStore(tmp_path / "store.db", now=clock)


@pytest.fixture
async def store(new_store):
    async with new_store() as store:
        yield store
