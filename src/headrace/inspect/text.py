"""The report as text, for a terminal or a pipe. Pure.

The rule of this file: pieces of text with a style each; whoever prints them decides how a style looks. What a peer sent is shown without control
characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from headrace.inspect.excerpts import short, shown
from headrace.inspect.values import Cause, Inspection, PartView, Row
from headrace.inspect.wording import counted, error_of, facts_of, finish_of, name_of, place_of, seconds, size, usage_of

Look: TypeAlias = Literal[
    "text", "reasoning", "refusal", "call", "arguments", "failed", "note", "warning", "error", "label", "title", "good"
]
_INDENT: Final = 12
_FIRST_ROWS: Final = 40
_LAST_ROWS: Final = 15
_LINE: Final = 100
_FRAGMENTS: Final = 12
_BARS: Final = " ▁▂▃▄▅▆▇█"
_WIDTH: Final = 60
_LOOKS: Final[dict[str, Look]] = {"reasoning": "reasoning", "refusal": "refusal", "text": "text"}


class Word(NamedTuple):
    """A piece of text in one style; it may hold and end with newlines."""

    text: str
    look: Look = "text"


def text_report(inspection: Inspection) -> list[Word]:
    """Return the whole report."""
    words: list[Word] = []
    words += _head(inspection)
    words += [word for part in inspection.parts for word in _part(part, inspection)]
    words += _end(inspection)
    if inspection.warnings:
        words.append(Word("\nwarnings\n", "title"))
        words += [word for cause in inspection.warnings for word in _cause(cause, inspection)]
    words.append(Word("\nevents\n", "title"))
    words += _rows(inspection)
    return words


def _row(label: str, text: str, look: Look = "text") -> Iterator[Word]:
    yield Word(label.ljust(_INDENT), "label")
    yield Word(text.rstrip("\n").replace("\n", "\n" + " " * _INDENT) + "\n", look)


def _head(inspection: Inspection) -> Iterator[Word]:
    yield from _row("stream", inspection.source or "(no name)", "title")
    status = f" · HTTP {inspection.status}" if inspection.status is not None else ""
    yield from _row("protocol", f"{inspection.protocol}{status}")
    for note in inspection.notes:
        yield from _row("", shown(note), "note")
    facts = facts_of(inspection)
    yield from _row("facts", " · ".join(f"{name} {value}" for name, value in facts))
    if inspection.is_timed and len(inspection.plot) > 1:
        yield from _row("arrival", f"{sparkline(inspection)}  0 to {seconds(inspection.facts.duration_ms)}", "note")
    for stall in inspection.facts.stalls:
        yield from _row("stall", f"{seconds(stall.took_ms)} of silence from {seconds(stall.began_ms)} on", "warning")


def sparkline(inspection: Inspection) -> str:
    """Return how many rows came when, from the start of the request to the last byte."""
    end = max((point.x for point in inspection.plot), default=0.0)
    counts = [0] * _WIDTH
    for point in inspection.plot:
        counts[min(_WIDTH - 1, int(point.x / end * _WIDTH)) if end > 0 else 0] += point.count
    most = max(counts) or 1
    return "".join(_BARS[0 if not count else max(1, round(count / most * (len(_BARS) - 1)))] for count in counts)


def _part(part: PartView, inspection: Inspection) -> Iterator[Word]:
    choice = f"[{part.choice}] " if len(inspection.result.choices) > 1 else ""
    label = {"tool_call": "call", "provider_tool": "ran"}.get(part.kind, part.kind)
    yield Word(f"{choice}{label}".ljust(_INDENT), "label")
    if part.kind in ("tool_call", "provider_tool"):
        yield Word(part.title or "(no name)", "call")
        yield Word(f" {short(part.text, 600)}", "arguments")
    else:
        text = part.text or part.title or "(nothing to show)"
        yield Word(short(text, 1200).replace("\n", "\n" + " " * _INDENT), _LOOKS.get(part.kind, "note"))
    yield Word("\n")
    if part.call is not None:
        yield Word(" " * _INDENT)
        is_good = part.call.is_runnable
        yield Word("runnable" if is_good else f"not runnable: {part.call.why_not}", "good" if is_good else "failed")
        yield Word(f"  {part.call.id}{' (made up)' if part.call.is_id_made_up else ''}\n", "note")
        if part.call.read_as is not None:
            yield Word(f"{' ' * _INDENT}read as {short(part.call.read_as, 600)}\n", "arguments")
    yield Word(" " * _INDENT + _merged(part, inspection) + "\n", "note")


def _merged(part: PartView, inspection: Inspection) -> str:
    rows = {row.row: row for row in inspection.rows}
    words = counted(part.fragments_count, "fragment")
    if part.first_row is not None and part.last_row is not None:
        first, last = (name_of(rows[n]) if n in rows else f"row {n}" for n in (part.first_row, part.last_row))
        words += f", {first}" + (f" to {last}" if part.last_row != part.first_row else "")
    if part.kind == "tool_call" and part.fragments_count > 1:
        texts = [one.text for one in part.fragments if one.text]
        words += ": " + " ".join(f"⟨{short(text, 40)}⟩" for text in texts[:_FRAGMENTS])
        words += f" … {len(texts) - _FRAGMENTS:,} more" if len(texts) > _FRAGMENTS else ""
    return " · ".join([words.replace("\n", " ↵ "), *part.notes])


def _end(inspection: Inspection) -> Iterator[Word]:
    yield from _row("finish", finish_of(inspection))
    if usage := usage_of(inspection):
        yield from _row("usage", usage)
    if error := error_of(inspection):
        yield from _row("error", error, "error")


def _cause(cause: Cause, inspection: Inspection) -> Iterator[Word]:
    rows = {row.row: row for row in inspection.rows}
    where = f"{name_of(rows[cause.row])}, " if cause.row is not None and cause.row in rows else ""
    yield Word(f"{cause.code}", "warning")
    yield Word(f"  {where}{place_of(cause)}{f' · {short(cause.detail, 200)}' if cause.detail else ''}\n", "note")
    yield Word(f"    {_line(cause.bytes.text, 240)}\n")


def _rows(inspection: Inspection) -> Iterator[Word]:
    rows = inspection.rows
    shown_rows: list[Row | None] = list(rows)
    if len(rows) > _FIRST_ROWS + _LAST_ROWS:
        shown_rows = [*rows[:_FIRST_ROWS], None, *rows[-_LAST_ROWS:]]
    for row in shown_rows:
        if row is None:
            yield Word(f"  … {len(rows) - _FIRST_ROWS - _LAST_ROWS:,} more rows; --html and --json have them\n", "note")
            continue
        number = f"{row.event:>5}" if row.event is not None else "    ·"
        time = f" {seconds(row.at_ms):>9}" if row.at_ms is not None else ""
        yield Word(f"{number}{time} {size(row.bytes.length):>13}  ", "note")
        yield from _what(row)
        yield Word("\n")


def _what(row: Row) -> Iterator[Word]:
    if row.kind not in ("event", "end"):
        yield Word(f"{row.kind} ", "error" if row.kind in ("error", "broken", "unfinished") else "note")
    if row.warnings:
        yield Word("! ", "warning")
    if not row.deltas:
        yield Word(_line(row.bytes.text) if row.kind != "end" else "nothing", "note")
    for n, said in enumerate(row.deltas):
        part = f" → {said.part}" if said.part is not None else " → void" if said.is_void else ""
        yield Word(f"{'; ' if n else ''}{said.type} ", "label")
        yield Word(f"{_line(said.text)}{part}")
    if row.deltas_cut:
        yield Word(f"; {counted(row.deltas_cut, 'more delta')}", "note")


def _line(text: str, limit: int = _LINE) -> str:
    """Return a text on one line of a bounded length."""
    return short(text.replace("\n", " ↵ "), limit)
