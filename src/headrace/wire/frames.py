"""From bytes to frames: server-sent events.

The rule of this file: however the network cut the bytes, the same bytes give the same frames; only new bytes are searched; what is
held is bounded. The grammar is WHATWG HTML 9.2.6, with the tolerances that real servers need: an unfinished last event is handed
out (marked), a field line `error:` is an event of that name, anything else that is unknown is counted and skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from operator import add
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

FrameKind: TypeAlias = Literal["event", "exception", "error", "broken"]
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_LF: Final = 10
_SEPARATOR: Final = b"\n\ndata: "
_STATUS: Final = re.compile(rb" ?HTTP_STATUS/(\d{3})\s*")  # a comment of one vendor's, in which alone an event's status stands
_CRLF_SEPARATOR: Final = b"\r\n\r\ndata: "
_NAMED: Final = re.compile(rb"event: ([^\n]*)\ndata: ([^\n]*)\n\n")
_NAMED_RUN: Final = re.compile(rb"(?:event: [^\n]*+\ndata: [^\n]*+\n\n)++")
AROUND_NAMED: Final = len(b"event: \ndata: \n\n")
"""Bytes of the body that an event of a `NamedBatch` has beside its name and its data."""
_NUMBERED: Final = re.compile(rb"id:([^\n]*)\nevent:result\n:HTTP_STATUS/200\ndata:([^ \n][^\n]*)\n\n")
_NUMBERED_RUN: Final = re.compile(rb"(?:id:[^\n]*+\nevent:result\n:HTTP_STATUS/200\ndata:[^ \n][^\n]*+\n\n)++")
AROUND_NUMBERED: Final = len(b"id:\nevent:result\n:HTTP_STATUS/200\ndata:\n\n")
"""Bytes of the body that an event of a `NumberedBatch` has beside its number and its data."""
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
        kind: `event`; where the framing itself tells them apart also `exception` (an error with a body, its name in `event`), `error` (its
            code in `event`, its words as data) and `broken` (a frame that breaks its own format; the reason as data).
        status: the HTTP status that a comment `:HTTP_STATUS/429` inside of the event gave for it, or None.
    """

    data: bytes
    offset: int
    event: str | None = None
    is_unterminated: bool = False
    is_body: bool = False
    kind: FrameKind = "event"
    status: int | None = None


class Batch(msgspec.Struct, frozen=True, gc=False):
    """A run of events that are one `data:` line each: cut, but not wrapped in a frame each, since nearly all events come so.

    Attributes:
        datas: the data of each event, in order.
        offset: where the first one begins in the body, in bytes.
        around: bytes of the body between the data of two of them.
    """

    datas: list[bytes]
    offset: int
    around: int = AROUND

    def offset_of(self, n: int, *, known: int = 0, at: int | None = None) -> int:
        """Return where event `n` begins, given that event `known` begins `at` (by default: the first, where the batch does)."""
        begin = self.offset if at is None else at
        return begin + sum(map(len, self.datas[known:n])) + (n - known) * self.around

    def offsets(self) -> list[int]:
        """Return where each event begins, and last where the run ends; in one pass."""
        return _running(self.offset, self.around, map(len, self.datas))

    def frames(self) -> list[Frame]:
        """Return each event as a frame, in one pass."""
        return [Frame(data, offset) for data, offset in zip(self.datas, self.offsets(), strict=False)]


class NamedBatch(Batch, frozen=True, gc=False):
    """A run of events that are an `event:` line and a `data:` line each; only for decoders that ask for it.

    Attributes:
        names: the name of each event, in order.
    """

    names: list[bytes] = []

    def offsets(self) -> list[int]:
        """Return where each event begins, and last where the run ends; in one pass."""
        return _running(self.offset, AROUND_NAMED, map(add, map(len, self.names), map(len, self.datas)))

    def frames(self) -> list[Frame]:
        """Return each event as a frame, in one pass."""
        rows = zip(self.names, self.datas, self.offsets(), strict=False)
        return [Frame(data, offset, name.decode("utf-8", "replace") or None) for name, data, offset in rows]


class NumberedBatch(Batch, frozen=True, gc=False):
    """A run of events that are a number, the name `result`, a comment with the status 200 and the data; only for decoders that ask for it.

    Attributes:
        numbers: the number of each event, in order.
    """

    numbers: list[bytes] = []

    def offsets(self) -> list[int]:
        """Return where each event begins, and last where the run ends; in one pass."""
        return _running(self.offset, AROUND_NUMBERED, map(add, map(len, self.numbers), map(len, self.datas)))

    def frames(self) -> list[Frame]:
        """Return each event as a frame, in one pass."""
        return [Frame(data, offset, "result", status=200) for data, offset in zip(self.datas, self.offsets(), strict=False)]


