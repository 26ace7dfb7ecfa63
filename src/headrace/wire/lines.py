"""From bytes to frames: lines of JSON (NDJSON).

The rule of this file: as in `frames.py` and `body.py`: any slicing of the same bytes gives the same frames, and what is held is bounded.
"""

from __future__ import annotations

from typing import Final

from headrace._json import Scanner
from headrace.wire.beginning import Beginning
from headrace.wire.body import Body
from headrace.wire.frames import Batch, Frame

_LINE_FEED: Final = 1
"""Bytes of the body between two lines: the line feed; of a line that ends with CR LF the CR is data, which JSON takes for a space."""


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
        if self.exceeded or not data:
            return []
        if b"\n" not in data:
            return self._hold(data, [])
        if self._held:
            data = b"".join((self._held, data))
            self._held.clear()
        end = data.rfind(b"\n")
        lines = data[:end].split(b"\n")
        is_plain = end <= self._max and all(line[:1] == b"{" for line in lines)
        frames = self._batch(lines) if is_plain else self._each(lines)
        if self.exceeded:
            return frames
        self._base += end + 1
        return self._hold(data[end + 1 :], frames)

    def _batch(self, lines: list[bytes]) -> list[Frame | Batch]:
        """Hand out lines, of which none is blank."""
        return [Batch(lines, self._base, _LINE_FEED)]

    def _each(self, lines: list[bytes]) -> list[Frame | Batch]:
        """Hand out lines one by one, up to one that is too long."""
        frames: list[Frame | Batch] = []
        offset = self._base
        for line in lines:
            if len(line) > self._max:
                self.exceeded = True
                break
            if line.strip():
                frames.append(Frame(line, offset))
            offset += len(line) + 1
        return frames

    def _hold(self, data: bytes, frames: list[Frame | Batch]) -> list[Frame | Batch]:
        """Keep the beginning of a line whose end has not come."""
        if len(self._held) + len(data) > self._max:
            self.exceeded = True
            self._held.clear()
        else:
            self._held += data
        return frames

    def close(self) -> list[Frame | Batch]:
        """Return the last line, marked, if the body ended before it did."""
        line = bytes(self._held)
        self._held.clear()
        return [Frame(line, self._base, None, is_unterminated=True)] if line.strip() else []


class LineBody:
    """Finds out what a body is that should be lines of JSON, and frames it.

    What begins with `{` is lines of JSON, unless its first line leaves it open: then the whole body is one JSON value, printed over many
    lines, as errors often are. Everything else is what `Body` makes of it: one JSON value, events (a relay's), or neither.

    The limit holds for the first line as for any other, before anything is made of it: past it the body's kind stays unknown.

    Attributes:
        kind: `unknown` (nothing came yet, or no end of the first line), `lines`, `events`, `json` or `other`.
        exceeded: something was larger than `max_event_bytes`.
    """

    __slots__ = ("_begin", "_first", "_framer", "_max", "exceeded", "kind")

    def __init__(self, *, max_event_bytes: int) -> None:
        """Start before the first byte."""
        self._max = max_event_bytes
        self._begin = Beginning(max_event_bytes)
        self._framer: Lines | Body | None = None
        self._first = bytearray()  # a first line that begins with `{` and whose end has not come
        self.exceeded = False
        self.kind = "unknown"

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        self._begin.show(data)
        if self._framer is not None:
            return self._seen(self._framer, self._framer.feed(data))
        if self.exceeded:
            return []
        if self._first:
            return self._first_line(data)
        text = self._begin.feed(data)
        self.exceeded = self._begin.exceeded
        if text.startswith(b"{"):
            return self._first_line(text)
        return self._as_body(text) if text else []

    def _first_line(self, data: bytes) -> list[Frame | Batch]:
        """Wait for the end of the first line, which tells what the body is."""
        end = data.find(b"\n")
        size = len(self._first) + (end if end >= 0 else len(data))
        if size > self._max:
            self.exceeded = True
            self._first.clear()
            return []
        self._first += data
        if end < 0:
            return []
        return self._as_body(bytes(self._first)) if _is_open(self._first[:size]) else self._as_lines()

    def _as_body(self, text: bytes) -> list[Frame | Batch]:
        self._first.clear()
        body = self._framer = Body(max_event_bytes=self._max)
        return self._seen(body, body.start(text, self._begin))

    def _as_lines(self) -> list[Frame | Batch]:
        text = bytes(self._first)
        self._first.clear()
        lines = self._framer = Lines(max_event_bytes=self._max, offset=self._begin.blank)
        return self._seen(lines, lines.feed(text))

    def _seen(self, framer: Lines | Body, frames: list[Frame | Batch]) -> list[Frame | Batch]:
        self.exceeded = framer.exceeded
        self.kind = framer.kind if isinstance(framer, Body) else "lines"
        return frames

    def close(self) -> list[Frame | Batch]:
        """Return what is left."""
        frames = self._as_lines() if self._first else []  # one line without an end is no value over many lines
        if self._framer is not None:
            frames += self._seen(self._framer, self._framer.close())
        elif self._begin.is_cut:
            self.kind = "other"
        return frames

    @property
    def beginning(self) -> str:
        """The first bytes of the body, for an error message."""
        return self._begin.shown


def _is_open(line: bytes | bytearray) -> bool:
    """Return whether a line ends inside of a JSON value, but not inside of a text, where a line of JSON cannot end."""
    scanner = Scanner()
    scanner.scan(line.decode("utf-8", "replace"))
    return scanner.depth > 0 and not scanner.is_in_string
