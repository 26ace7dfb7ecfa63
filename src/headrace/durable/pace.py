"""How often a worker does what it does beside the runs. Times are in seconds."""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.sessions.journal import COALESCE_S
from headrace.sessions.workers import BEAT_S, DEAD_AFTER_S, LISTEN_S


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """The pace of one worker.

    Attributes:
        beat_s: how often it says that it lives, and looks for those who do not.
        dead_after_s: how long another one may be silent before its runs are taken over.
        listen_s: how often it looks for what other processes say to its runs.
        poll_s: how often it looks for a queued run. Looking takes about 2 ms of its processor, and a run begins half of this later on
            average. It belongs to the queue: all workers have the one that was said last.
        coalesce_s: how long deltas wait for others of their part.
        keep_s: how long DBOS's records of what is over are kept; None: for ever.
    """

    beat_s: float = BEAT_S
    dead_after_s: float = DEAD_AFTER_S
    listen_s: float = LISTEN_S
    poll_s: float = 0.05
    coalesce_s: float = COALESCE_S
    keep_s: float | None = 7 * 24 * 3600.0


USUAL: Final = Pace()
