"""Where each event of a body begins and ends. Pure.

The rule of this file: the framers of `wire` decide what an event is; here it is only found out which bytes are whose, and every byte of the body
belongs to exactly one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from headrace.wire.beginning import BLANK
from headrace.wire.frames import Batch, Frame
from headrace.wire.limits import Limits
from headrace.wire.protocols import Framer, Wire

_BLOCK: Final = 256 * 1024
_BLANK_LINE: Final = re.compile(rb"(?>\r\n|\n|\r){2}")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Piece(NamedTuple):
    """A frame and its bytes: its own up to `own_end`; up to `end` what stands behind it, such as comments.

    Attributes:
        frame: None for bytes before the first event, and for a body without one.
        is_last_by_close: the frame came out only when the body had ended.
    """

    offset: int
    own_end: int
    end: int
    frame: Frame | None
    is_last_by_close: bool = False


def pieces_of(body: bytes, wire: Wire, limits: Limits) -> Iterator[Piece]:
    """Give the pieces of a body in order; together they are the body, also where it holds no event."""
    framer = wire.make_framer(limits.max_event_bytes)
    held: tuple[Frame, bool] | None = None
    begun = 0
    for frame, is_by_close in _frames(body, framer):
        at = max(begun, min(frame.offset, len(body)))
        if held is not None:
            yield _piece(body, begun, at, held, framer)
        elif at > begun:
            yield Piece(begun, begun, at, None)
        held, begun = (frame, is_by_close), at
    if held is not None:
        yield _piece(body, begun, len(body), held, framer)
    elif body:
        yield Piece(0, 0, len(body), None)


def blocks_between(body: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Give what stands between events, cut at blank lines; blocks that say nothing are left out."""
    while start < end:
        found = _BLANK_LINE.search(body, start, end)
        stop = found.end() if found else end
        if body[start:stop].removeprefix(_BYTE_ORDER_MARK).strip(BLANK):
            yield start, stop
        start = stop


def _frames(body: bytes, framer: Framer) -> Iterator[tuple[Frame, bool]]:
    for start in range(0, len(body), _BLOCK):
        for frame in framer.feed(body[start : start + _BLOCK]):
            yield from ((one, False) for one in _each(frame))
    for frame in framer.close():
        yield from ((one, True) for one in _each(frame))


def _each(frame: Frame | Batch) -> list[Frame]:
    return frame.frames() if isinstance(frame, Batch) else [frame]


def _piece(body: bytes, begin: int, end: int, held: tuple[Frame, bool], framer: Framer) -> Piece:
    frame, is_by_close = held
    own_end = end
    if framer.kind == "events" and not frame.is_unterminated and body[begin : begin + 1] != b"\0":
        found = _BLANK_LINE.search(body, begin, end)
        own_end = found.end() if found else end
    return Piece(begin, own_end, end, frame, is_by_close)
