"""A stream, event by event: what each was, what it added, where that went, and what was odd about it.

The rule of this file: what a stream came to is what the decoder says; here it is only watched. The same body gives the same rows however the network
cut it; the reads give times and nothing else. It never raises for what a peer sent, and what it keeps is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from headrace.decoding import StreamDecoder, StreamResult
from headrace.inspect.arrivals import Arrivals, longest, median_of, stalls_of
from headrace.inspect.causes import Causes
from headrace.inspect.excerpts import excerpt, short, shown
from headrace.inspect.pieces import Piece, blocks_between, pieces_of
from headrace.inspect.places import Place, Places
from headrace.inspect.plot import Plot, kind_of, most_telling
from headrace.inspect.saying import content_of, said
from headrace.inspect.values import Bounds, Cause, Facts, Inspection, PartView, Row, RowKind, Said, Stall
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import Ended, MediaDelta, PartDelta
from headrace.wire.limits import DEFAULT_LIMITS
from headrace.wire.options import DecodeOptions
from headrace.wire.protocols import WIRES

DEFAULT_BOUNDS: Final = Bounds()
_FIRST_ERROR: Final = 400


def inspect_stream(
    body: bytes,
    *,
    protocol: str,
    provider: str | None = None,
    options: DecodeOptions | Mapping[str, Any] | None = None,
    status: int | None = None,
    content_type: str | None = None,
    reads: Sequence[tuple[int, float]] = (),
    is_complete: bool = True,
    source: str = "",
    notes: tuple[str, ...] = (),
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Inspection:
    r"""Return what a stream was.

    Args:
        body: its bytes.
        protocol: as for `StreamDecoder`, as are `provider`, `options`, `status` and `content_type`.
        provider: whose stream it is, if known.
        options: what the decoder switches on.
        status: the HTTP status, if it is known; from 400 on the body is an error.
        content_type: the header, if known.
        reads: for each read, where its bytes begin in the body, and when it came, in milliseconds from the request.
        is_complete: False if the transport broke off.
        source: where it came from, for the reader.
        notes: what else the reader should know.
        bounds: how much is kept.

    Raises:
        UsageError: an argument is unknown or does not fit. What a peer sent never raises.

    Example:
        >>> body = b'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        >>> seen = inspect_stream(body, protocol="openai-chat")
        >>> [(row.kind, row.bytes.offset, [said.type for said in row.deltas]) for row in seen.rows][0]
        ('event', 0, ['text', 'finish'])
    """
    decoder = StreamDecoder(protocol=protocol, provider=provider, options=options, status=status or 200, content_type=content_type)
    watch = _Watch(body, Arrivals(reads), decoder, bounds)
    if status is not None and status >= _FIRST_ERROR:
        watch.piece(Piece(0, len(body), len(body), None), "body")
    else:
        for piece in pieces_of(body, WIRES[protocol], DEFAULT_LIMITS):
            watch.piece(piece, "event" if piece.frame is not None else "rest")
    watch.close(is_complete=is_complete)
    return watch.inspection(protocol=protocol, source=source, notes=notes, status=status)


class _Kept:
    """A row that is kept, while the parts have no names yet."""

    __slots__ = ("cut", "deltas", "row", "warnings")

    def __init__(self, row: Row) -> None:
        self.row = row
        self.deltas: list[tuple[str, str, Place | None]] = []
        self.cut = 0
        self.warnings: list[int] = []


class _Watch:
    """Feeds the decoder event by event and writes down what comes of it."""

    def __init__(self, body: bytes, arrivals: Arrivals, decoder: StreamDecoder, bounds: Bounds) -> None:
        self._body = body
        self._arrivals = arrivals
        self._decoder = decoder
        self._bounds = bounds
        self._places = Places(bounds)
        self._causes = Causes()
        self._plot = Plot()
        self._first: list[_Kept] = []
        self._last: deque[_Kept] = deque(maxlen=max(1, bounds.max_rows // 2))
        self._rows = self._events = self._comments = self._characters = 0
        self._at_ms: float | None = None
        self._content: tuple[float | None, float | None] = (None, None)

    # ------------------------------------------------------------------------------------------ rows

    def piece(self, piece: Piece, kind: RowKind) -> None:
        """Take a piece of the body: a row for its event, and one for what stands behind it."""
        decoder = self._decoder
        is_read, had_error = not decoder.is_over, decoder.error is not None
        chunks = decoder.feed(self._body[piece.offset : piece.end])
        if piece.frame is not None:
            failed: RowKind | None = None
            if is_read and not had_error and decoder.error is not None:
                failed = "error" if decoder.error.kind == "provider_error" else "broken"
            self._row(piece.offset, piece.own_end, failed or _kind(piece, is_read=is_read), chunks, piece)
        elif kind == "body":
            self._row(piece.offset, piece.end, kind, chunks, piece)
            return
        left = chunks if piece.frame is None else []
        for start, stop in blocks_between(self._body, piece.own_end, piece.end):
            is_comment = self._body[start:stop].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b":")
            self._row(start, stop, "comment" if is_comment else "rest", left, None)
            left = []

    def close(self, *, is_complete: bool) -> None:
        """End the stream: what an unfinished event adds belongs to its row, what the end adds to a row of its own."""
        *late, end = self._decoder.close(complete=is_complete)
        if late and self._rows:
            kinds = self._take(late, self._rows - 1, (self._last or self._first)[-1])
            self._plot.is_at_least(self._rows - 1, most_telling(kinds))
            late = []
        self._row(len(self._body), len(self._body), "end", [*late, end], None)

    def _row(self, start: int, end: int, kind: RowKind, chunks: list[AssistantMessageChunk], piece: Piece | None) -> None:
        number = self._rows
        self._rows += 1
        frame = piece.frame if piece is not None else None
        is_event = frame is not None and kind != "unread"
        at_ms = self._arrivals.at(max(start, end - 1)) if self._body else self._arrivals.last_ms
        after_ms = None if at_ms is None or self._at_ms is None else at_ms - self._at_ms
        self._at_ms = at_ms if at_ms is not None else self._at_ms
        row = Row(
            row=number,
            event=self._events if is_event else None,
            kind=kind,
            bytes=excerpt(self._body, start, end, self._bounds.max_excerpt_bytes),
            name=short(frame.event, 80) if frame is not None and frame.event else None,
            at_ms=at_ms,
            after_ms=after_ms,
        )
        self._events += is_event
        self._comments += kind == "comment"
        self._causes.row(start, end)
        kept = _Kept(row)
        if len(self._first) < (self._bounds.max_rows + 1) // 2:
            self._first.append(kept)
        else:
            self._last.append(kept)
        kinds = self._take(chunks, number, kept)
        kinds += ["comment"] if kind == "comment" else ["error"] if kind in ("error", "broken") else []
        self._plot.row(number if at_ms is None else at_ms, end, self._characters, most_telling(kinds))

    def _take(self, chunks: list[AssistantMessageChunk], number: int, kept: _Kept) -> list[str]:
        """Take what a row added; returns what it was, for the plot."""
        kinds: set[str] = set()
        for chunk in chunks:
            for delta in chunk.deltas:
                place = self._places.take(delta, number)
                self._causes.take(delta, number)
                kinds.add(kind_of(delta))
                content = content_of(delta)
                self._characters += len(content)
                if (content or isinstance(delta, PartDelta | MediaDelta)) and not isinstance(delta, Ended):
                    self._content = (self._content[0] if self._content[0] is not None else kept.row.at_ms, kept.row.at_ms)
                if len(kept.deltas) < self._bounds.max_deltas:
                    kept.deltas.append((delta.type, short(said(delta), self._bounds.max_said), place))
                else:
                    kept.cut += 1
        return list(kinds)

    # ------------------------------------------------------------------------------------------ the end

    def inspection(self, *, protocol: str, source: str, notes: tuple[str, ...], status: int | None) -> Inspection:
        """Return what was seen."""
        result = self._decoder.result
        parts = self._places.end(result)
        bounds, warnings = self._bounds, result.warnings
        causes = tuple(
            self._causes.of(warning, self._places, self._body, bounds.max_excerpt_bytes) for warning in warnings[: bounds.max_warnings]
        )
        kept = [*self._first, *self._last]
        by_row = {one.row.row: one for one in kept}
        for n, cause in enumerate(causes):
            for row in {*cause.rows, cause.row} - {None}:
                assert row is not None
                self._plot.is_at_least(row, "warning")
                if row in by_row:
                    by_row[row].warnings.append(n)
        facts = self._facts(result, kept)
        left_out = [
            *([f"{facts.rows_cut:,} rows in the middle are counted but not shown"] if facts.rows_cut else []),
            *([f"{len(warnings) - len(causes):,} more warnings are counted but not shown"] if len(warnings) > len(causes) else []),
        ]
        return Inspection(
            source=shown(source),
            protocol=protocol,
            result=result,
            summary=result.summary(),
            facts=facts,
            rows=tuple(self._finished(one) for one in kept),
            parts=_with_warnings(parts, causes),
            warnings=causes,
            plot=self._plot.points(self._bounds.max_points),
            status=status,
            notes=tuple(shown(note) for note in (*notes, *left_out)),
        )

    def _finished(self, kept: _Kept) -> Row:
        places = self._places
        deltas = tuple(
            Said(type=kind, text=text, part=places.ref(place), is_void=places.is_void(place)) for kind, text, place in kept.deltas
        )
        return msgspec.structs.replace(kept.row, deltas=deltas, deltas_cut=kept.cut, warnings=tuple(kept.warnings))

    def _facts(self, result: StreamResult, kept: list[_Kept]) -> Facts:
        arrivals = self._arrivals
        gaps = arrivals.gaps()
        typical = median_of(gaps)
        stalls = [(Stall(self._causes.row_at(offset) or 0, began, gap), gap) for gap, began, offset in stalls_of(gaps, typical)]
        usage = result.message.usage
        first, last = self._content
        seconds = (last - first) / 1000 if first is not None and last is not None else 0.0
        tokens = usage.output_tokens if usage is not None else None
        return Facts(
            bytes=len(self._body),
            rows=self._rows,
            rows_cut=self._rows - len(kept),
            events=self._events,
            comments=self._comments,
            reads=arrivals.count,
            warnings=len(result.warnings),
            characters=self._characters,
            duration_ms=arrivals.last_ms,
            first_byte_ms=arrivals.first_ms,
            first_content_ms=first,
            gap_median_ms=typical,
            gap_max_ms=max((gap for gap, _, _ in gaps), default=None),
            stalls=longest(stalls),
            stalls_count=len(stalls),
            tokens_per_s=tokens / seconds if tokens and seconds > 0 else None,
        )


def _kind(piece: Piece, *, is_read: bool) -> RowKind:
    frame = piece.frame
    assert frame is not None
    if not is_read:
        return "unread"
    if frame.kind == "broken":
        return "broken"
    if frame.kind != "event":
        return "error"
    if frame.is_unterminated:
        return "unfinished"
    return "body" if frame.is_body else "event"


def _with_warnings(parts: tuple[PartView, ...], causes: tuple[Cause, ...]) -> tuple[PartView, ...]:
    by_part: dict[str, list[int]] = {}
    for n, cause in enumerate(causes):
        if cause.part is not None:
            by_part.setdefault(cause.part, []).append(n)
    return tuple(msgspec.structs.replace(part, warnings=tuple(by_part[part.ref])) if part.ref in by_part else part for part in parts)
