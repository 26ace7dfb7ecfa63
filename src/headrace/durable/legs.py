"""A leg of a run: from its start, or from an answer, to where it next waits or ends. Each leg is one workflow.

The rule of this file: a leg has one workflow, whoever enqueues it and however often: its id says which leg of which run it is. A waiting run
has no workflow, and so costs a row.
"""

from __future__ import annotations

import msgspec

from headrace.sessions.reading import is_end, kept
from headrace.sessions.records import RunRecord
from headrace.sessions.store import Store


class Leg(msgspec.Struct, frozen=True):
    """One leg.

    Attributes:
        run_id: the run.
        after: the number of the event after which it begins; 0: the run's start.
        born: when the run was made, in microseconds: a run that is deleted and made again under its id has other legs.
        instead_at: the run's epoch when the leg's workflow was found to be over although the leg was not; -1: it never was.
    """

    run_id: str
    after: int
    born: int
    instead_at: int = -1

    @classmethod
    def first(cls, record: RunRecord) -> Leg:
        """Return the leg with which a run begins."""
        return cls(record.id, 0, _born(record))

    @classmethod
    def next(cls, record: RunRecord) -> Leg:
        """Return the leg that begins where a run waits, or waited when it was claimed."""
        return cls(record.id, record.last_seq, _born(record))

    @classmethod
    async def present(cls, store: Store, record: RunRecord) -> Leg:
        """Return the leg that a run is on, as its log tells it."""
        return cls(record.id, await _last_end(store, record.id, 0) if record.last_seq else 0, _born(record))

    async def is_over(self, store: Store, record: RunRecord) -> bool:
        """Whether the run has got to the end of this leg, or is not the one of this leg."""
        if record.status in ("waiting", "ended") or self.born != _born(record) or record.last_seq < self.after:
            return True
        return record.last_seq != self.after and await _last_end(store, record.id, self.after) != self.after

    def instead(self, epoch: int) -> Leg:
        """Return the same leg, for another workflow, since its own is over and can never go on."""
        return msgspec.structs.replace(self, instead_at=epoch)

    @property
    def workflow_id(self) -> str:
        """The id of its workflow."""
        own = f"{self.run_id}:{self.born:x}:{self.after}"
        return own if self.instead_at < 0 else f"{own}.{self.instead_at}"


def run_of(workflow_id: str) -> str:
    """Return the id of the run that a workflow's id names."""
    return workflow_id.rsplit(":", 2)[0]


def _born(record: RunRecord) -> int:
    return round(record.created_at.timestamp() * 1_000_000)


async def _last_end(store: Store, run_id: str, after: int) -> int:
    """Return the number of the last event above `after` with which a leg ended, or `after`."""
    last = after
    async for entries in kept(store, run_id, after):
        last = next((entry.seq for entry in reversed(entries) if is_end(entry)), last)
    return last
