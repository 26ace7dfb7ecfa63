"""DBOS, as one process uses it: launched and shut down, asked for workflows, told to hand them over.

The rule of this file: only what DBOS documents is called. Workflows are looked at and handed over through a `DBOSClient`, since the same
calls through `DBOS` would count as steps of the workflow in which they happen to be made.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, WorkflowStatus
from dbos import error as dbos_error
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from headrace.durable.database import Database
from headrace.durable.legs import Leg
from headrace.errors import StateError, StoreError

LOG: Final = logging.getLogger("headrace.durable")
APPLICATION: Final = "headrace"
WORKFLOW: Final = "headrace.leg"
CLAIM: Final = "claim"
"""The step with which a worker takes a leg up."""
VERSION: Final = "headrace-1"
"""Of the workflow and its steps; DBOS lets a worker take up only what its own version has begun. Ours changes only with what a leg is."""
_PAGE: Final = 500

Work = Callable[[str, Leg], Awaitable[None]]
"""Works on a leg, in the workflow of this id."""


class Workflow(msgspec.Struct, frozen=True):
    """A workflow, as DBOS keeps it.

    Attributes:
        id: its id.
        status: `ENQUEUED`, `PENDING` (somebody works on it, or died), `SUCCESS`, `ERROR`, `CANCELLED` and rarer ones.
        executor: who took it up last, or None.
    """

    id: str
    status: str
    executor: str | None


class Recorded(msgspec.Struct, frozen=True):
    """What is recorded of a workflow's steps.

    Attributes:
        last: the number of the last one, or 0.
        fruitless: how often the workflow was taken up since, and left before another step was done.
    """

    last: int
    fruitless: int


class System:
    """DBOS in this process, or, where nothing is worked on here, only the way to it."""

    def __init__(
        self,
        database: Database,
        work: Work | None,
        *,
        worker_id: str,
        name: str = "",
        version: str = "",
        concurrency: int | None = None,
        global_concurrency: int | None = None,
        poll_s: float,
    ) -> None:
        """Do nothing yet.

        Args:
            database: where DBOS keeps its records.
            work: works on a leg; None: nothing is worked on in this process.
            worker_id: the name of this process.
            name: what the agent is called; each has a queue of its own.
            version: added to our own version of workflows.
            concurrency: how many runs a worker works on at once.
            global_concurrency: how many all workers together.
            poll_s: how often is looked for a queued run, in seconds.
        """
        self._database = database
        self._work = work
        self._worker_id = worker_id
        self._queue = f"{APPLICATION}:{name}" if name else APPLICATION
        self._version = f"{VERSION}-{version}" if version else VERSION
        self._concurrency = concurrency
        self._global_concurrency = global_concurrency
        self._poll_s = poll_s
        self._engine: Engine | None = None
        self._reached: DBOSClient | None = None

    async def open(self) -> None:
        """Connect, bring DBOS's tables up to date, and let it begin to work if it works here.

        Raises:
            StateError: DBOS works in this process already; there is one in each.
            StoreError: the database cannot be reached or written.
        """
        try:
            async with _as_store_errors("cannot be opened"):
                self._engine = self._database.engine()
                if self._work is None:
                    await asyncio.to_thread(DBOS.migrate, self._database.sqlalchemy_url, schema=self._database.schema)
                else:
                    self._launch()  # in the event loop's own thread, so that workflows run in this loop
                self._reached = self._client()
                await self._register()
        except BaseException:
            await self.close()
            raise

    def _launch(self) -> None:
        logger = logging.getLogger("dbos")
        if not logger.handlers:  # else DBOS writes to standard error by a handler of its own
            logger.addHandler(logging.NullHandler())
        config = DBOSConfig(
            name=APPLICATION,
            system_database_engine=self._engine,
            dbos_system_schema=self._database.schema,
            application_version=self._version,
            executor_id=self._worker_id,
            serializer=DBOSPortableJSONSerializer(),
            log_level="ERROR",
            enable_otlp=False,
        )
        if _HERE:
            raise StateError(
                "DBOS works in this process already; close the other DurableRuns first, give it works=False, or use another process"
            )
        dbos = DBOS(config=config)
        if DBOS.executor_id != self._worker_id:
            raise StateError("this process has a DBOS of its own already, and there is one in each; run headrace worker in another one")
        _HERE.append(self)
        dbos.listen_queues([self._queue])
        DBOS.launch()

    def _client(self) -> DBOSClient:
        return DBOSClient(
            system_database_engine=self._engine,
            dbos_system_schema=self._database.schema,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
            lazy=True,
        )

    async def _register(self) -> None:
        await self._dbos.register_queue_async(
            self._queue,
            worker_concurrency=self._concurrency,
            global_concurrency=self._global_concurrency,
            polling_interval_sec=self._poll_s,
            on_conflict="never_update" if self._work is None else "always_update",
        )

    @property
    def _dbos(self) -> DBOSClient:
        if self._reached is None:
            raise StateError("DBOS is not open here")
        return self._reached

    async def close(self) -> None:
        """Stop DBOS here, and give what it was working on back to the queue."""
        if self in _HERE:
            await _destroyed()
            if self._reached is not None:
                try:
                    await self.hand_over([one.id for one in await self.pending() if one.executor == self._worker_id])
                except StoreError as error:
                    LOG.warning("what was worked on here is taken over once this worker is found dead: %s", error)
        if self._reached is not None:
            self._reached.destroy()
            self._reached = None
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    # ------------------------------------------------------------------------------------------ workflows

    async def enqueue(self, leg: Leg) -> None:
        """Have somebody work on a leg; one that was enqueued already is not enqueued again."""
        async with _as_store_errors("cannot take a run"):
            await self._dbos.enqueue_async(
                {"workflow_name": WORKFLOW, "queue_name": self._queue, "workflow_id": leg.workflow_id, "app_version": self._version},
                leg.run_id,
                leg.after,
                leg.born,
            )

    async def pending(self) -> list[Workflow]:
        """Return the workflows of this agent that somebody works on, or died on."""
        found: list[Workflow] = []
        async with _as_store_errors("cannot be read"):
            while page := await self._listed(status="PENDING", queue_name=self._queue, limit=_PAGE, offset=len(found)):
                found += page
                if len(page) < _PAGE:
                    break
        return found

    async def workflow(self, workflow_id: str) -> Workflow | None:
        """Return a workflow, or None if there is none of this id."""
        async with _as_store_errors("cannot be read"):
            found = await self._listed(workflow_ids=[workflow_id])
        return found[0] if found else None

    async def _listed(self, **conditions: Any) -> list[Workflow]:
        listed: Sequence[WorkflowStatus] = await self._dbos.list_workflows_async(load_input=False, load_output=False, **conditions)
        return [Workflow(one.workflow_id, one.status, one.executor_id) for one in listed]

    async def hand_over(self, workflow_ids: Sequence[str]) -> None:
        """Put workflows back into the queue; who worked on them owns them no more. Nothing happens to those that are over."""
        if workflow_ids:
            async with _as_store_errors("cannot hand runs over"):
                await self._dbos.resume_workflows_async(list(workflow_ids), queue_name=self._queue)

    async def recorded(self, workflow_id: str) -> Recorded:
        """Return what is recorded of a workflow's steps."""
        async with _as_store_errors("cannot be read"):
            steps = await self._dbos.list_workflow_steps_async(workflow_id, load_output=False)
        names = [step["function_name"] for step in sorted(steps, key=lambda step: step["function_id"])]
        fruitless = next((n for n, name in enumerate(reversed(names)) if name != CLAIM), len(names))
        return Recorded(max((step["function_id"] for step in steps), default=0), fruitless)

    async def delete_older(self, age_s: float) -> int:
        """Delete what is kept of workflows that ended so many seconds ago, and return how many."""
        before = (datetime.now(UTC) - timedelta(seconds=age_s)).isoformat()
        deleted = 0
        async with _as_store_errors("cannot delete"):
            while page := await self._listed(status=["SUCCESS", "ERROR", "CANCELLED"], name=WORKFLOW, completed_before=before, limit=_PAGE):
                await self._dbos.delete_workflows_async([one.id for one in page])
                deleted += len(page)
        return deleted


