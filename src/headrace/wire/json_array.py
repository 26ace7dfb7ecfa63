"""From bytes to frames: a body that may be one JSON array whose elements arrive one by one.

The rule of this file: each element is handed out as soon as its last byte has come; each byte is looked at once, and what is held is
bounded. A body of any other kind is framed as `Body` does it.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.wire.beginning import BLANK, Beginning
from headrace.wire.body import Body
from headrace.wire.frames import Batch, Frame

_OUTSIDE: Final = re.compile(rb'["\[\]{},]')
_INSIDE: Final = re.compile(rb'["\\]')


class ArrayOrBody:
    """Finds out whether a body is an array, and frames it.

    An array that the body's end cuts off gives its last, unfinished element as an unterminated frame with `is_body` set (with no data, if
    it was cut between two elements).

    Attributes:
        kind: as `Body.kind`; an array is `json`.
        exceeded: something was larger than `max_event_bytes`.
    """

    __slots__ = ("_begin", "_framer", "_max", "exceeded")

    def __init__(self, *, max_event_bytes: int) -> None:
        """Start before the first byte."""
        self._max = max_event_bytes
        self._begin = Beginning(max_event_bytes)
        self._framer: _Elements | Body | None = None
        self.exceeded = False

    @property
    def kind(self) -> str:
        """What the body turned out to be."""
        if self._framer is None:
            return "other" if self._begin.is_cut else "unknown"
        return self._framer.kind

    @property
    def beginning(self) -> str:
        """The first bytes of the body, for an error message."""
        return self._begin.shown

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        self._begin.show(data)
        framer = self._framer
        if framer is not None:
            return self._seen(framer, framer.feed(data))
        if self.exceeded:
            return []
        text = self._begin.feed(data)
        self.exceeded = self._begin.exceeded
        return self._start(text) if text else []

    def _start(self, text: bytes) -> list[Frame | Batch]:
        if text.startswith(b"["):
            items = self._framer = _Elements(self._begin.blank + 1, self._max)
            return self._seen(items, items.feed(text[1:]))
        body = self._framer = Body(max_event_bytes=self._max)
        return self._seen(body, body.start(text, self._begin))

    def _seen(self, framer: _Elements | Body, frames: list[Frame | Batch]) -> list[Frame | Batch]:
        self.exceeded = framer.exceeded
        return frames

    def close(self) -> list[Frame | Batch]:
        """Return what is left: an unfinished event, the whole JSON body, or an element that was cut off."""
        return [] if self._framer is None else self._framer.close()


class _Elements:
    """Cuts the elements out of an array whose bracket was read."""

    kind: Final = "json"
    __slots__ = ("_base", "_depth", "_held", "_is_after_escape", "_is_ended", "_is_in_string", "_max", "exceeded")

    def __init__(self, offset: int, max_bytes: int) -> None:
        self._base = offset  # where `_held` begins
        self._held = bytearray()
        self._max = max_bytes
        self._depth = 0
        self._is_in_string = False
        self._is_after_escape = False
        self._is_ended = False
        self.exceeded = False

    def feed(self, data: bytes) -> list[Frame | Batch]:
        frames: list[Frame | Batch] = []
        start = at = 0
        while not self.exceeded and not self._is_ended:
            if self._is_in_string:
                at = self._skip_string(data, at)
            found = None if self._is_in_string else _OUTSIDE.search(data, at)
            if found is None:
                break
            at = found.end()
            if self._token(found.group()):
                self._end(data[start : at - 1], frames)
                start = at
        if not self.exceeded:
            self._hold(data[start:])
        return frames

    def _skip_string(self, data: bytes, at: int) -> int:
        """Return where the string at hand ends, or the end of the data."""
        if self._is_after_escape and at < len(data):
            self._is_after_escape = False
            at += 1
        while found := _INSIDE.search(data, at):
            at = found.end()
            if found.group() == b'"':
                self._is_in_string = False
                return at
            if at == len(data):
                self._is_after_escape = True
                return at
            at += 1
        return len(data)

    def _token(self, token: bytes) -> bool:
        """Follow one token; returns whether it ends an element."""
        if token == b'"':
            self._is_in_string = True
        elif token in b"[{":
            self._depth += 1
        elif token == b",":
            return self._depth == 0
        elif self._depth > 0:
            self._depth -= 1
        else:
            self._is_ended = True
            return True
        return False

    def _end(self, piece: bytes, frames: list[Frame | Batch]) -> None:
        if len(self._held) + len(piece) > self._max:
            self._exceed()
            return
        element = b"".join((self._held, piece)) if self._held else piece
        self._held.clear()
        text = element.lstrip(BLANK)
        if text:
            frames.append(Frame(text.rstrip(BLANK), self._base + len(element) - len(text)))
        self._base += len(element) + 1

    def _hold(self, piece: bytes) -> None:
        if len(self._held) + len(piece) > self._max:
            self._exceed()
        else:
            self._held += piece

    def _exceed(self) -> None:
        self.exceeded = True
        self._held.clear()

    def close(self) -> list[Frame | Batch]:
        if self.exceeded:
            return []
        rest = bytes(self._held).strip(BLANK)
        if not self._is_ended:
            return [Frame(rest, self._base, is_unterminated=True, is_body=True)]
        return [Frame(rest, self._base)] if rest else []
