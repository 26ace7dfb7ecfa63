"""Who may speak: items leave one after the other, as the vendor itself sends them, even where calls came interleaved.

The rule of this file: while a call is in the midst of its arguments, what comes of others waits until it has ended, in the order in which
they began. A call that has had no arguments when another one's turn comes keeps nobody waiting: it is most likely one that has none.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """What waits for its turn."""

    __slots__ = ("_has_spoken", "_open", "_waiting")

    def __init__(self) -> None:
        """Start with nobody speaking."""
        self._open: Hashable | None = None
        self._has_spoken = False
        self._waiting: dict[Hashable, list[T]] = {}

    def may_go(self, place: Hashable) -> bool:
        """Return whether what belongs to a place may go now; else `hold` it."""
        if place in self._waiting:
            return False
        if self._open is not None and self._open != place and not self._has_spoken:
            self._open = None
        return self._open is None or self._open == place

    def hold(self, place: Hashable, thing: T) -> bool:
        """Keep a thing until its turn; returns whether it is the first one of its place that waits."""
        is_first = place not in self._waiting
        self._waiting.setdefault(place, []).append(thing)
        return is_first

    def is_waiting(self, place: Hashable) -> bool:
        """Return whether anything waits for a place."""
        return place in self._waiting

    def begin(self, place: Hashable) -> None:
        """A call has begun."""
        self._open, self._has_spoken = place, False

    def speak(self, place: Hashable) -> None:
        """Arguments of a call went out."""
        self._has_spoken = self._has_spoken or place == self._open

    def end(self, place: Hashable) -> None:
        """A call has ended."""
        if place == self._open:
            self._open = None

    def next(self, *, is_forced: bool = False) -> list[T]:
        """Return what waits for one place, if its turn has come; else nothing. Forced, its turn has come: nothing more comes of others."""
        if not self._waiting or (self._open is not None and not is_forced):
            return []
        return self._waiting.pop(next(iter(self._waiting)))
