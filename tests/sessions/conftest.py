"""One store after the other: a test that asks for `store` runs over each kind."""

from __future__ import annotations

import pytest

from headrace.sessions.memory import MemoryStore
from store_ground import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory"])
async def store(request, clock):
    async with MemoryStore(now=clock) as store:
        yield store
