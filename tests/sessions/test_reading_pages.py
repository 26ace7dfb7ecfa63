"""How much of a log a reader holds at once."""

from __future__ import annotations

from headrace.sessions.memory import MemoryStore
from headrace.sessions.reading import FIRST, LEAST, PAGE, read
from headrace.sessions.records import NewRun
from store_ground import batch


class Watched(MemoryStore):
    """Notes how many events were asked for."""

    def __init__(self):
        super().__init__()
        self.limits = []

    async def entries(self, run_id, after=0, limit=1000):
        self.limits.append(limit)
        return await super().entries(run_id, after, limit)


async def log_of(size, count):
    store = Watched()
    await store.create_run(NewRun(id="r"))
    await store.claim("r", "me", epoch=0)
    await store.append(batch("r", *range(1, count + 1), size=size, status="ended", generate_reason="completed"))
    pages = [page async for page in read(store, "r")]
    assert [entry.seq for page in pages for entry in page] == list(range(1, count + 1))
    return store.limits, [len(page) for page in pages]


async def test_pages_of_small_events_grow():
    limits, _ = await log_of(10, 3000)
    assert limits[:4] == [FIRST, FIRST * 2, FIRST * 4, PAGE]


async def test_pages_of_large_events_shrink():
    limits, sizes = await log_of(200_000, 120)
    assert limits[:3] == [FIRST, FIRST // 4, LEAST]
    assert set(sizes[2:]) == {LEAST}
