"""From bytes to frames: the AWS event stream (`application/vnd.amazon.eventstream`).

The rule of this file: both checksums of a frame are verified before anything of it comes out; any slicing of the same bytes gives the
same frames; a frame's size is checked as soon as its prelude is there, so nothing larger than the bound is ever held. A body of
another kind (a JSON error, a page of HTML, plain events) is told by its beginning and read as what it is.

    u32 total length | u32 headers length | u32 crc32 of the 8 bytes before | headers | payload | u32 crc32 of all before
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, TypeAlias
from uuid import UUID
from zlib import crc32

from headrace.wire.body import Body
from headrace.wire.frames import Batch, Frame, FrameKind

HeaderValue: TypeAlias = bool | int | bytes | str | UUID
_PRELUDE: Final = 12
_TRAILER: Final = 4
_AROUND: Final = _PRELUDE + _TRAILER
_MAX_HEADERS: Final = 128 * 1024
_HEADER_TYPES: Final = {
    2: struct.Struct(">b"),
    3: struct.Struct(">h"),
    4: struct.Struct(">i"),
    5: struct.Struct(">q"),
    8: struct.Struct(">q"),
}
_BYTES, _TEXT, _UUID = 6, 7, 9
_KNOWN_HEADS: Final = 64
_KNOWN_PRELUDES: Final = 1024
_prelude: Final = struct.Struct(">III").unpack
_checksum: Final = struct.Struct(">I").unpack_from
_SHOWN: Final = 200


class AwsBatch(Batch, frozen=True, gc=False):
    """A run of events with the same headers.

    Attributes:
        event: their name, or None.
    """

    event: str | None = None

    def frames(self) -> list[Frame]:
        """Return each event as a frame, in one pass."""
        return [Frame(data, offset, self.event) for data, offset in zip(self.datas, self.offsets(), strict=False)]


class FrameError(ValueError):
    """A frame breaks its own format."""


class AwsFrames:
    """The framer.

    Events come out in runs, with their `:event-type` as name; exceptions, errors and what is broken by their `kind`. After a broken
    frame nothing more comes out, since where the next one begins can no longer be known.

    Attributes:
        kind: `unknown` (nothing came yet), `events`, `json` or `other`.
        exceeded: a frame says that it is larger than `max_event_bytes`, or another kind of body is.
    """

    __slots__ = ("_base", "_body", "_heads", "_held", "_is_broken", "_max", "_need", "_preludes", "exceeded", "kind")

    def __init__(self, *, max_event_bytes: int) -> None:
        """Start before the first byte."""
        self._max = max_event_bytes
        self._base = 0  # where `_held` begins
        self._held = bytearray()
        self._need = _PRELUDE  # bytes that have to be held before anything can be done
        self._body: Body | None = None  # where the body is of another kind
        self._is_broken = False
        self._heads: dict[bytes, tuple[FrameKind, str | None, bytes]] = {}
        self._preludes: dict[bytes, tuple[int, int, int]] = {}
        self.exceeded = False
        self.kind = "unknown"

    @property
    def beginning(self) -> str:
        """The first bytes of a body that is of no known kind, for an error message."""
        return bytes(self._held[:_SHOWN]).decode("utf-8", "replace") if self._body is None else self._body.beginning

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        if self._body is not None:
            return self._feed_body(self._body, data)
        if self.exceeded or self._is_broken:
            return []
        held = self._held
        if len(held) + len(data) < self._need:
            held += data
            return []
        if held:
            data = b"".join((held, data))
            held.clear()
        if self.kind == "unknown" and not _is_framed(data):
            return self._other(data)
        self.kind = "events"
        return self._cut(data)

    def close(self) -> list[Frame | Batch]:
        """Return what is left: of a frame that was cut, only that it was there."""
        if self._body is None and self.kind == "unknown" and self._held and not self._held.startswith(b"\0"):
            self._other(bytes(self._held))
            self._held.clear()
        if self._body is not None:
            frames = self._body.close()
            self.kind = self._body.kind
            return frames
        if not self._held or self._is_broken or self.exceeded:
            return []
        self.kind = "events"
        return [Frame(b"", self._base, is_unterminated=True)]

    # ------------------------------------------------------------------------------------------ another kind of body

    def _other(self, head: bytes) -> list[Frame | Batch]:
        self._body = Body(max_event_bytes=self._max)
        return self._feed_body(self._body, head)

    def _feed_body(self, body: Body, data: bytes) -> list[Frame | Batch]:
        frames = body.feed(data)
        self.kind, self.exceeded = body.kind, body.exceeded
        return frames

    # ------------------------------------------------------------------------------------------ frames

    def _cut(self, data: bytes) -> list[Frame | Batch]:
        """Cut off what is whole; `_need` is how much has to be there before the rest is looked at again."""
        frames: list[Frame | Batch] = []
        run: AwsBatch | None = None
        run_head: bytes | None = None
        position, end, base, largest, known = 0, len(data), self._base, self._max, self._preludes
        self._need = _PRELUDE
        while end - position >= _PRELUDE:
            prelude = data[position : position + _PRELUDE]
            try:
                total, around, checksum = known.get(prelude) or self._open(prelude)
            except FrameError as error:
                return self._break(str(error), base + position, frames)
            if total > largest + around:
                self.exceeded = True
                return frames
            stop = position + total
            if stop > end:
                self._need = total
                break
            # The checksum of the prelude goes on as that of the frame, which covers it.
            if crc32(data[position + 8 : stop - _TRAILER], checksum) != _checksum(data, stop - _TRAILER)[0]:
                return self._break("the checksum of a frame is wrong", base + position, frames)
            begin = position + around - _TRAILER
            head = data[position + _PRELUDE : begin]
            payload = data[begin : stop - _TRAILER]
            if head == run_head and run is not None:
                run.datas.append(payload)
            else:
                try:
                    kind, name, words = self._kind_of(head)
                except FrameError as error:
                    return self._break(str(error), base + position, frames)
                if kind == "event":
                    run, run_head = AwsBatch([payload], base + position, around, name), head
                    frames.append(run)
                else:
                    run = None
                    frames.append(Frame(words or payload, base + position, name, kind=kind))
            position = stop
        self._base += position
        self._held += memoryview(data)[position:]
        return frames

    def _open(self, prelude: bytes) -> tuple[int, int, int]:
        """Return a frame's size, how many bytes of it are not its payload, and the checksum of its prelude; kept, since sizes come again.

        Raises:
            FrameError: they break their own format.
        """
        total, headers, checksum = _prelude(prelude)
        if crc32(prelude[:8]) != checksum:
            raise FrameError("the checksum of a frame's prelude is wrong")
        if headers > _MAX_HEADERS or headers + _AROUND > total:
            raise FrameError(f"a frame of {total} bytes says that {headers} of them are headers")
        opened = total, headers + _AROUND, checksum
        if len(self._preludes) < _KNOWN_PRELUDES:
            self._preludes[prelude] = opened
        return opened

    def _kind_of(self, head: bytes) -> tuple[FrameKind, str | None, bytes]:
        """Return what a frame with these headers is, its name, and the words that its headers hold.

        Raises:
            FrameError: they break their own format.
        """
        known = self._heads.get(head)
        if known is None:
            known = _kind_of(parse_headers(head))
            if len(self._heads) < _KNOWN_HEADS:
                self._heads[head] = known
        return known

    def _break(self, why: str, offset: int, frames: list[Frame | Batch]) -> list[Frame | Batch]:
        self._is_broken = True
        return [*frames, Frame(why.encode(), offset, kind="broken")]


def _is_framed(data: bytes) -> bool:
    """Whether a body begins with a frame, be it a broken one: no text has zeros in it, and the length of headers always has."""
    return b"\0" in data[:_PRELUDE] or crc32(data[:8]) == int.from_bytes(data[8:_PRELUDE])


def _kind_of(headers: Mapping[str, HeaderValue]) -> tuple[FrameKind, str | None, bytes]:
    """Return what a frame is, its name, and an error's words; one without `:message-type` is an event."""
    kind = headers.get(":message-type")
    if kind == "exception":
        return "exception", _text(headers, ":exception-type") or None, b""
    if kind == "error":
        return "error", _text(headers, ":error-code") or None, _text(headers, ":error-message").encode()
    return "event", _text(headers, ":event-type") or None, b""


