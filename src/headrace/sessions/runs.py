"""Runs that last: begun, read, answered and interrupted from anywhere, and gone on with after a crash.

    async with SQLiteStore("runs.db") as store, Runs(agent, store) as runs:
        record = await runs.start("What time is it in Oslo?", session_id="trip")
        async for entry in runs.read(record.id):
            print(entry.data)

The rule of this file: a run belongs to the store, not to whoever asked for it or reads it. It goes on when they leave; when the process
ends it is let go of as it stands, and the next one that opens the store goes on with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Final, Self

from headrace.agent.agent import Agent
from headrace.errors import ConflictError, FencedError, NotFoundError, StoreError
from headrace.sessions.executing import Execution
from headrace.sessions.front import Front
from headrace.sessions.journal import COALESCE_S
from headrace.sessions.place import Deps, Place
from headrace.sessions.pulse import Pulse
from headrace.sessions.records import RunRecord
from headrace.sessions.request import Request
from headrace.sessions.store import Store
from headrace.sessions.workers import BEAT_S, DEAD_AFTER_S, LISTEN_S, Watch

LOG: Final = logging.getLogger("headrace.sessions")


class Runs(Front):
    """Works on the runs of one agent, kept in a store. Any number of processes may do so with the same store.

    What is said to runs and read of them is in `Front`. A store is worked on by `Runs` or by `DurableRuns`, not by both.
    """

    def __init__(
        self,
        agent: Agent,
        store: Store,
        *,
        name: str = "",
        deps: Deps | None = None,
        worker_id: str | None = None,
        max_running: int | None = None,
        coalesce_s: float = COALESCE_S,
        beat_s: float = BEAT_S,
        dead_after_s: float = DEAD_AFTER_S,
        listen_s: float = LISTEN_S,
        new_id: Callable[[], str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Do nothing yet.

        Args:
            agent: runs them.
            store: where they are kept; it must be open.
            name: what the agent is called in the store: one store may hold the runs of several, and each goes on with its own.
            deps: what the tools of a run get as `context.deps`.
            worker_id: the name of this process; by default one that no other has.
            max_running: how many runs are worked on at once; the others are queued. None: all.
            coalesce_s: how long deltas wait for others of their part, in seconds.
            beat_s: how often this process says that it lives, in seconds.
            dead_after_s: how long another one may be silent before its runs are taken over, in seconds.
            listen_s: how often is looked for what other processes say to the runs here, in seconds.
            new_id: makes the ids of runs.
            monotonic: the clock by which others are watched, in seconds.
        """
        place = Place(agent, store, deps=deps, coalesce_s=coalesce_s)
        super().__init__(agent, store, place, name=name, worker_id=worker_id, new_id=new_id)
        self._beat_s = beat_s
        self._listen_s = listen_s
        self._watch = Watch(monotonic, dead_after_s=dead_after_s)
        self._room = None if max_running is None else asyncio.Semaphore(max_running)
        self._tasks: set[asyncio.Task[None]] = set()
        self._pulse = Pulse()

    async def __aenter__(self) -> Self:
        await self.agent.__aenter__()
        self._is_open = True
        await self.store.beat(self.worker_id)
        await self.take_over()
        self._pulse.every(self._beat_s, lambda: self.store.beat(self.worker_id), "beat")
        self._pulse.every(self._beat_s, self.take_over, "take-over")
        self._pulse.every(self._listen_s, self._place.listen, "listen")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Let go of all runs: they stay as they are, for whoever opens the store next."""
        self._is_open = False
        await self._pulse.stop()
        self._place.let_go()
        if self._tasks:
            await asyncio.wait(self._tasks)
        with contextlib.suppress(StoreError):
            await self.store.forget_worker(self.worker_id)
        await self.agent.__aexit__(*exc_info)

    # ------------------------------------------------------------------------------------------ working

    async def take_over(self) -> int:
        """Go on with the runs of workers that are dead, and return how many. It is called now and then by itself."""
        self._watch.look(await self.store.workers())
        taken = 0
        before: str | None = None
        while self._is_open:
            page = await self.store.runs(statuses=("queued", "running"), before=before)
            for record in page:
                if record.id in self._place.here or record.id in self._claiming:
                    continue
                # One of this worker's own that is not here stopped when the store could not be reached.
                is_left = record.owner == self.worker_id or self._watch.is_dead(record.owner)
                if is_left and Request.decoded(record.request).agent == self.name:
                    with contextlib.suppress(ConflictError, NotFoundError):  # somebody else was faster
                        await self._claim(record)
                        taken += 1
            if not page:
                break
            before = page[-1].id
        for worker_id in set(self._watch.dead) - {self.worker_id}:
            await self.store.forget_worker(worker_id)
        return taken

    async def _begin(self, record: RunRecord) -> RunRecord:
        try:
            return await self._claim(record)
        except ConflictError:  # another worker has seen it, and was faster
            return await self.store.run(record.id)

    async def _go_on(self, record: RunRecord) -> None:
        task = asyncio.create_task(self._through(self._place.enter(record)), name=f"headrace-run-{record.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _through(self, execution: Execution) -> None:
        run_id = execution.record.id
        try:
            async with self._room or contextlib.nullcontext():
                await self._work(execution)
        except FencedError:
            LOG.info("run %s goes on elsewhere", run_id)
        except StoreError:
            LOG.exception("run %s stops here; it is gone on with once its store can be reached", run_id)
        except Exception:
            LOG.exception("run %s stops here", run_id)
        finally:
            self._place.leave(execution)
