"""Sources of tools are opened together and let go of together, whatever happens."""

from __future__ import annotations

import asyncio

import pytest

from headrace.agent.sources import Sources
from headrace.tools.toolset import Toolset


class Source:
    def __init__(self, name, log, *, waits=None, fails=None, closing=None):
        self.name, self.problem, self.toolset = name, None, Toolset()
        self._log, self._waits, self._fails, self._closing = log, waits, fails, closing

    async def open(self):
        if self._waits is not None:
            await self._waits.wait()
        if self._fails is not None:
            raise self._fails
        self._log.append(f"+{self.name}")
        return self.toolset

    async def aclose(self):
        self._log.append(f"-{self.name}")
        if self._closing is not None:
            await self._closing()


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_what_was_opened_is_closed_once(count):
    log = []
    sources = Sources([Source(f"{n}", log) for n in range(count)])
    await sources.open()
    assert sorted(log) == [f"+{n}" for n in range(count)]
    await sources.aclose()
    await sources.aclose()
    assert sorted(log[count:]) == [f"-{n}" for n in range(count)]


@pytest.mark.parametrize("count", [1, 2])
async def test_one_that_fails_leaves_none_open(count):
    log, never = [], asyncio.Event()
    good = [Source("good", log), Source("slow", log, waits=never)][: 2 * (count - 1)]
    sources = Sources([*good, Source("bad", log, fails=OSError("no"))])
    with pytest.raises(OSError, match="no"):
        await sources.open()
    assert sorted(log) == (["+good", "-good"] if good else [])
    await sources.aclose()
    assert len(log) in (0, 2)


async def test_a_caller_that_is_cancelled_leaves_none_open():
    log, never = [], asyncio.Event()
    opening = asyncio.create_task(Sources([Source("good", log), Source("slow", log, waits=never)]).open())
    while log != ["+good"]:  # noqa: ASYNC110 - a source sets no event
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait({opening})
    assert opening.cancelled()
    assert log == ["+good", "-good"]


async def test_a_close_that_is_cancelled_closes_the_others_as_well():
    log, never = [], asyncio.Event()
    sources = Sources([Source("first", log), Source("last", log, closing=never.wait)])
    await sources.open()
    closing = asyncio.create_task(sources.aclose())
    while "-last" not in log:  # noqa: ASYNC110 - the same
        await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    assert closing.cancelled()
    assert log[2:] == ["-last", "-first"]


async def test_one_that_cannot_be_closed_is_said_and_the_others_are_closed(caplog):
    async def fail():
        raise RuntimeError("stuck")

    log = []
    sources = Sources([Source("first", log), Source("last", log, closing=fail)])
    await sources.open()
    await sources.aclose()
    assert log[2:] == ["-last", "-first"]
    assert "last could not be closed" in caplog.text
