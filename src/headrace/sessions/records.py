"""What a store keeps, as values.

The rule of this file: values only. Events, checkpoints and messages are JSON as bytes here: a store keeps them and never looks inside, so
the three stores cannot differ in what they make of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

RunStatus: TypeAlias = Literal["queued", "running", "waiting", "ended"]
"""`queued`: nobody has begun it; `running`: its owner works on it, or died; `waiting`: a person has to answer; `ended`: nothing follows."""
LIVE: Final[tuple[RunStatus, ...]] = ("queued", "running", "waiting")


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One event in a run's log.

    Attributes:
        seq: its number, from 1, growing; where neighbouring deltas were joined, the last one's, so numbers may be missing.
        data: the event as JSON.
    """

    seq: int
    data: bytes


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is about to be kept.

    Attributes:
        id: the run's id.
        session_id: the conversation that it belongs to, or None.
        user: whose it is; empty: nobody's in particular.
        request: what it was asked to do, as JSON: enough to begin it in another process.
    """

    id: str
    session_id: str | None = None
    user: str = ""
    request: bytes = b"{}"


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it is kept.

    Attributes:
        id, session_id, user, request: as in `NewRun`.
        status: how it stands.
        generate_reason: why it ended, or what it waits for; None before.
        epoch: how often it was taken up; whoever writes must name the present one, so one who lost the run writes nothing any more.
        owner: who took it up last, or None.
        last_seq: the number of the last event in its log; 0: none.
        checkpoint: where it stood, as JSON (see `checkpoint.py`), or None.
        checkpoint_seq: the last event that the checkpoint knows of.
        created_at, updated_at: when, in UTC, by the store's clock.
    """

    id: str
    session_id: str | None
    user: str
    request: bytes
    status: RunStatus
    generate_reason: str | None
    epoch: int
    owner: str | None
    last_seq: int
    checkpoint: bytes | None
    checkpoint_seq: int
    created_at: datetime
    updated_at: datetime


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What is added to one run in one step: all of it is kept, or nothing.

    Attributes:
        run_id: the run.
        epoch: the writer's.
        after: the number of the last event that the log must have by now.
        entries: new events, in order, with numbers above `after`; may be none.
        checkpoint: where the run stands after them, or None: as before.
        status: how it stands then, or None: as before.
        generate_reason: why it ended, or what it waits for; counts only together with `status`.
    """

    run_id: str
    epoch: int
    after: int
    entries: tuple[Entry, ...] = ()
    checkpoint: bytes | None = None
    status: RunStatus | None = None
    generate_reason: str | None = None

    @property
    def last_seq(self) -> int:
        """The number of the last event in the log afterwards."""
        return self.entries[-1].seq if self.entries else self.after


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """Something said to a run from outside, perhaps from another machine.

    Attributes:
        id: its number in the store, growing.
        run_id: the run.
        kind: `interrupt`, `steer` or `resume`.
        data: what is said, as JSON.
    """

    id: int
    run_id: str
    kind: str
    data: bytes


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A process that works on runs.

    Attributes:
        id: its name.
        beats: how often it said that it lives. Whoever watches compares it with what it saw before, by a clock of its own that does not
            jump, so no two machines need the same time.
        started_at: when it began, in UTC, by the store's clock.
    """

    id: str
    beats: int
    started_at: datetime


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as it is kept.

    Attributes:
        id: its id.
        user: whose it is; empty: nobody's in particular.
        title: what it is about; empty: unknown.
        messages: how many there are.
        holder: the run that works on it or waits in it, or None.
        forked_from: the conversation that it began as a copy of, or None.
        created_at, updated_at: when, in UTC, by the store's clock.
    """

    id: str
    user: str
    title: str
    messages: int
    holder: str | None
    forked_from: str | None
    created_at: datetime
    updated_at: datetime


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much a store holds: sessions, runs, and the bytes of events, checkpoints and messages."""

    sessions: int
    runs: int
    bytes: int


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What was deleted."""

    sessions: int = 0
    runs: int = 0
