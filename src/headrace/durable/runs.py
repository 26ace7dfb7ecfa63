"""Runs that last, worked on by DBOS: queued, limited, spread over processes and machines, and recovered.

    async with PostgresStore(url) as store, DurableRuns(agent, store, concurrency=8) as runs:
        record = await runs.start("What time is it in Oslo?", session_id="trip")
        await runs.wait(record.id)

The rule of this file: the store is the truth. The log in it holds what happened, a claim's epoch says who may write; DBOS says who works on
what, and when. Each leg of a run (from its start or an answer to where it waits or ends) is a workflow, each model call and each call of a
tool in it a step (`steps.py`). A leg that is taken up again goes on from the run's checkpoint, not from its start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Self

from headrace.agent.agent import Agent
from headrace.durable.database import Database
from headrace.durable.legs import Leg
from headrace.durable.pace import USUAL, Pace
from headrace.durable.steps import StepJournal, Steps
from headrace.durable.sweeping import Sweeper
from headrace.durable.system import CLAIM, System
from headrace.errors import ConflictError, FencedError, NotFoundError, StoreError
from headrace.sessions.front import Front
from headrace.sessions.place import Deps, Place
from headrace.sessions.pulse import Pulse
from headrace.sessions.records import RunRecord
from headrace.sessions.store import Store
from headrace.sessions.workers import Watch

LOG: Final = logging.getLogger("headrace.durable")
MAX_FRUITLESS: Final = 10
"""A run that was left so often by workers before the next step of it was done probably ends them; it ends as interrupted."""
_CLOSE_S: Final = 10.0


class DurableRuns(Front):
    """Works on the runs of one agent by DBOS, or only begins and reads them while other processes do.

    What is said to runs and read of them is in `Front`, as for `Runs`. There is one that works in each process.
    """

    def __init__(
        self,
        agent: Agent,
        store: Store,
        *,
        name: str = "",
        database: str | os.PathLike[str] | Database | None = None,
        works: bool = True,
        concurrency: int | None = None,
        global_concurrency: int | None = None,
        version: str = "",
        deps: Deps | None = None,
        worker_id: str | None = None,
        pace: Pace = USUAL,
        new_id: Callable[[], str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Do nothing yet.

        Args:
            agent: runs them.
            store: where they are kept; it must be open.
            name: what the agent is called in the store, which may hold the runs of several.
            database: where DBOS keeps its records: a PostgreSQL URL, or a file; None: beside the store.
            works: whether runs are worked on in this process; otherwise they are queued for those that do.
            concurrency: how many runs a worker works on at once. It belongs to the queue: all workers have the one that was said last.
            global_concurrency: how many runs all workers together work on at once; also the queue's.
            version: the version of your program, if runs that one version began must not be gone on with by another. By default any may:
                the log says where a run is, not the program.
            deps: what the tools of a run get as `context.deps`.
            worker_id: the name of this process; by default one that no other has.
            pace: how often it does what it does beside the runs.
            new_id: makes the ids of runs.
            monotonic: the clock by which others are watched, in seconds.

        Raises:
            ConfigError: no database is said, and the store has none that DBOS knows.
        """
        place = Place(agent, store, deps=deps, coalesce_s=pace.coalesce_s)
        super().__init__(agent, store, place, name=name, worker_id=worker_id, new_id=new_id)
        self._works = works
        self._pace = pace
        self._legs: dict[str, asyncio.Task[Any]] = {}
        """The tasks of the legs that are worked on here, by their runs."""
        self._pulse = Pulse()
        self._system = System(
            Database.of(database, store),
            self._work_on if works else None,
            worker_id=self.worker_id,
            name=name,
            version=version,
            concurrency=concurrency,
            global_concurrency=global_concurrency,
            poll_s=pace.poll_s,
        )
        watch = Watch(monotonic, dead_after_s=pace.dead_after_s)
        self._sweeper = Sweeper(
            store, self._system, watch, worker_id=self.worker_id, name=name, is_here=self._is_here, keep_s=pace.keep_s, monotonic=monotonic
        )

    async def __aenter__(self) -> Self:
        if self._works:
            await self.agent.__aenter__()
        try:
            await self.store.beat(self.worker_id)
            self._is_open = True
            await self._system.open()
            await self._sweeper.sweep()
        except BaseException:
            await self._close()
            raise
        self._pulse.every(self._pace.beat_s, lambda: self.store.beat(self.worker_id), "beat")
        self._pulse.every(self._pace.beat_s, self._sweeper.sweep, "sweep")
        if self._works:
            self._pulse.every(self._pace.listen_s, self._place.listen, "listen")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Let go of all runs and give them back to the queue: other workers take them up at once."""
        await self._close(*exc_info)

    async def _close(self, *exc_info: object) -> None:
        self._is_open = False
        await self._pulse.stop()
        self._place.let_go()
        if self._legs:
            await asyncio.wait(self._legs.values(), timeout=_CLOSE_S)  # one that waits for a database that is away would wait with it
        await self._system.close()
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):  # a store may be more patient than whoever wants this process to end
                await self.store.forget_worker(self.worker_id)
        if self._works:
            await self.agent.__aexit__(*exc_info)

    async def sweep(self) -> int:
        """Hand the runs of workers that are dead to living ones, and return how many. It is called now and then by itself."""
        before = self._sweeper.handed_over
        await self._sweeper.sweep()
        return self._sweeper.handed_over - before

    def _is_here(self, run_id: str) -> bool:
        """Whether a run is worked on in this process, or is being taken up at this moment."""
        return run_id in self._legs or run_id in self._claiming

    # ------------------------------------------------------------------------------------------ having runs worked on

    async def _begin(self, record: RunRecord) -> RunRecord:
        await self._enqueue(record, Leg.first(record))
        return record

    async def _go_on(self, record: RunRecord) -> None:
        await self._enqueue(record, Leg.next(record))

    async def _enqueue(self, record: RunRecord, leg: Leg) -> None:
        try:
            await self._system.enqueue(leg)
            self._sweeper.know(record)
        except StoreError as error:  # the run is kept, so it is queued once somebody looks for such
            LOG.warning("run %s is queued later: %s", leg.run_id, error)

    # ------------------------------------------------------------------------------------------ working

    async def _work_on(self, workflow_id: str, leg: Leg) -> None:
        """Work on a leg, in its workflow.

        Raises:
            asyncio.CancelledError: it stops here, and its workflow is left as it is, for whoever comes next.
        """
        run_id = leg.run_id
        while (before := self._legs.get(run_id)) is not None:  # the leg before is being left at this moment
            await asyncio.wait([before])
        if not self._is_open:
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        self._legs[run_id] = task
        try:
            await self._leg(workflow_id, leg)
        except FencedError as error:
            LOG.info("run %s goes on elsewhere: %s", run_id, error)
            raise asyncio.CancelledError from error
        except StoreError as error:
            LOG.exception("run %s stops here; it is gone on with once its store can be reached", run_id)
            raise asyncio.CancelledError from error
        except Exception as error:
            LOG.exception("run %s stops here", run_id)
            raise asyncio.CancelledError from error
        finally:
            del self._legs[run_id]

    async def _leg(self, workflow_id: str, leg: Leg) -> None:
        recorded = await self._system.recorded(workflow_id)
        steps = Steps(recorded.last)
        record = await self._claimed(leg, steps)
        if record is None:
            return
        execution = self._place.enter(record, journal=partial(StepJournal, steps=steps))
        if recorded.fruitless >= MAX_FRUITLESS:
            LOG.error(
                "run %s ends here: %d workers took it up, one after the other, and none got on with it", leg.run_id, recorded.fruitless
            )
            execution.interrupt()
        try:
            await self._work(execution)
        finally:
            self._place.leave(execution)

    async def _claimed(self, leg: Leg, steps: Steps) -> RunRecord | None:
        """Claim the run of a leg and return it, or None if there is nothing left to do.

        The step in between says whether this worker owns the leg: who was asleep, and lost it, stops here, and who loses it only now finds
        the run claimed by another.
        """
        while True:
            try:
                record = await self.store.run(leg.run_id)
            except NotFoundError:
                return None
            if await leg.is_over(self.store, record):
                return None
            await steps.run(CLAIM, _nothing, lambda _: {"epoch": record.epoch})  # noqa: B023 - it is recorded at once
            with contextlib.suppress(ConflictError):
                return await self.store.claim(record.id, self.worker_id, epoch=record.epoch)


async def _nothing() -> None:
    """Do nothing."""
