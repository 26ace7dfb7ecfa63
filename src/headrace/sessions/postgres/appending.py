"""Batches of many runs in one transaction: a commit, a message to who listens and the ways there and back are shared.

The rule of this file: a group holds at most one batch of a run, so the batches of a run are written one after the other, in the order in which
they came. If the group fails as a whole, each batch is written by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from headrace.errors import HeadraceError, StoreError
from headrace.sessions.postgres.failures import UnreachableError
from headrace.sessions.records import Batch
from headrace.sessions.sql.operation import Make
from headrace.sessions.sql.runs import append
from headrace.sessions.sql.together import together

MOST_TOGETHER: Final = 100
"""How many batches share a transaction at most."""


class Appending:
    """Writes batches, as many at a time as have come while the group before was on its way."""

    def __init__(self, write: Callable[[Make[Any]], Awaitable[Any]]) -> None:
        """Take what carries an operation out."""
        self._write = write
        self._queue: dict[asyncio.Future[None], Batch] = {}
        self._task: asyncio.Task[None] | None = None

    async def append(self, batch: Batch) -> None:
        """Write a batch, and wait until it is kept."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue[future] = batch
        if self._task is None:
            self._task = asyncio.create_task(self._main(), name="headrace postgres appending")
        await future

    async def finish(self) -> None:
        """Wait until all that came has been written."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _main(self) -> None:
        try:
            while group := self._next():
                await self._write_group(group)
        finally:
            self._task = None

    def _next(self) -> dict[asyncio.Future[None], Batch]:
        group: dict[asyncio.Future[None], Batch] = {}
        run_ids: set[str] = set()
        for future, batch in list(self._queue.items()):
            if future.cancelled():
                del self._queue[future]
            elif batch.run_id not in run_ids and len(group) < MOST_TOGETHER:
                run_ids.add(batch.run_id)
                group[future] = self._queue.pop(future)
        # Everybody locks in one order, so that two groups never wait for each other.
        return dict(sorted(group.items(), key=lambda item: item[1].run_id))

    async def _write_group(self, group: dict[asyncio.Future[None], Batch]) -> None:
        makes = [partial(append, batch) for batch in group.values()]
        try:
            outcomes: list[Any] = await self._write(partial(together, makes))
        except UnreachableError as error:  # which took its time; it is no better for one alone
            outcomes = [error] * len(group)
        except StoreError as error:
            outcomes = [error] if len(makes) == 1 else [await self._alone(make) for make in makes]
        except Exception as error:  # noqa: BLE001 - whoever waits gets what was raised; the others go on
            outcomes = [error] * len(group)
        except asyncio.CancelledError:
            for future in group:
                future.cancel()
            raise
        for future, outcome in zip(group, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(None)

    async def _alone(self, make: Make[None]) -> HeadraceError | None:
        try:
            await self._write(make)
        except HeadraceError as error:
            return error
        return None
