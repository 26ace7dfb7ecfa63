"""The runs that are worked on in this process: found by what is said to them, read from memory, and let go of together.

The rule of this file: an answer or an interruption that was kept for a run is forgotten only once the run has gone on with it.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.agent.agent import Agent
from headrace.sessions.executing import Execution
from headrace.sessions.journal import COALESCE_S, StoreJournal
from headrace.sessions.recent import Recent
from headrace.sessions.records import RunRecord
from headrace.sessions.signals import Signals
from headrace.sessions.store import Store

Deps = Callable[[RunRecord], object]


class Place:
    """Where runs of one agent are worked on.

    Attributes:
        here: the runs, by their ids.
    """

    def __init__(self, agent: Agent, store: Store, *, deps: Deps | None = None, coalesce_s: float = COALESCE_S) -> None:
        """Work on none yet.

        Args:
            agent: runs them.
            store: where they are kept.
            deps: what the tools of a run get as `context.deps`.
            coalesce_s: how long deltas wait for others of their part, in seconds.
        """
        self.here: dict[str, Execution] = {}
        self._agent = agent
        self._store = store
        self._deps = deps
        self._coalesce_s = coalesce_s
        self._recent: dict[str, Recent] = {}
        self._signals = Signals(store)

    def recent(self, run_id: str) -> Recent | None:
        """Return the end of the log of a run that is worked on here, or None."""
        return self._recent.get(run_id)

    def enter(self, record: RunRecord, *, journal: Callable[..., StoreJournal] = StoreJournal) -> Execution:
        """A run was claimed: from now on what is said to it is said here."""
        recent = self._recent[record.id] = Recent(record.last_seq)
        execution = self.here[record.id] = Execution(
            self._agent,
            self._store,
            record,
            deps=None if self._deps is None else self._deps(record),
            coalesce_s=self._coalesce_s,
            journal=journal,
            on_kept=recent.add,
        )
        return execution

    async def work(self, execution: Execution) -> RunRecord:
        """Work on a run that was entered, until it has ended or waits, and return it then.

        Raises:
            StoreError: it cannot be read or written; `FencedError`: it goes on elsewhere.
        """
        told = await self._signals.told(execution.record.id)
        if told.is_interrupted:
            execution.interrupt()
        record = await execution.go(told.answers)
        await self._signals.forget(told)
        return record

    async def is_to_end(self, execution: Execution) -> bool:
        """Whether a run that has come to wait was told to end, too late to hear it."""
        return execution.wants_interrupt or (await self._signals.told(execution.record.id)).is_interrupted

    def leave(self, execution: Execution) -> None:
        """A run that was entered is not worked on here any more."""
        run_id = execution.record.id
        if self.here.get(run_id) is execution:
            del self.here[run_id]
            self._recent.pop(run_id).close()

    def let_go(self) -> None:
        """Stop all runs as they stand: they go on elsewhere, or after a restart."""
        for execution in list(self.here.values()):
            execution.let_go()

    async def listen(self) -> None:
        """Tell the runs what was said to them in other processes."""
        await self._signals.deliver(self.here)
