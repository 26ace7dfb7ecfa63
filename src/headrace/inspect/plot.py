"""The points of the plot: when what came. Pure.

The rule of this file: however many rows there are, the points are few, and each tells the most telling thing among the rows that it stands for.
"""

from __future__ import annotations

from array import array
from typing import Final

from headrace.inspect.values import Point
from headrace.messages.deltas import Delta, Ended, ReasoningDelta, RefusalDelta, TextDelta, ToolCallFragment, ToolCallSettled, WarningDelta

KINDS: Final = ("other", "comment", "text", "reasoning", "call", "warning", "error")
"""From the least to the most telling."""


class Plot:
    """Remembers of every row when it came, how many bytes and characters had come by then, and what it was."""

    def __init__(self) -> None:
        """Start empty."""
        self._x = array("d")
        self._bytes = array("Q")
        self._characters = array("Q")
        self._kinds = bytearray()

    def row(self, x: float, size: int, characters: int, kind: str) -> None:
        """Take the next row."""
        self._x.append(x)
        self._bytes.append(size)
        self._characters.append(characters)
        self._kinds.append(KINDS.index(kind))

    def is_at_least(self, row: int, kind: str) -> None:
        """A row turned out to be more telling."""
        if row < len(self._kinds):
            self._kinds[row] = max(self._kinds[row], KINDS.index(kind))

    def points(self, limit: int) -> tuple[Point, ...]:
        """Return at most `limit` points, evenly spread over the plot's width; rows that came together are one."""
        if not self._x:
            return ()
        first, last = self._x[0], self._x[-1]
        width = last - first if last > first else 1.0
        points: list[Point] = []
        bucket = -1
        for n, x in enumerate(self._x):
            place = min(limit - 1, int((x - first) / width * limit))
            kind = KINDS[self._kinds[n]]
            if place != bucket:
                points.append(Point(x, self._bytes[n], self._characters[n], kind, n, 1))
                bucket = place
                continue
            held = points[-1]
            is_more = self._kinds[n] > KINDS.index(held.kind)
            points[-1] = Point(
                x, self._bytes[n], self._characters[n], kind if is_more else held.kind, n if is_more else held.row, held.count + 1
            )
        return tuple(points)


def kind_of(delta: Delta) -> str:
    """Return what a delta is in the plot."""
    match delta:
        case Ended(error=error):
            return "error" if error is not None else "other"
        case WarningDelta():
            return "warning"
        case ToolCallFragment() | ToolCallSettled():
            return "call"
        case ReasoningDelta():
            return "reasoning"
        case TextDelta() | RefusalDelta():
            return "text"
        case _:
            return "other"


def most_telling(kinds: list[str]) -> str:
    """Return the most telling of some kinds; `other` of none."""
    return max(kinds, key=KINDS.index, default="other")
