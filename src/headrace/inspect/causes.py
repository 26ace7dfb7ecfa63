"""Which bytes caused a warning.

The rule of this file: a warning names its event by its place in the body; what is said of a call as a whole was caused by all its fragments, and a
mark in the text by the pieces of text that hold it. Every warning gets bytes that are there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Final, NamedTuple

from headrace.inspect.excerpts import excerpt, shown
from headrace.inspect.places import Places
from headrace.inspect.values import Cause
from headrace.messages.deltas import Delta, TextDelta
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

_MARKS: Final = frozenset({"possible_inline_tool_call", "leaked_special_tokens"})
_OF_CALLS: Final = frozenset(
    """
    missing_tool_id missing_tool_name arguments_not_object invalid_tool_arguments truncated_tool_arguments lenient_json
    placeholder_arguments_dropped duplicate_arguments_dropped trailing_garbage
    """.split()
)
_MAX_ROWS: Final = 50


class _Found(NamedTuple):
    """The rows that caused it, the last one, and the part that it concerns."""

    rows: tuple[int, ...]
    row: int | None
    part: str | None


class Causes:
    """Remembers where every row stands, and which text came in which."""

    def __init__(self) -> None:
        """Start empty."""
        self._starts = array("Q")
        self._ends = array("Q")
        self._texts: dict[int, list[tuple[int, str]]] = {}

    def row(self, start: int, end: int) -> None:
        """Take the next row's own bytes."""
        self._starts.append(start)
        self._ends.append(end)

    def take(self, delta: Delta, row: int) -> None:
        """Take a delta, of which only text matters."""
        if type(delta) is TextDelta:
            self._texts.setdefault(delta.choice, []).append((row, delta.text))

    def of(self, warning: Warning, places: Places, body: bytes, limit: int) -> Cause:
        """Return a warning's cause; `places` have ended."""
        found = self._found(warning, places)
        start, end = 0, len(body)
        if found.row is not None:
            start, end = self._starts[found.row], self._ends[found.row]
            if warning.code in _MARKS and found.rows:
                start = self._starts[found.rows[0]]
        return Cause(
            code=warning.code,
            detail=shown(warning.detail),
            choice=warning.choice,
            part=found.part,
            row=found.row,
            rows=found.rows,
            bytes=excerpt(body, start, end, limit),
        )

    def _found(self, warning: Warning, places: Places) -> _Found:
        row = self.row_at(warning.offset)
        if warning.code in _MARKS and warning.detail and (rows := self._rows_of_mark(warning.choice, warning.detail)):
            return _Found(rows, rows[-1], None)
        if warning.part is not None:
            for ref, rows, last in places.of_key(warning.choice, warning.part):
                if warning.code in _OF_CALLS and last is not None:
                    return _Found(rows, last if row is None else row, ref)
                return _Found(() if row is None else (row,), last if row is None else row, ref)
        return _Found(() if row is None else (row,), row, None)

    def row_at(self, offset: int | None) -> int | None:
        """Return the row in which this byte stands; without one the last row that has bytes."""
        if not self._starts:
            return None
        if offset is None:
            return next((row for row in reversed(range(len(self._starts))) if self._starts[row] < self._ends[row]), None)
        return max(0, bisect_right(self._starts, offset) - 1)

    def _rows_of_mark(self, choice: int, mark: str) -> tuple[int, ...]:
        pieces = self._texts.get(choice, [])
        at = "".join(text for _, text in pieces).find(mark)
        if at < 0:
            return ()
        rows: list[int] = []
        position = 0
        for row, text in pieces:
            if position + len(text) > at and row not in rows[-1:]:
                rows.append(row)
            position += len(text)
            if position >= at + len(mark):
                break
        return tuple(rows[:_MAX_ROWS])
