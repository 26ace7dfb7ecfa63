"""A run's journal in a store: its events in batches, with where it stands.

The rule of this file: what is written is always a whole truth: a batch holds the events up to some moment and the checkpoint of that
moment, or events that change nothing in it. Slight events (deltas) wait for a moment, so that many become one; all others are written at
once. Nothing is written once the journal has let go, or another worker has taken the run over.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from headrace.agent.event_codec import encode_event
from headrace.agent.events import Event, RunEnded
from headrace.agent.journal import RunTool
from headrace.agent.run_result import RunResult
from headrace.errors import FencedError, StateError, StoreError
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.sessions.checkpoint import checkpoint_of
from headrace.sessions.coalesce import coalesced, is_slight
from headrace.sessions.records import Batch, Entry, RunRecord, RunStatus
from headrace.sessions.store import Store

COALESCE_S: Final = 0.03
"""How long a delta waits for others of its part."""
MAX_WAITING: Final = 5_000
"""With more events than that waiting to be written, a run waits for its store."""
LOG: Final = logging.getLogger("headrace.sessions")


class StoreJournal:
    """Writes one run, which was claimed, into a store; a `Journal` of the agent.

    Attributes:
        run_id: the run.
        epoch: the one that it writes as.
        last_seq: the last event that is kept.
        lost: why nothing can be written any more, or None.
    """

    def __init__(
        self,
        store: Store,
        record: RunRecord,
        *,
        coalesce_s: float = COALESCE_S,
        on_kept: Callable[[Batch], object] | None = None,
        on_lost: Callable[[StoreError], object] | None = None,
    ) -> None:
        """Write nothing yet.

        Args:
            store: where.
            record: the run, as it was claimed.
            coalesce_s: how long deltas wait for others, in seconds.
            on_kept: sees every batch that was kept.
            on_lost: hears once that nothing can be written any more.
        """
        self.run_id: str | None = record.id
        self._id = record.id
        self.epoch = record.epoch
        self.last_seq = record.last_seq
        self.lost: StoreError | None = None
        self._store = store
        self._coalesce_s = coalesce_s
        self._on_kept = on_kept
        self._on_lost = on_lost
        self._state: Callable[[], RunResult] | None = None
        self._waiting: list[Event] = []
        self._wants_checkpoint = False
        self._noted = self._kept = 0
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._is_due = False
        self._flush: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------------------------------ the agent's side

    def attach(self, state: Callable[[], RunResult]) -> None:
        """Ask this for where the run stands; see `Journal`."""
        self._state = state

    def note(self, event: Event) -> None:
        """Take an event; see `Journal`."""
        if self.lost is not None:
            return
        self._noted += 1
        self._waiting.append(event)
        if not is_slight(event):
            self._wants_checkpoint = True
            self._write_soon()
        elif self._timer is None and self._flush is None:
            self._timer = asyncio.get_running_loop().call_later(self._coalesce_s, self._write)

    async def commit(self) -> None:
        """Return once all that was noted is kept; see `Journal`."""
        if self.lost is not None:
            raise self.lost
        if self.has_kept_all:
            return
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((self._noted, kept))
        self._write()
        await kept

    async def answer(self, model: str, read: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG002 - for those that name steps
        """Have an answer of the model of this id read to its end, by `read`, called once; what fails then fails the run."""
        await read()

    async def tool(self, call_key: str, call: ToolCallPart, run: RunTool) -> ToolResultPart:  # noqa: ARG002 - for those that name steps
        """Run a tool once the note that it started is kept; see `Journal`."""
        await self.commit()
        return await run()

    # ------------------------------------------------------------------------------------------ the worker's side

    def change(self) -> None:
        """Something of the state has changed without an event, such as words that wait to be put in: write it down."""
        self._wants_checkpoint = True
        self._write_soon()

    @property
    def is_full(self) -> bool:
        """Whether so much waits to be written that the run should wait."""
        return len(self._waiting) > MAX_WAITING

    @property
    def has_kept_all(self) -> bool:
        """Whether nothing waits to be written."""
        return self._kept == self._noted and not self._wants_checkpoint

    def let_go(self) -> None:
        """Write nothing any more, also not what waits: somebody else goes on with the run."""
        self._lose(FencedError(f"run {self.run_id} was let go of; another worker goes on with it"))

    def forget_watchers(self) -> None:
        """Nothing more is kept or lost: let go of those who want to know, so that the log's end in memory goes with the run."""
        self._on_kept = self._on_lost = None

    async def aclose(self) -> None:
        """Write what waits. A `StoreError` if it cannot be kept."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.lost is None:
            await self.commit()
        if self._flush is not None:
            await asyncio.wait((self._flush,))
        self._state = None  # the run knows this journal: as long as each knows the other, both wait for a look at circles

    # ------------------------------------------------------------------------------------------ writing

    def _write_soon(self) -> None:
        """Write in the loop's next turn, with what else happens until then."""
        if self._is_due:
            return
        self._is_due = True
        if self._timer is not None:
            self._timer.cancel()
        if self._flush is None:
            self._timer = asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        """Write now, or as soon as what is being written is kept."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._is_due = True
        if self._flush is None and self.lost is None:
            self._flush = asyncio.create_task(self._write_all(), name=f"headrace-journal-{self.run_id}")

    async def _write_all(self) -> None:
        try:
            while self._is_due and self.lost is None:
                self._is_due = False
                batch, noted = self._batch()
                if batch is not None:
                    await self._store.append(batch)
                    self.last_seq = batch.last_seq
                    if self._on_kept is not None:
                        self._on_kept(batch)
                self._kept = noted
                self._release()
        except StoreError as error:
            self._lose(error)
        except Exception as error:  # a store may be a stranger's code; a run that is not kept must not go on
            LOG.exception("run %s cannot be written down", self.run_id)
            self._lose(StoreError(f"run {self.run_id} cannot be written down: {error!r}"))
        finally:
            self._flush = None
            if self._waiting and self.lost is None and self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(self._coalesce_s, self._write)

    def _batch(self) -> tuple[Batch | None, int]:
        """Return what waits as a batch, and how many events were noted by then."""
        result: RunResult | None = None
        is_early = False
        if self._wants_checkpoint and self._state is not None:
            try:
                result = self._stable_state()
            except StateError:  # it is about to begin: until then it stands where it stood
                is_early = True
        events, self._waiting = self._waiting, []
        self._wants_checkpoint = is_early
        status: RunStatus | None = None
        reason: str | None = None
        if events and isinstance(end := events[-1], RunEnded):
            status, reason = "waiting" if end.pending else "ended", end.generate_reason
        # Between the last step and `run_ended` a run has a result already, from which nothing can go on.
        checkpoint = None if result is None or (result.open is None and status is None) else checkpoint_of(result)
        if not events and checkpoint is None:
            return None, self._noted
        batch = Batch(
            run_id=self._id,
            epoch=self.epoch,
            after=self.last_seq,
            entries=tuple(Entry(event.seq, encode_event(event)) for event in coalesced(events)),
            checkpoint=checkpoint,
            status=status,
            generate_reason=reason,
        )
        return batch, self._noted

    def _stable_state(self) -> RunResult:
        """Return where the run stands, with every event that it knows of noted.

        Asking may itself bring up what tools did meanwhile, and what runs inside of them did, which is noted a moment later.
        """
        assert self._state is not None
        while True:
            noted = self._noted
            result = self._state()
            if result.open is None or not result.open.inside:
                return result
            again = self._state()
            if self._noted == noted:
                return again

    def _release(self) -> None:
        while self._waiters and self._waiters[0][0] <= self._kept:
            _, waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _lose(self, error: StoreError) -> None:
        if self.lost is not None:
            return
        self.lost = error
        self._state = None
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiters:
            _, waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(error)
        if self._on_lost is not None:
            self._on_lost(error)
