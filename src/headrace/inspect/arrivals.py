"""When bytes came. Pure.

The rule of this file: the reads are the only source of time; where they are not known, every answer is None.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from statistics import median
from typing import Final

from headrace.inspect.values import Stall

_STALL_MS: Final = 1000.0
_STALL_GAPS: Final = 10.0
_MAX_STALLS: Final = 20


class Arrivals:
    """The reads of a body.

    Args:
        reads: for each read, where its bytes begin in the body, and when it came, in milliseconds.
    """

    def __init__(self, reads: Sequence[tuple[int, float]]) -> None:
        """Take them in the order of their bytes."""
        ordered = sorted(reads)
        self._starts = [start for start, _ in ordered]
        self._times = [time_ms for _, time_ms in ordered]

    @property
    def count(self) -> int:
        """How many reads there were."""
        return len(self._starts)

    def at(self, offset: int) -> float | None:
        """Return when this byte came."""
        if not self._times:
            return None
        return self._times[max(0, bisect_right(self._starts, offset) - 1)]

    @property
    def first_ms(self) -> float | None:
        """When the first bytes came."""
        return self._times[0] if self._times else None

    @property
    def last_ms(self) -> float | None:
        """When the last bytes came."""
        return self._times[-1] if self._times else None

    def gaps(self) -> list[tuple[float, float, int]]:
        """Return the silences: how long each took, when it began, and the byte that ended it."""
        return [
            (later - earlier, earlier, start)
            for earlier, later, start in zip(self._times, self._times[1:], self._starts[1:], strict=False)
            if later > earlier
        ]


def median_of(gaps: Sequence[tuple[float, float, int]]) -> float | None:
    """Return the median silence, or None without any."""
    return median(gap for gap, _, _ in gaps) if gaps else None


def stalls_of(gaps: Sequence[tuple[float, float, int]], typical_ms: float | None) -> list[tuple[float, float, int]]:
    """Return the silences that are long by themselves and beside the others, in order."""
    if typical_ms is None:
        return []
    return [gap for gap in gaps if gap[0] >= _STALL_MS and (len(gaps) == 1 or gap[0] >= _STALL_GAPS * typical_ms)]


def longest(stalls: Sequence[tuple[Stall, float]]) -> tuple[Stall, ...]:
    """Return the longest of them, in their order."""
    kept = sorted(range(len(stalls)), key=lambda n: -stalls[n][1])[:_MAX_STALLS]
    return tuple(stalls[n][0] for n in sorted(kept))
