"""From bytes to frames: the AWS event stream (`application/vnd.amazon.eventstream`).

The rule of this file: both checksums of a frame are verified before anything of it comes out; any slicing of the same bytes gives the
same frames; a frame's size is checked as soon as its prelude is there, so nothing larger than the bound is ever held. A body of
another kind (a JSON error, a page of HTML, plain events) is told by its beginning and read as what it is.

    u32 total length | u32 headers length | u32 crc32 of the 8 bytes before | headers | payload | u32 crc32 of all before
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Final, TypeAlias
from uuid import UUID

from headrace.wire.body import Body
from headrace.wire.frames import Batch, Frame, FrameKind

HeaderValue: TypeAlias = bool | int | bytes | str | UUID
_PRELUDE: Final = 12
_TRAILER: Final = 4
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
_SHOWN: Final = 200


class FrameError(ValueError):
    """A frame breaks its own format."""


class AwsFrames:
    """The framer.

    An event comes out as a frame with its `:event-type` as name; exceptions, errors and what is broken by their `kind`. After a broken
    frame nothing more comes out, since where the next one begins can no longer be known.

    Attributes:
        kind: `unknown` (nothing came yet), `events`, `json` or `other`.
        exceeded: a frame says that it is larger than `max_event_bytes`, or another kind of body is.
    """

    __slots__ = ("_base", "_body", "_heads", "_held", "_is_broken", "_max", "_need", "exceeded", "kind")

    def __init__(self, *, max_event_bytes: int) -> None:
        """Start before the first byte."""
        self._max = max_event_bytes
        self._base = 0  # where `_held` begins
        self._held = bytearray()
        self._need = _PRELUDE  # bytes that have to be held before anything can be done
        self._body: Body | None = None  # where the body is of another kind
        self._is_broken = False
        self._heads: dict[bytes, tuple[FrameKind, str | None]] = {}
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
        self._held += data
        if len(self._held) < self._need:
            return []
        if self.kind == "unknown" and not self._is_framed():
            return self._other(bytes(self._held))
        self.kind = "events"
        return self._cut()

    def close(self) -> list[Frame | Batch]:
        """Return what is left: of a frame that was cut, only that it was there."""
        if self._body is None and self.kind == "unknown" and self._held and not self._held.startswith(b"\0"):
            self._other(bytes(self._held))
        if self._body is not None:
            frames = self._body.close()
            self.kind = self._body.kind
            return frames
        if not self._held or self._is_broken or self.exceeded:
            return []
        self.kind = "events"
        return [Frame(b"", self._base, is_unterminated=True)]

    # ------------------------------------------------------------------------------------------ another kind of body

    def _is_framed(self) -> bool:
        """Whether the body begins with a frame, be it a broken one: no text has zeros in it, and the length of headers always has."""
        prelude = self._held[:_PRELUDE]
        return b"\0" in prelude or int.from_bytes(prelude[8:]) == zlib.crc32(prelude[:8])

    def _other(self, head: bytes) -> list[Frame | Batch]:
        self._held.clear()
        self._body = Body(max_event_bytes=self._max)
        return self._feed_body(self._body, head)

    def _feed_body(self, body: Body, data: bytes) -> list[Frame | Batch]:
        frames = body.feed(data)
        self.kind, self.exceeded = body.kind, body.exceeded
        return frames

    # ------------------------------------------------------------------------------------------ frames

    def _cut(self) -> list[Frame | Batch]:
        """Cut off what is whole. `_need` is the size of the frame at hand once its prelude was read."""
        frames: list[Frame | Batch] = []
        held, position = self._held, 0
        while len(held) - position >= self._need:
            if self._need == _PRELUDE:
                if not self._prelude(held, position, frames):
                    return frames
                continue
            if not self._frame(bytes(memoryview(held)[position : position + self._need]), position, frames):
                return frames
            position += self._need
            self._need = _PRELUDE
        del held[:position]
        self._base += position
        return frames

    def _prelude(self, held: bytearray, position: int, frames: list[Frame | Batch]) -> bool:
        """Read a prelude; returns whether the frame is to be waited for."""
        total, headers, checksum = struct.unpack_from(">III", held, position)
        if zlib.crc32(memoryview(held)[position : position + 8]) != checksum:
            return self._break("the checksum of a frame's prelude is wrong", position, frames)
        if headers > _MAX_HEADERS or headers + _PRELUDE + _TRAILER > total:
            return self._break(f"a frame of {total} bytes says that {headers} of them are headers", position, frames)
        if total > self._max + headers + _PRELUDE + _TRAILER:
            self.exceeded = True
            held.clear()
            return False
        self._need = total
        return True

    def _frame(self, frame: bytes, position: int, frames: list[Frame | Batch]) -> bool:
        """Read a whole frame; returns whether it was right."""
        if zlib.crc32(frame[:-_TRAILER]) != int.from_bytes(frame[-_TRAILER:]):
            return self._break("the checksum of a frame is wrong", position, frames)
        end = _PRELUDE + int.from_bytes(frame[4:8])
        head = frame[_PRELUDE:end]
        known = self._heads.get(head)
        payload = frame[end:-_TRAILER]
        if known is None:
            try:
                headers = parse_headers(head)
            except FrameError as error:
                return self._break(str(error), position, frames)
            known = _kind_of(headers)
            if known[0] == "error":
                payload = _text(headers, ":error-message").encode() or payload
            elif len(self._heads) < _KNOWN_HEADS:
                self._heads[head] = known
        kind, name = known
        frames.append(Frame(payload, self._base + position, name, kind=kind))
        return True

    def _break(self, why: str, position: int, frames: list[Frame | Batch]) -> bool:
        self._is_broken = True
        self._held.clear()
        frames.append(Frame(why.encode(), self._base + position, kind="broken"))
        return False


def _kind_of(headers: Mapping[str, HeaderValue]) -> tuple[FrameKind, str | None]:
    """Return what a frame is, and its name; one without `:message-type` is an event."""
    kind = headers.get(":message-type")
    if kind == "exception":
        return "exception", _text(headers, ":exception-type") or None
    if kind == "error":
        return "error", _text(headers, ":error-code") or None
    return "event", _text(headers, ":event-type") or None


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
