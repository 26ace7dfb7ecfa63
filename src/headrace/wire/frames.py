"""From bytes to frames: server-sent events, and lines of JSON.

The rule of this file: however the network cut the bytes, the same bytes give the same frames; only new bytes are searched; what is
held is bounded. The grammar is WHATWG HTML 9.2.6, with the tolerances that real servers need: an unfinished last event is handed
out (marked), a field line `error:` is an event of that name, anything else that is unknown is counted and skipped.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

import msgspec

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"
_LF: Final = 10
_SEPARATOR: Final = b"\n\ndata: "
AROUND: Final = len(_SEPARATOR)
"""Bytes of the body between the data of two events of a `Batch`."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One event of a stream.

    Attributes:
        data: its data, as bytes; several `data:` lines are joined with a line feed.
        offset: where it begins in the body, in bytes.
        event: its name, or None.
        is_unterminated: the body ended before the event did.
        is_body: it is no event, but a whole body of JSON.
    """

    data: bytes
    offset: int
    event: str | None = None
    is_unterminated: bool = False
    is_body: bool = False


class Batch(msgspec.Struct, frozen=True, gc=False):
    """A run of events that are one `data:` line each: cut, but not wrapped in a frame each, since nearly all events come so.

    Attributes:
        datas: the data of each event, in order.
        offset: where the first one begins in the body, in bytes.
    """

    datas: list[bytes]
    offset: int

    def offset_of(self, n: int, *, known: int = 0, at: int | None = None) -> int:
        """Return where event `n` begins, given that event `known` begins `at` (by default: the first, where the batch does)."""
        begin = self.offset if at is None else at
        return begin + sum(map(len, self.datas[known:n])) + (n - known) * AROUND


class Framer(Protocol):
    """A machine from bytes to frames."""

    exceeded: bool

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        ...

    def close(self) -> list[Frame | Batch]:
        """Return what is left when the body has ended."""
        ...


class SSE:
    """Server-sent events.

    Attributes:
        exceeded: an event was larger than `max_event_bytes`; nothing more comes out.
        unknown_lines: lines that are no field of the grammar.
        known_lines: lines that are: fields and comments.
    """

    __slots__ = ("_base", "_data", "_held", "_held_bytes", "_max", "_name", "_pending_bytes", "_skip_lf", "_start", "exceeded", "known_lines", "unknown_lines")  # fmt: skip

    def __init__(self, *, max_event_bytes: int, offset: int = 0) -> None:
        """Start at an offset of the body."""
        self._max = max_event_bytes
        self._base = offset
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._skip_lf = False
        self._data: list[bytes] = []
        self._pending_bytes = 0
        self._name: str | None = None
        self._start = -1
        self.exceeded = False
        self.unknown_lines = 0
        self.known_lines = 0

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the events that these bytes complete."""
        if self.exceeded or not data:
            return []
        if b"\r" in data or self._skip_lf:
            return self._feed_any_line_end(data)
        if b"\n" not in data:
            return self._hold(data)
        start = self._held_bytes
        if start:
            self._held.append(data)
            data = b"".join(self._held)
            self._held, self._held_bytes = [], 0
        cut = data.rfind(b"\n\n", max(0, start - 1))
        if self._start >= 0 or cut < 0 or not data.startswith(b"data: "):
            return self._feed_lines(data)
        datas = data[6:cut].split(_SEPARATOR)
        if data.count(b"\n", 0, cut) != 2 * (len(datas) - 1) or cut > self._max:  # not each event is one data line
            return self._feed_lines(data)
        batch = Batch(datas, self._base)
        self._base += cut + 2
        self.known_lines += 1
        if cut + 2 < len(data):
            return [batch, *self._feed_lines(data[cut + 2 :])]
        return [batch]

    def _feed_lines(self, data: bytes) -> list[Frame | Batch]:
        """Read lines that end with a line feed, one by one."""
        frames: list[Frame | Batch] = []
        position = 0
        while (end := data.find(b"\n", position)) >= 0:
            self._line(data[position:end], self._base + position, frames)
            position = end + 1
            if self.exceeded:
                return frames
        self._base += position
        if position < len(data):
            self._hold(data[position:])
        return frames

    def _feed_any_line_end(self, data: bytes) -> list[Frame | Batch]:
        """Read lines that end with CR LF, LF or CR; a CR at the end of a read may have its LF in the next."""
        frames: list[Frame | Batch] = []
        if self._skip_lf:
            self._skip_lf = False
            if data[0] == _LF:
                data = data[1:]
                self._base += 1
        start = self._held_bytes
        if self._held:
            self._held.append(data)
            data = b"".join(self._held)
            self._held, self._held_bytes = [], 0
        position = 0
        for match in _LINE_END.finditer(data, start):
            self._line(data[position : match.start()], self._base + position, frames)
            position = match.end()
            if self.exceeded:
                return frames
        self._base += position
        self._skip_lf = position == len(data) and data.endswith(b"\r")
        if position < len(data):
            self._hold(data[position:])
        return frames

    def _hold(self, data: bytes) -> list[Frame | Batch]:
        """Keep the beginning of a line whose end has not come."""
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes + self._pending_bytes > self._max:
            self._exceed()
        return []

    def _exceed(self) -> None:
        self.exceeded = True
        self._held, self._data = [], []

    def _line(self, line: bytes, offset: int, frames: list[Frame | Batch]) -> None:
        if not line:
            self._dispatch(frames)
            return
        if len(line) > self._max:
            self._exceed()
            return
        field, colon, value = line.partition(b":")
        if colon and not field:
            self.known_lines += 1
            return
        if value.startswith(b" "):
            value = value[1:]
        if field in (b"data", b"error"):
            self._data.append(value)
            self._pending_bytes += len(line)
            if self._pending_bytes > self._max:
                self._exceed()
            if field == b"error":
                self._name = "error"
        elif field == b"event":
            self._name = value.decode("utf-8", "replace") if self._name != "error" or not self._data else self._name
        elif field not in (b"id", b"retry"):
            self.unknown_lines += 1
            return
        self.known_lines += 1
        if self._start < 0:
            self._start = offset

    def _dispatch(self, frames: list[Frame | Batch], *, is_unterminated: bool = False) -> None:
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            frames.append(Frame(data, self._start, self._name or None, is_unterminated))
        self._data = []
        self._pending_bytes = 0
        self._name = None
        self._start = -1

    def close(self) -> list[Frame | Batch]:
        """Return the last event, marked, if the body ended before it did."""
        frames: list[Frame | Batch] = []
        if self.exceeded:
            return frames
        if self._held:
            unknown = self.unknown_lines
            self._line(b"".join(self._held), self._base, frames)
            self._held, self._held_bytes = [], 0
            if self.known_lines:
                self.unknown_lines = unknown  # the beginning of a field's name, cut off
        self._dispatch(frames, is_unterminated=True)
        return frames


