"""From bytes to frames: lines of JSON (NDJSON).

The rule of this file: as in `frames.py`: any slicing of the same bytes gives the same frames, and what is held is bounded.
"""

from __future__ import annotations

from headrace.wire.frames import Batch, Frame


class Lines:
    """One JSON value a line; blank lines are skipped.

    Attributes:
        exceeded: a line was longer than `max_event_bytes`; nothing more comes out.
    """

    __slots__ = ("_base", "_held", "_max", "exceeded")

    def __init__(self, *, max_event_bytes: int, offset: int = 0) -> None:
        """Start at an offset of the body."""
        self._max = max_event_bytes
        self._base = offset
        self._held = bytearray()
        self.exceeded = False

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the lines that these bytes complete."""
        frames: list[Frame | Batch] = []
        position = 0
        while not self.exceeded:
            end = data.find(b"\n", position)
            stop = len(data) if end < 0 else end
            if len(self._held) + stop - position > self._max:
                self.exceeded = True
                self._held.clear()
                break
            if end < 0:
                self._held += memoryview(data)[position:]
                break
            self._end_line(data[position:end], frames)
            position = end + 1
        return frames

    def _end_line(self, piece: bytes, frames: list[Frame | Batch]) -> None:
        line = b"".join((self._held, piece)) if self._held else piece
        if line.strip():
            frames.append(Frame(line, self._base))
        self._base += len(line) + 1
        self._held.clear()

    def close(self) -> list[Frame | Batch]:
        """Return the last line, marked, if the body ended before it did."""
        line = bytes(self._held)
        self._held.clear()
        return [Frame(line, self._base, None, is_unterminated=True)] if line.strip() else []
