"""What an inspection says, as values.

The rule of this file: frozen, JSON-ready, and bounded: a long thing is kept by its beginning, with a number that says how much was left out.
Times are milliseconds from the sending of the request, offsets and lengths are bytes of the body.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.decoding import StreamResult

RowKind: TypeAlias = Literal["event", "body", "comment", "unfinished", "error", "broken", "rest", "unread", "end"]
"""What a row of the table is: an event; a whole body that is no stream; a comment or what else stands between events; an event that the body's
end cut; an error that the peer sent; an event or a frame that broke the stream; bytes in which there is no event; what came after the stream's own end and was not
read; what closing the stream added."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a stream is kept; everything is read and counted all the same.

    Attributes:
        max_rows: events and comments: as many from the beginning as from the end.
        max_excerpt_bytes: of the bytes of one event.
        max_deltas: of one event, each with at most `max_said` characters.
        max_said: characters of what a delta said.
        max_fragments: of one part.
        max_text: characters of one part.
        max_points: of the plot.
        max_warnings: with their bytes.
    """

    max_rows: int = 2000
    max_excerpt_bytes: int = 600
    max_deltas: int = 8
    max_said: int = 160
    max_fragments: int = 400
    max_text: int = 20_000
    max_points: int = 400
    max_warnings: int = 300


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the body: where it is, and its beginning as text, in which what cannot be shown is replaced."""

    offset: int
    length: int
    text: str = ""
    cut_bytes: int = 0


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One delta: its type, what it said, and which part it went to.

    Attributes:
        type: as in the delta's JSON, such as `text` or `tool_call`.
        text: what it added, in short.
        part: the part's `ref`, or None if it concerns none.
        is_void: the peer began its message anew afterwards, so nothing is left of it.
    """

    type: str
    text: str = ""
    part: str | None = None
    is_void: bool = False


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """An event, or what stands between events.

    Attributes:
        row: its number, from 0 on.
        event: which event of the stream it is, from 0 on, as warnings count; None for rows that are none.
        kind: see `RowKind`.
        name: its `event:` name or its frame's type, if it has one.
        bytes: where it is and how it begins.
        at_ms: when its last byte came; None where times are not known.
        after_ms: time since the row before.
        deltas: what it added.
        deltas_cut: how many more deltas it had.
        warnings: indexes in `Inspection.warnings`.
    """

    row: int
    event: int | None
    kind: RowKind
    bytes: Excerpt
    name: str | None = None
    at_ms: float | None = None
    after_ms: float | None = None
    deltas: tuple[Said, ...] = ()
    deltas_cut: int = 0
    warnings: tuple[int, ...] = ()


class Fragment(msgspec.Struct, frozen=True):
    """A piece of a part: the row it came in, and what it added."""

    row: int
    text: str


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a tool call; its raw arguments are the part's text.

    Attributes:
        why_not: why it must not run; None if it may.
        read_as: the arguments as JSON, where they had to be repaired to be read; else None.
    """

    id: str
    name: str
    kind: str
    is_parsed: bool
    is_runnable: bool
    is_id_made_up: bool
    why_not: str | None = None
    read_as: str | None = None


class PartView(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the message, and where it came from.

    Attributes:
        ref: its name in this inspection: the choice and its place among the parts, such as `0.2`.
        kind: `text`, `reasoning`, `refusal`, `tool_call`, `provider_tool`, `media` or another part's type.
        title: a call's name, a medium's kind, or "".
        text: its text, a call's raw arguments; the beginning if it is long.
        text_cut: characters left out.
        fragments: the pieces that it was merged from, in order.
        fragments_cut: how many more there were.
        fragments_count: how many there were.
        first_row, last_row: where the first and the last of them came; None if none did.
        call: what became of it, for a tool call.
        notes: what else it holds, such as a signature.
        warnings: indexes in `Inspection.warnings`.
    """

    ref: str
    choice: int
    kind: str
    title: str = ""
    text: str = ""
    text_cut: int = 0
    fragments: tuple[Fragment, ...] = ()
    fragments_cut: int = 0
    fragments_count: int = 0
    first_row: int | None = None
    last_row: int | None = None
    call: Call | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[int, ...] = ()


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A warning and the bytes that caused it.

    Attributes:
        code, detail, choice: the warning's own.
        part: the `ref` of the part it concerns, or None.
        row: the row that caused it; the last one where several did.
        rows: all of these rows, the first 50 of them.
        bytes: from where to where in the body, and how it begins.
    """

    code: str
    detail: str
    choice: int
    part: str | None
    row: int | None
    rows: tuple[int, ...]
    bytes: Excerpt


class Stall(msgspec.Struct, frozen=True):
    """A long silence: the row that ended it, when it began, and how long it took."""

    row: int
    began_ms: float
    took_ms: float


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers.

    Attributes:
        bytes, rows, events, comments: how many there were; of rows, `rows_cut` are not in the table.
        reads: in how many reads the body came; 0 where that is not known.
        warnings: how many there were, which may be more than are shown with their bytes.
        characters: characters of content: text, reasoning, refusals, arguments.
        duration_ms: when the last byte came.
        first_byte_ms: when the first one came.
        first_content_ms: when the first content was whole.
        gap_median_ms, gap_max_ms: between reads; None with fewer than two.
        stalls: silences of a second or more that are ten times the median gap or more, the longest 20 in their order.
        stalls_count: how many there were.
        tokens_per_s: tokens of the output, as the usage has it, over the time from the first content to the last.
    """

    bytes: int
    rows: int
    rows_cut: int
    events: int
    comments: int
    reads: int
    warnings: int
    characters: int
    duration_ms: float | None = None
    first_byte_ms: float | None = None
    first_content_ms: float | None = None
    gap_median_ms: float | None = None
    gap_max_ms: float | None = None
    stalls: tuple[Stall, ...] = ()
    stalls_count: int = 0
    tokens_per_s: float | None = None


class Point(msgspec.Struct, frozen=True):
    """A point of the plot: rows that came close together.

    Attributes:
        x: milliseconds, or the number of the row where times are not known.
        bytes, characters: how many had come by then.
        kind: the most telling thing among the rows: `error`, `warning`, `call`, `reasoning`, `text`, `comment` or `other`.
        row: the row that it is.
        count: how many rows it stands for.
    """

    x: float
    bytes: int
    characters: int
    kind: str
    row: int
    count: int


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """What one stream was.

    Attributes:
        source: where it came from, in words.
        protocol: as which it was read.
        notes: what was guessed or left out, for a person.
        status: the HTTP status, if it is known.
        result: what it came to; not part of the JSON form, whose `summary` says it.
        summary: the result's summary.
    """

    source: str
    protocol: str
    result: StreamResult
    summary: dict[str, Any]
    facts: Facts
    rows: tuple[Row, ...]
    parts: tuple[PartView, ...]
    warnings: tuple[Cause, ...]
    plot: tuple[Point, ...]
    status: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_timed(self) -> bool:
        """Whether it is known when the bytes came."""
        return self.facts.duration_ms is not None