class Lines:
    """One JSON value a line (NDJSON); blank lines are skipped.

    Attributes:
        exceeded: a line was longer than `max_event_bytes`; nothing more comes out.
    """

    __slots__ = ("_base", "_held", "_held_bytes", "_max", "exceeded")

    def __init__(self, *, max_event_bytes: int, offset: int = 0) -> None:
        """Start at an offset of the body."""
        self._max = max_event_bytes
        self._base = offset
        self._held: list[bytes] = []
        self._held_bytes = 0
        self.exceeded = False

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the lines that these bytes complete."""
        frames: list[Frame | Batch] = []
        if self.exceeded:
            return frames
        pieces = data.split(b"\n")
        for piece in pieces[:-1]:
            line = b"".join([*self._held, piece]) if self._held else piece
            if len(line) > self._max:
                self._exceed()
                return frames
            if line.strip():
                frames.append(Frame(line, self._base))
            self._base += len(line) + 1
            self._held, self._held_bytes = [], 0
        if pieces[-1]:
            self._held.append(pieces[-1])
            self._held_bytes += len(pieces[-1])
            if self._held_bytes > self._max:
                self._exceed()
        return frames

    def _exceed(self) -> None:
        self.exceeded = True
        self._held = []

    def close(self) -> list[Frame | Batch]:
        """Return the last line, marked, if the body ended before it did."""
        line = b"".join(self._held)
        self._held = []
        return [Frame(line, self._base, None, is_unterminated=True)] if line.strip() and not self.exceeded else []


class Body:
    """Finds out what a body is, and frames it: server-sent events, one whole JSON value, or neither (a page, say).

    The first byte that is no space decides, whatever the headers said: `{` and `[` begin JSON, `<` begins markup.

    Attributes:
        kind: `unknown` (nothing came yet), `events`, `json` or `other`.
        exceeded: something was larger than `max_event_bytes`.
    """

    __slots__ = ("_held", "_held_bytes", "_max", "_sse", "exceeded", "kind")

    def __init__(self, *, max_event_bytes: int) -> None:
        """Start before the first byte."""
        self._max = max_event_bytes
        self._sse: SSE | None = None
        self._held: list[bytes] = []
        self._held_bytes = 0
        self.exceeded = False
        self.kind = "unknown"

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        if self._sse is not None:
            frames = self._sse.feed(data)
            self.exceeded = self._sse.exceeded
            return frames
        if self.exceeded:
            return []
        self._held.append(data)
        self._held_bytes += len(data)
        if self.kind == "unknown":
            return self._sniff()
        if self._held_bytes > self._max:
            self.exceeded = self.kind == "json"
            self._held = self._held[:1] if self.kind == "other" else []
            self._held_bytes = sum(len(piece) for piece in self._held)
        return []

    def _sniff(self) -> list[Frame | Batch]:
        head = b"".join(self._held)
        self._held = [head]
        if len(head) < len(_BOM) and _BOM.startswith(head):
            return []
        skipped = len(_BOM) if head.startswith(_BOM) else 0
        text = head[skipped:].lstrip(b" \t\r\n")
        if not text:
            if self._held_bytes > self._max:
                self.exceeded = True
            return []
        self.kind = {b"{": "json", b"[": "json", b"<": "other"}.get(text[:1], "events")
        if self.kind != "events":
            if self._held_bytes > self._max:
                self.exceeded = self.kind == "json"
            return []
        self._sse = SSE(max_event_bytes=self._max, offset=skipped)
        self._held = []
        return self.feed(head[skipped:])

    def close(self) -> list[Frame | Batch]:
        """Return what is left: an unfinished event, or the whole JSON body as one frame."""
        if self._sse is not None:
            frames = self._sse.close()
            if self._sse.unknown_lines and not self._sse.known_lines:
                self.kind = "other"
            return frames
        if self.kind == "json" and not self.exceeded:
            body = b"".join(self._held).removeprefix(_BOM)
            return [Frame(body.strip(), 0, is_body=True)]
        if self.kind == "unknown" and self._held_bytes and b"".join(self._held).strip():
            self.kind = "other"
        return []

    @property
    def beginning(self) -> str:
        """The first bytes of a body that is neither events nor JSON, for an error message."""
        return b"".join(self._held)[:200].decode("utf-8", "replace")