def _running(start: int, around: int, sizes: Iterable[int]) -> list[int]:
    return list(accumulate(map(around.__add__, sizes), initial=start))


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

    The size of an event is that of its `data:` lines (without their ends), together with the line at hand, of whatever kind that is.

    Attributes:
        exceeded: an event was larger than `max_event_bytes`; nothing more comes out.
        unknown_lines: lines that are no field of the grammar.
        known_lines: lines that are: fields and comments.
    """

    __slots__ = (
        "_base",
        "_data",
        "_has_names",
        "_held",
        "_max",
        "_name",
        "_pending_bytes",
        "_skip_lf",
        "_start",
        "_status",
        "exceeded",
        "known_lines",
        "unknown_lines",
    )

    def __init__(self, *, max_event_bytes: int, offset: int = 0, has_names: bool = False) -> None:
        """Start at an offset of the body; `has_names`: runs of events with names come as a `NamedBatch`."""
        self._has_names = has_names
        self._max = max_event_bytes
        self._base = offset  # where `_held` begins
        self._held = bytearray()  # the beginning of a line; no list, since many small pieces of one line would weigh many times their bytes
        self._skip_lf = False
        self._data: bytes | bytearray | None = None
        self._pending_bytes = 0
        self._name: str | None = None
        self._status: int | None = None
        self._start = -1
        self.exceeded = False
        self.unknown_lines = 0
        self.known_lines = 0

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the events that these bytes complete."""
        if self.exceeded or not data:
            return []
        if data.endswith(b"\n\n") and data.startswith(b"data: ") and self._is_one_event(data):
            frame = Batch([data[6:-2]], self._base)
            self._base += len(data)
            self.known_lines += 1
            return [frame]
        if b"\r" in data or self._skip_lf:
            return self._feed_any_line_end(data)
        if b"\n" not in data:
            return self._hold(data, [])
        held = self._held
        start = len(held)
        if start:
            data = b"".join((held, data))
            held.clear()
        if self._start < 0 and self._status is None:
            return self._feed_events(data, start)
        end = self._end_of_event(data, start)
        frames = self._feed_lines(data[:end])
        return frames if self.exceeded or end == len(data) else frames + self._feed_events(data[end:], 0)

    def _is_one_event(self, data: bytes) -> bool:
        """Whether bytes that begin and end as an event are one, whole: what a read of a live stream mostly brings."""
        if self._held or self._skip_lf or self._start >= 0 or self._status is not None or len(data) > self._max:
            return False
        return data.find(b"\n") == len(data) - 2 and b"\r" not in data

    @staticmethod
    def _end_of_event(data: bytes, start: int) -> int:
        """Return where the event ends whose first lines (or the status that it gets) have come: behind its blank line, or with the data."""
        if data.startswith(b"\n"):
            return 1
        at = data.find(b"\n\n", max(0, start - 1))
        return len(data) if at < 0 else at + 2

    def _feed_events(self, data: bytes, start: int) -> list[Frame | Batch]:
        """Read bytes that begin with an event; up to `start` there is no end of a line."""
        cut = data.rfind(b"\n\n", max(0, start - 1))
        if self._has_names and cut >= 0 and data.startswith((b"event: ", b"id:")):
            return self._feed_named(data, is_numbered=data.startswith(b"id:"))
        if cut < 0 or not data.startswith(b"data: "):
            return self._feed_lines(data)
        datas = data[6:cut].split(_SEPARATOR)
        if data.count(b"\n", 0, cut) != 2 * (len(datas) - 1) or cut > self._max:  # not each event is one data line
            return self._feed_lines(data)
        frames: list[Frame | Batch] = [Batch(datas, self._base)]
        cut += 2
        self._base += cut
        self.known_lines += 1
        if cut == len(data):
            return frames
        rest = data[cut:]
        if b"\n" in rest:
            return frames + self._feed_lines(rest)
        if len(rest) > self._max:
            return self._exceed(frames)
        self._held += rest
        return frames

    def _feed_named(self, data: bytes, *, is_numbered: bool) -> list[Frame | Batch]:
        """Read events that have a name each: runs of them at once, what stands between the runs line by line."""
        frames: list[Frame | Batch] = []
        runs, events = (_NUMBERED_RUN, _NUMBERED) if is_numbered else (_NAMED_RUN, _NAMED)
        at = 0
        while at < len(data) and not self.exceeded:
            run = runs.match(data, at, at + self._max)  # a run that is larger is cut, so that each byte is matched once
            if run is not None:
                end = run.end()
                names, datas = map(list, zip(*events.findall(data, at, end), strict=True))
                batch = NumberedBatch(datas, self._base, numbers=names) if is_numbered else NamedBatch(datas, self._base, names=names)
                frames.append(batch)
                self._base += end - at
                self.known_lines += 1
            else:
                end = data.find(b"\n\n", at)
                end = len(data) if end < 0 else end + 2
                frames += self._feed_lines(data[at:end])
            at = end
        return frames

    def _feed_lines(self, data: bytes) -> list[Frame | Batch]:
        """Read lines that end with a line feed, one by one."""
        frames: list[Frame | Batch] = []
        position = 0
        while (end := data.find(b"\n", position)) >= 0:
            if end - position + self._pending_bytes > self._max:
                return self._exceed(frames)
            self._line(data[position:end], self._base + position, frames)
            position = end + 1
        return self._rest(data, position, frames)

    def _feed_any_line_end(self, data: bytes) -> list[Frame | Batch]:
        """Read lines that end with CR LF, LF or CR; a CR at the end of a read may have its LF in the next."""
        frames: list[Frame | Batch] = []
        if self._skip_lf:
            self._skip_lf = False
            if data[0] == _LF:
                data = data[1:]
                self._base += 1
        start = len(self._held)
        if start:
            data = b"".join((self._held, data))
            self._held.clear()
        if self._start < 0 and self._status is None and data.startswith(b"data: "):
            used = self._feed_crlf_events(data, start, frames)
            if used:
                data, start = data[used:], 0
        position = 0
        for match in _LINE_END.finditer(data, start):
            if match.start() - position + self._pending_bytes > self._max:
                return self._exceed(frames)
            self._line(data[position : match.start()], self._base + position, frames)
            position = match.end()
        self._skip_lf = position == len(data) and data.endswith(b"\r")
        return self._rest(data, position, frames)

    def _feed_crlf_events(self, data: bytes, start: int, frames: list[Frame | Batch]) -> int:
        """Read a run of events that are one data line each and end with CR LF; returns how many bytes were read, 0 where it is no such run."""
        cut = data.rfind(b"\r\n\r\n", max(0, start - 3))
        if cut < 0 or cut > self._max:
            return 0
        datas = data[6:cut].split(_CRLF_SEPARATOR)
        ends = 2 * (len(datas) - 1)
        if data.count(b"\n", 0, cut) != ends or data.count(b"\r", 0, cut) != ends:
            return 0
        frames.append(Batch(datas, self._base, len(_CRLF_SEPARATOR)))
        self._base += cut + 4
        self.known_lines += 1
        return cut + 4

    def _rest(self, data: bytes, position: int, frames: list[Frame | Batch]) -> list[Frame | Batch]:
        """Keep what stands behind the last line's end."""
        self._base += position
        return self._hold(memoryview(data)[position:], frames) if position < len(data) else frames

    def _hold(self, data: bytes | memoryview, frames: list[Frame | Batch]) -> list[Frame | Batch]:
        """Keep the beginning of a line whose end has not come."""
        if len(self._held) + len(data) + self._pending_bytes > self._max:
            return self._exceed(frames)
        self._held += data
        return frames

    def _exceed(self, frames: list[Frame | Batch]) -> list[Frame | Batch]:
        self.exceeded = True
        self._held.clear()
        self._data = None
        return frames

    def _line(self, line: bytes, offset: int, frames: list[Frame | Batch]) -> None:
        if not line:
            self._dispatch(frames)
            return
        field, colon, value = line.partition(b":")
        if colon and not field:
            self.known_lines += 1
            if found := _STATUS.fullmatch(value):
                self._status = int(found.group(1))
            return
        if value.startswith(b" "):
            value = value[1:]
        if field == b"data" or (colon and field == b"error"):
            self._add(value)
            self._pending_bytes += len(line)
            if field == b"error":
                self._name = "error"
        elif field == b"event":
            self._name = value.decode("utf-8", "replace") if self._name != "error" or self._data is None else self._name
        elif field not in (b"id", b"retry"):
            self.unknown_lines += 1
            return
        self.known_lines += 1
        if self._start < 0:
            self._start = offset

    def _add(self, value: bytes) -> None:
        """Add a line of data to the event; one line, the usual, is kept as it is."""
        if self._data is None:
            self._data = value
            return
        if type(self._data) is bytes:
            self._data = bytearray(self._data)
        self._data += b"\n"
        self._data += value

    def _dispatch(self, frames: list[Frame | Batch], *, is_unterminated: bool = False) -> None:
        if self._data is not None:
            frames.append(Frame(bytes(self._data), self._start, self._name or None, is_unterminated, status=self._status))
        self._data = None
        self._pending_bytes = 0
        self._name = None
        self._status = None
        self._start = -1

    def close(self) -> list[Frame | Batch]:
        """Return the last event, marked, if the body ended before it did."""
        frames: list[Frame | Batch] = []
        if self.exceeded:
            return frames
        if self._held:
            unknown = self.unknown_lines
            self._line(bytes(self._held), self._base, frames)
            self._held.clear()
            if self.known_lines:
                self.unknown_lines = unknown  # the beginning of a field's name, cut off
        self._dispatch(frames, is_unterminated=True)
        return frames
