"""Which workers live, as far as another one can know.

The rule of this file: nobody's clock is trusted but the watcher's own monotonic one. A worker counts its beats in the store; one whose count
has not changed for long enough, as the watcher measures it, is dead. One on the same machine whose process is gone is dead at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from headrace.sessions.records import Worker

BEAT_S: Final = 2.0
"""How often a worker says that it lives."""
DEAD_AFTER_S: Final = 10.0
"""How long a worker may be silent before its runs are taken over."""
LISTEN_S: Final = 0.25
"""How often a worker looks for what other processes say to its runs."""
_ID: Final = re.compile(r"(?P<place>.*)/(?P<pid>\d+)-(?P<born>\d*)-[0-9a-f]{8}")


def new_worker_id() -> str:
    """Return a name for this process that no other one has: where it runs, its number, when it began, and chance."""
    pid = os.getpid()
    return f"{_place()}/{pid}-{_born(pid)}-{secrets.token_hex(4)}"


def is_gone(worker_id: str) -> bool:
    """Whether a worker was a process of this machine that does not run any more; False where that cannot be known."""
    named = _ID.fullmatch(worker_id)
    if named is None or named["place"] != _place():
        return False
    pid = int(named["pid"])
    born = _born(pid)
    return not _runs(pid) or (bool(named["born"]) and bool(born) and named["born"] != born)


class Watch:
    """Watches the beats of workers."""

    def __init__(self, clock: Callable[[], float], *, dead_after_s: float) -> None:
        """Know none yet.

        Args:
            clock: a monotonic clock, in seconds.
            dead_after_s: how long a worker may be silent.
        """
        self._clock = clock
        self._dead_after_s = dead_after_s
        self._seen: dict[str, tuple[int, float]] = {}

    def look(self, workers: Iterable[Worker]) -> None:
        """Take what the store says of workers now."""
        now = self._clock()
        seen = {worker.id: (worker.beats, now) for worker in workers}
        for worker_id, (beats, _) in seen.items():
            before = self._seen.get(worker_id)
            if before is not None and before[0] == beats:
                seen[worker_id] = before
        self._seen = seen

    def is_dead(self, worker_id: str | None) -> bool:
        """Whether a worker is dead: struck out or never entered, silent for too long, or a process that is gone."""
        if worker_id is None or worker_id not in self._seen:
            return True
        return is_gone(worker_id) or self._clock() - self._seen[worker_id][1] >= self._dead_after_s

    @property
    def dead(self) -> tuple[str, ...]:
        """The workers that are entered and dead."""
        return tuple(worker_id for worker_id in self._seen if self.is_dead(worker_id))


def _place() -> str:
    """Return what tells this machine, and this space of process numbers, from others."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:8])
    with contextlib.suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return ".".join(parts).replace("/", "_")


def _born(pid: int) -> str:
    """Return when a process began, in ticks since the machine did, or "" where that cannot be known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    try:  # a process that has ended and that nobody has asked for yet
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return True
