"""From bytes to frames: lines of JSON (NDJSON).

The rule of this file: as in `frames.py` and `body.py`: any slicing of the same bytes gives the same frames, and what is held is bounded.
"""

from __future__ import annotations

from typing import Final

from headrace._json import Scanner
from headrace.wire.body import Body
from headrace.wire.frames import Batch, Frame

_SHOWN: Final = 200
_BLANK: Final = b" \t\r\n"
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

    Attributes:
        kind: `unknown` (nothing came yet), `lines`, `events`, `json` or `other`.
        exceeded: something was larger than `max_event_bytes`.
    """

    __slots__ = ("_begin", "_blank", "_framer", "_held", "_max", "exceeded", "kind")

    def __init__(self, *, max_event_bytes: int) -> None:
        """Start before the first byte."""
        self._max = max_event_bytes
        self._framer: Lines | Body | None = None
        self._held = bytearray()
        self._blank: int | None = None  # how many bytes stand before the `{` of a first line whose end has not come
        self._begin = b""
        self.exceeded = False
        self.kind = "unknown"

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        if len(self._begin) < _SHOWN:
            self._begin += data[: _SHOWN - len(self._begin)]
        if self.exceeded:
            return []
        if self._framer is not None:
            return self._pass_on(self._framer, data)
        self._held += data
        says_more = b"\n" in data if self._blank is not None else bool(data.strip(_BLANK))
        if says_more:
            return self._sniff(is_end=False)
        return self._wait()

    def _wait(self) -> list[Frame | Batch]:
        """Nothing can be told yet."""
        self.exceeded = len(self._held) - (self._blank or 0) > self._max
        return []

    def _pass_on(self, framer: Lines | Body, data: bytes) -> list[Frame | Batch]:
        frames = framer.feed(data)
        self._look(framer)
        return frames

    def _look(self, framer: Lines | Body) -> None:
        self.exceeded = framer.exceeded
        self.kind = framer.kind if isinstance(framer, Body) else "lines"

    def _sniff(self, *, is_end: bool) -> list[Frame | Batch]:
        """Look at the first line, as soon as it is there; a first byte other than `{` tells at once."""
        whole = bytes(self._held)
        text = whole.lstrip(_BLANK)
        is_object = text.startswith(b"{")
        end = text.find(b"\n")
        if is_object and end < 0 and not is_end:
            self._blank = len(whole) - len(text)
            return self._wait()
        self._held.clear()
        if is_object and not _is_open(text[: max(end, 0)]):
            self._framer = Lines(max_event_bytes=self._max, offset=len(whole) - len(text))
            return self._pass_on(self._framer, text)
        self._framer = Body(max_event_bytes=self._max)
        return self._pass_on(self._framer, whole)

    def close(self) -> list[Frame | Batch]:
        """Return what is left."""
        if self.exceeded:
            return []
        frames = [] if self._framer is not None else self._sniff(is_end=True)
        if self._framer is not None:  # it is, by now
            frames += self._framer.close()
            self._look(self._framer)
        return frames

    @property
    def beginning(self) -> str:
        """The first bytes of the body, for an error message."""
        return self._begin.decode("utf-8", "replace")


def _is_open(line: bytes) -> bool:
    """Return whether a line ends inside of a JSON value, but not inside of a text, where a line of JSON cannot end."""
    scanner = Scanner()
    scanner.scan(line.decode("utf-8", "replace"))
    return scanner.depth > 0 and not scanner.is_in_string
