"""Where a body begins to say something.

The rule of this file: the first byte that is no space is found once, here, for every framer that asks what a body is; so all of them agree
about byte order marks, spaces and the limit, however the bytes were cut.
"""

from __future__ import annotations

from typing import Final

BLANK: Final = b" \t\r\n"
"""Bytes that say nothing, before a body and around a JSON value."""
_BOM: Final = b"\xef\xbb\xbf"
_SHOWN: Final = 200


class Beginning:
    """Finds the first byte of a body that says something.

    Attributes:
        blank: bytes before it: a byte order mark, spaces, line ends.
        is_indented: spaces or tabs stand before it on its line.
        is_shown: `show` has all that it keeps.
        exceeded: more than `max_bytes` blank bytes came.
    """

    __slots__ = ("_first", "_mark", "_max", "blank", "exceeded", "is_indented", "is_shown")

    def __init__(self, max_bytes: int) -> None:
        """Start before the first byte."""
        self._max = max_bytes
        self._mark = b""  # the beginning of a byte order mark
        self._first = b""
        self.blank = 0
        self.is_indented = False
        self.is_shown = False
        self.exceeded = False

    def feed(self, data: bytes) -> bytes:
        """Return what says something: nothing yet, or these bytes from the first such one on, which ends the search."""
        head = self._mark + data
        if self.blank == 0 and len(head) < len(_BOM) and _BOM.startswith(head):
            self._mark = head
            return b""
        start = len(_BOM) if self.blank == 0 and head.startswith(_BOM) else 0
        self._mark = b""
        text = head[start:].lstrip(BLANK)
        end = len(head) - len(text)
        self.blank += end
        self._indent(head[start:end])
        self.exceeded = self.blank > self._max
        return b"" if self.exceeded else text

    def _indent(self, blank: bytes) -> None:
        """Note whether the line at hand begins with spaces: the grammar of events knows no field that does."""
        line_ends = blank.rstrip(b" \t")
        self.is_indented = len(line_ends) < len(blank) or (self.is_indented and not line_ends)

    def show(self, data: bytes) -> None:
        """Keep the first bytes of the body for `shown`; the framer gives them all, whatever it makes of them."""
        if len(self._first) < _SHOWN:
            self._first += data[: _SHOWN - len(self._first)]
            self.is_shown = len(self._first) == _SHOWN

    @property
    def shown(self) -> str:
        """The first bytes of the body, for an error message."""
        return self._first.decode("utf-8", "replace")

    @property
    def is_cut(self) -> bool:
        """Whether all that came is half a byte order mark."""
        return bool(self._mark)
