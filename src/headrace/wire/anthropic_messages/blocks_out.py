"""The content blocks of one answer on their way to a client, one after the other.

The rule of this file: blocks have dense numbers and never overlap. The first open block is live: its deltas leave at once. A block that
begins while another is live waits with its deltas until that one has ended; text and thinking end when another block begins, a call ends
when its arguments are whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any

from headrace._json import JSON
from headrace.wire.server_side import one_line


class BlockOut:
    """One block.

    Attributes:
        place: what it is known by.
        is_loose: it ends when another block begins.
        signature: pieces of what proves it; they leave together, right before its end.
        has_ended: nothing more of it will come.
    """

    __slots__ = ("has_ended", "is_loose", "place", "signature", "start", "waiting")

    def __init__(self, place: Hashable, start: JSON, *, is_loose: bool) -> None:
        """Begin with what stands in its start."""
        self.place = place
        self.start = start
        self.is_loose = is_loose
        self.signature: list[str] = []
        self.waiting: list[JSON] = []
        self.has_ended = False


def event(kind: str, **fields: JSON) -> bytes:
    """Return one event, named by its type."""
    return b"event: " + kind.encode() + b"\ndata: " + one_line({"type": kind, **fields}) + b"\n\n"


class BlocksOut:
    """The blocks of an answer."""

    def __init__(self) -> None:
        """Start without blocks."""
        self._open: deque[BlockOut] = deque()
        self._by_place: dict[Hashable, BlockOut] = {}
        self._index = -1
        self._out: list[bytes] = []

    def take(self) -> bytes:
        """Return the events that are ready, and start anew."""
        out = b"".join(self._out)
        self._out.clear()
        return out

    def find(self, place: Hashable) -> BlockOut | None:
        """Return the block of a place, if it goes on."""
        found = self._by_place.get(place)
        return found if found is not None and not found.has_ended else None

    def has_had(self, place: Hashable) -> bool:
        """Return whether a block of this place began, whether or not it goes on."""
        return place in self._by_place

    def begin(self, place: Hashable, start: dict[str, Any] | JSON, *, is_loose: bool = False) -> bool:
        """Begin a block; return whether it is live at once."""
        block = self._by_place[place] = BlockOut(place, start, is_loose=is_loose)
        self._open.append(block)
        if len(self._open) == 1:
            self._start(block)
        else:
            self._advance()
        return self._open[0] is block

    def add(self, place: Hashable, delta: dict[str, Any]) -> None:
        """Add a delta to a block that has begun and not ended."""
        block = self._by_place[place]
        if self._open[0] is block:
            self._delta(delta)
        else:
            block.waiting.append(delta)

    def end(self, place: Hashable) -> None:
        """End a block, if it goes on."""
        block = self.find(place)
        if block is not None:
            block.has_ended = True
            self._advance()

    def end_all(self) -> None:
        """End every block."""
        for block in self._open:
            block.has_ended = True
        self._advance()

    # ------------------------------------------------------------------------------------------ what is live

    def _advance(self) -> None:
        """End the live block if it has ended, or if it is loose and another one waits; then the next one is live."""
        while self._open:
            live = self._open[0]
            if not live.has_ended and not (live.is_loose and len(self._open) > 1):
                return
            live.has_ended = True
            if live.signature:
                self._delta({"type": "signature_delta", "signature": "".join(live.signature)})
            self._out.append(event("content_block_stop", index=self._index))
            self._open.popleft()
            if self._open:
                self._start(self._open[0])

    def _start(self, block: BlockOut) -> None:
        self._index += 1
        self._out.append(event("content_block_start", index=self._index, content_block=block.start))
        for delta in block.waiting:
            self._delta(delta)
        block.waiting.clear()

    def _delta(self, delta: JSON) -> None:
        self._out.append(event("content_block_delta", index=self._index, delta=delta))
