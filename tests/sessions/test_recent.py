"""The end of a log in memory."""

from __future__ import annotations

import asyncio

from headrace.sessions.recent import Recent
from headrace.sessions.records import Batch, Entry


def batch(*seqs: int, size: int = 1) -> Batch:
    return Batch(run_id="r", epoch=1, after=seqs[0] - 1, entries=tuple(Entry(seq, b"x" * size) for seq in seqs))


def seqs(entries: tuple[Entry, ...] | None) -> list[int] | None:
    return None if entries is None else [entry.seq for entry in entries]


def test_it_gives_what_comes_after_an_event():
    recent = Recent(10)
    recent.add(batch(11, 13))
    recent.add(batch(14))
    assert seqs(recent.above(10)) == [11, 13, 14]
    assert seqs(recent.above(12)) == [13, 14]
    assert seqs(recent.above(14)) == []
    assert recent.last_seq == 14


def test_who_is_further_behind_reads_from_the_store():
    assert Recent(10).above(9) is None


def test_it_never_holds_more_than_its_bound():
    recent = Recent(0, max_bytes=100)
    for seq in range(1, 50):
        recent.add(batch(seq, size=30))
    assert seqs(recent.above(46)) == [47, 48, 49]
    assert recent.above(45) is None


async def test_readers_wake_at_news_and_at_the_end():
    recent = Recent(0)
    waiting = [asyncio.create_task(recent.news()) for _ in range(3)]
    await asyncio.sleep(0)
    recent.add(batch(1))
    await asyncio.gather(*waiting)
    last = asyncio.create_task(recent.news())
    await asyncio.sleep(0)
    recent.close()
    await last
    await recent.news()  # over: nothing to wait for


async def test_a_reader_that_leaves_does_not_wake_or_hold_others():
    recent = Recent(0)
    stays, leaves = asyncio.create_task(recent.news()), asyncio.create_task(recent.news())
    await asyncio.sleep(0)
    leaves.cancel()
    await asyncio.wait((leaves,))
    assert not stays.done()
    recent.add(batch(1))
    await stays
