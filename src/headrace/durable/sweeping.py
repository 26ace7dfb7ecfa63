"""What a worker's death leaves behind, given to the living: DBOS itself takes up only what a process of the same name had begun.

The rule of this file: the store decides. Whoever hands a dead worker's run over first claims it there, which one worker alone can do, and which
at once shuts out the dead one, should it only have slept; then its workflow goes back into the queue. A run that is on its way and has no
workflow, since somebody died between two steps or DBOS's database was lost, gets one.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection
from typing import Final

from headrace.durable.legs import Leg, run_of
from headrace.durable.system import System, Workflow
from headrace.errors import ConflictError, NotFoundError, StoreError
from headrace.sessions.records import RunRecord
from headrace.sessions.request import Request
from headrace.sessions.store import Store
from headrace.sessions.workers import Watch

LOG: Final = logging.getLogger("headrace.durable")
_FIRST_PAUSE_S: Final = 1.0
_MAX_PAUSE_S: Final = 300.0
_KNOWN_S: Final = 60.0
_TIDY_S: Final = 3600.0


class Sweeper:
    """Sweeps for one worker.

    Attributes:
        handed_over: how many runs of dead workers it has handed over.
    """

    def __init__(
        self,
        store: Store,
        system: System,
        watch: Watch,
        *,
        worker_id: str,
        name: str,
        is_here: Callable[[str], bool],
        keep_s: float | None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Do nothing yet.

        Args:
            store: where the runs are.
            system: where the workflows are.
            watch: knows who lives.
            worker_id: the worker.
            name: what the agent is called in the store; other agents' runs are left alone.
            is_here: whether a run is worked on here, or is being taken up at this moment.
            keep_s: how long DBOS's records of what has ended are kept, in seconds; None: for ever.
            monotonic: a clock, in seconds.
        """
        self.handed_over = 0
        self._store = store
        self._system = system
        self._watch = watch
        self._worker_id = worker_id
        self._name = name
        self._is_here = is_here
        self._keep_s = keep_s
        self._monotonic = monotonic
        self._known: dict[str, float] = {}
        """Runs that are queued, as `id/epoch`, and until when they need not be looked at again."""
        self._pauses: dict[str, tuple[float, float]] = {}
        """By workflow: how long one that has stopped here is left alone, and until when."""
        self._tidy_at = monotonic() + _TIDY_S

    def know(self, record: RunRecord) -> None:
        """A run was queued here just now."""
        self._known[_mark(record)] = self._monotonic() + _KNOWN_S

    async def sweep(self) -> None:
        """Look once.

        Raises:
            StoreError: the store, or DBOS's database, cannot be reached.
        """
        self._watch.look(await self._store.workers())
        pending = await self._system.pending()
        for workflow in pending:
            if workflow.executor != self._worker_id and self._watch.is_dead(workflow.executor):
                await self._hand_over(workflow)
            elif workflow.executor == self._worker_id and not self._is_here(run_of(workflow.id)):
                await self._retry(workflow)
        ids = {one.id for one in pending}
        self._pauses = {workflow_id: pause for workflow_id, pause in self._pauses.items() if workflow_id in ids}
        await self._adopt(ids)
        for worker_id in set(self._watch.dead) - {self._worker_id}:
            await self._store.forget_worker(worker_id)
        await self._tidy()

    async def _hand_over(self, workflow: Workflow) -> None:
        try:
            record = await self._store.run(run_of(workflow.id))
        except NotFoundError:
            record = None  # it was deleted: the workflow sees that itself
        if record is not None and record.status in ("queued", "running"):
            if record.owner != self._worker_id and not self._watch.is_dead(record.owner):
                return  # somebody else is about to hand it over
            try:
                await self._store.claim(record.id, self._worker_id, epoch=record.epoch)
            except (ConflictError, NotFoundError):
                return  # somebody else was faster
        await self._system.hand_over([workflow.id])
        self.handed_over += 1
        LOG.info("workflow %s of %s goes on elsewhere", workflow.id, workflow.executor)

    async def _retry(self, workflow: Workflow) -> None:
        """One of this worker's own stopped here, for example since the store was away: again, after longer and longer pauses."""
        now = self._monotonic()
        pause_s, until = self._pauses.setdefault(workflow.id, (_FIRST_PAUSE_S, now + _FIRST_PAUSE_S))
        if now < until:
            return
        pause_s = min(pause_s * 2, _MAX_PAUSE_S)
        self._pauses[workflow.id] = (pause_s, now + pause_s)
        await self._system.hand_over([workflow.id])

    # ------------------------------------------------------------------------------------------ runs without a workflow

    async def _adopt(self, pending: Collection[str]) -> None:
        """Give runs that are on their way and have no workflow one."""
        runs_pending = {run_of(workflow_id) for workflow_id in pending}
        began, known = self._monotonic(), dict[str, float]()
        before: str | None = None
        while page := await self._store.runs(statuses=("queued", "running"), before=before):
            before = page[-1].id
            for record in page:
                if record.id in runs_pending or self._is_here(record.id) or not self._is_left(record):
                    continue
                mark, now = _mark(record), self._monotonic()
                known[mark] = self._known.get(mark, 0.0)
                if known[mark] <= now:
                    known[mark] = now + _KNOWN_S
                    with contextlib.suppress(NotFoundError):  # it was deleted meanwhile
                        await self._adopt_one(record)
        # What was queued meanwhile is known as well, though it may not be in what was read.
        self._known = {mark: until for mark, until in self._known.items() if until >= began + _KNOWN_S} | known

    def _is_left(self, record: RunRecord) -> bool:
        """Whether nobody else cares for a run of this agent."""
        is_cared_for = record.owner not in (None, self._worker_id) and not self._watch.is_dead(record.owner)
        return not is_cared_for and Request.decoded(record.request).agent == self._name

    async def _adopt_one(self, record: RunRecord) -> None:
        leg = await Leg.present(self._store, record)
        now = await self._store.run(record.id)
        if now.epoch != record.epoch or now.status not in ("queued", "running"):
            return  # it went on meanwhile: the log that was read may be on another leg than the record
        workflow = await self._system.workflow(leg.workflow_id)
        if workflow is None:
            LOG.info("run %s has no workflow and gets one", record.id)
            await self._system.enqueue(leg)
        elif workflow.status == "CANCELLED":  # by somebody who knows DBOS's tools: the run ends as one that was interrupted
            await self._store.signal(record.id, "interrupt")
            await self._system.hand_over([workflow.id])
        elif workflow.status not in ("ENQUEUED", "PENDING", "DELAYED") and (await self._store.run(record.id)).epoch == record.epoch:
            LOG.warning("run %s is not over, but its workflow %s is %s; it gets another one", record.id, workflow.id, workflow.status)
            await self._system.enqueue(leg.instead(record.epoch))

    async def _tidy(self) -> None:
        now = self._monotonic()
        if self._keep_s is None or now < self._tidy_at:
            return
        self._tidy_at = now + _TIDY_S
        try:
            await self._system.delete_older(self._keep_s)
        except StoreError as error:
            LOG.warning("old records of DBOS could not be deleted: %s", error)


def _mark(record: RunRecord) -> str:
    return f"{record.id}/{record.epoch}"