_HERE: Final[list[System]] = []
"""The one that works in this process."""


async def _destroyed() -> None:
    """Shut DBOS down in a thread, since it waits for threads of its own that may wait for this loop."""
    loop = asyncio.get_running_loop()
    executor = ThreadPoolExecutor(thread_name_prefix="headrace-after-dbos")
    await loop.run_in_executor(executor, DBOS.destroy)
    loop.set_default_executor(executor)  # DBOS had put its own in place, which is shut down now
    _HERE.clear()


def is_stuck(patience_s: float = 2.0) -> bool:
    """Whether threads of DBOS, which was shut down, still wait for a database that does not answer."""
    deadline = time.monotonic() + patience_s
    for thread in threading.enumerate():
        if thread.name.startswith("dbos-executor-"):
            thread.join(max(deadline - time.monotonic(), 0))
            if thread.is_alive():
                return True
    return False


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
async def _leg(run_id: str, after: int, born: int) -> None:
    work, workflow_id = _HERE[0]._work if _HERE else None, DBOS.workflow_id
    if work is None or workflow_id is None:
        raise asyncio.CancelledError  # it stays as it is, for whoever comes next
    await work(workflow_id, Leg(run_id, after, born))


@asynccontextmanager
async def _as_store_errors(what: str) -> AsyncGenerator[None]:
    try:
        yield
    except (SQLAlchemyError, dbos_error.DBOSException, OSError) as error:
        raise StoreError(f"DBOS's database {what}: {error}") from error
