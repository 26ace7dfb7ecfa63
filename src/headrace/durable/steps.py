"""The steps of a leg as DBOS records them: each model call, each tool call, and that the leg was taken up.

The rule of this file: a step says that something happened and how long it took; what happened is in the run's log, and no content is read out
of a step. So a step that could not be recorded costs nothing but the record, while a worker that does not own the leg any more is told so
when it records, and stops.

A leg that is taken up again goes on where its log ends, not from its start, and so replays nothing: the ids of the steps that were recorded
are drawn and left alone (`DBOS.reserve_step` allows for gaps), and new steps come behind them. That is one read however long the leg is, where
calling each recorded step again would be a read for each; forking or rewinding a workflow would copy or cut what was recorded, and ask for
one of its steps as the place to go on from, which a step that was cut off is not.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar, cast

from dbos import DBOS, StepOptions
from dbos import error as dbos_error

from headrace._json import JSON
from headrace.agent.events import Event
from headrace.agent.journal import RunTool
from headrace.errors import FencedError
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.sessions.journal import StoreJournal

LOG: Final = logging.getLogger("headrace.durable")
T = TypeVar("T")


class Steps:
    """Records the steps of one leg; made in its workflow."""

    def __init__(self, recorded: int = 0) -> None:
        """Go on after the step of this number; 0: there is none yet."""
        self._context = contextvars.copy_context()
        for _ in range(recorded):
            DBOS.reserve_step()

    async def run(self, name: str, work: Callable[[], Awaitable[T]], mark: Callable[[T], JSON]) -> T:
        """Do something as a step, and return what it gave.

        Args:
            name: the step's name.
            work: what is done, once.
            mark: what is recorded of it.

        Raises:
            FencedError: the leg is somebody else's by now, or was cancelled.
            Exception: what `work` raised.
        """
        doing = _Doing(work, mark)
        try:
            if DBOS.step_id is None:
                await _record(name, doing)
            else:  # a tool that starts while the model still speaks; DBOS knows no steps inside of steps
                await asyncio.create_task(_record(name, doing), context=self._context.copy())
        except (dbos_error.DBOSWorkflowConflictIDError, dbos_error.DBOSWorkflowCancelledError) as error:
            raise FencedError(f"workflow {DBOS.workflow_id} goes on elsewhere, or was cancelled") from error
        except Exception as error:  # noqa: BLE001 - DBOS, or its database: what it cannot record is done all the same
            LOG.warning("the step %s could not be recorded, which changes nothing for its run: %s", name, error)
        return await doing.outcome()


async def _record(name: str, doing: _Doing[Any]) -> None:
    await DBOS.reserve_step().run_async(StepOptions(name=name), doing.do)


class _Doing(Generic[T]):
    """Something that is done once, as a step or without one."""

    def __init__(self, work: Callable[[], Awaitable[T]], mark: Callable[[T], JSON]) -> None:
        self._work = work
        self._mark = mark
        self._is_done = False
        self._value: T | None = None
        self._error: Exception | None = None

    async def do(self) -> JSON:
        """Do it, and return what is recorded of it; what it raises is kept for who asked for it."""
        self._is_done = True
        try:
            self._value = await self._work()
        except Exception as error:  # noqa: BLE001 - raised again in `outcome`
            self._error = error
            return {"raised": type(error).__name__}
        return self._mark(self._value)

    async def outcome(self) -> T:
        """Return what came of it; do it if nobody has."""
        if not self._is_done:
            await self.do()
        if self._error is not None:
            raise self._error
        return cast("T", self._value)


class StepJournal(StoreJournal):
    """Writes a run into its store, and has DBOS record its steps."""

    def __init__(self, *args: Any, steps: Steps, **options: Any) -> None:
        """Write nothing yet; the arguments are those of `StoreJournal`."""
        super().__init__(*args, **options)
        self._steps = steps
        self._noted_seq = self.last_seq

    def note(self, event: Event) -> None:
        """Take an event; see `Journal`."""
        self._noted_seq = event.seq
        super().note(event)

    async def answer(self, model: str, read: Callable[[], Awaitable[None]]) -> None:
        """Read an answer as a step; see `StoreJournal`."""
        await self._owned(self._steps.run(f"model:{model}", read, lambda _: {"seq": self._noted_seq}))

    async def tool(self, call_key: str, call: ToolCallPart, run: RunTool) -> ToolResultPart:
        """Run a tool as a step, once the note that it started is kept; see `Journal`."""

        async def kept_and_run() -> ToolResultPart:
            await self.commit()  # the last thing before the tool: who has lost the run by now starts nothing
            return await run()

        def mark(result: ToolResultPart) -> JSON:
            return {"call_key": call_key, "state": result.state}

        return await self._owned(self._steps.run(f"tool:{call.name}", kept_and_run, mark))

    async def _owned(self, step: Awaitable[T]) -> T:
        try:
            return await step
        except FencedError:
            self.let_go()
            raise