def _text(headers: Mapping[str, HeaderValue], name: str) -> str:
    value = headers.get(name)
    return value if isinstance(value, str) else ""


def parse_headers(data: bytes) -> dict[str, HeaderValue]:
    """Read the headers of a frame: of each name the first one counts.

    Timestamps are milliseconds since 1970.

    Raises:
        FrameError: they break their own format.
    """
    headers: dict[str, HeaderValue] = {}
    position = 0
    while position < len(data):
        name, position = _take(data, position + 1, data[position])
        if position >= len(data):
            raise FrameError("a frame's header has no type")
        value, position = _header_value(data, position + 1, data[position])
        headers.setdefault(name.decode("utf-8", "replace"), value)
    return headers


def _header_value(data: bytes, position: int, kind: int) -> tuple[HeaderValue, int]:
    if kind in (0, 1):
        return kind == 0, position
    if kind in (_BYTES, _TEXT):
        length, position = _take(data, position, 2)
        value, position = _take(data, position, int.from_bytes(length))
        return (value if kind == _BYTES else value.decode("utf-8", "replace")), position
    if kind == _UUID:
        value, position = _take(data, position, 16)
        return UUID(bytes=value), position
    number = _HEADER_TYPES.get(kind)
    if number is None:
        raise FrameError(f"a frame's header has the type {kind}, which does not exist")
    value, position = _take(data, position, number.size)
    return int(number.unpack(value)[0]), position


def _take(data: bytes, position: int, size: int) -> tuple[bytes, int]:
    end = position + size
    if end > len(data):
        raise FrameError("a frame's headers end in the midst of one")
    return data[position:end], end
