"""Numbers and facts in words, the same ones in every form of the report. Pure."""

from __future__ import annotations

from typing import Any

from headrace.inspect.excerpts import shown
from headrace.inspect.values import Cause, Inspection, Row


def seconds(time_ms: float | None) -> str:
    """Return a time: `0.41 s`, `12.3 ms`; a dash where it is not known."""
    if time_ms is None:
        return "unknown"
    if abs(time_ms) < 100:
        return f"{time_ms:.2g} ms" if abs(time_ms) < 1 else f"{time_ms:.3g} ms"
    return f"{time_ms / 1000:,.2f} s"


def size(count: int) -> str:
    """Return a number of bytes."""
    return f"{count:,} byte{'' if count == 1 else 's'}"


def counted(count: int, what: str) -> str:
    """Return a number of things."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def name_of(row: Row) -> str:
    """Return how a row is called: by the number of its event, else by what it is."""
    return f"event {row.event:,}" if row.event is not None else {"end": "the end", "rest": "other bytes"}.get(row.kind, row.kind)


def place_of(cause: Cause) -> str:
    """Return where in the body a warning's bytes stand."""
    bytes_ = cause.bytes
    return f"bytes {bytes_.offset:,} to {max(bytes_.offset, bytes_.offset + bytes_.length - 1):,}" if bytes_.length else "no bytes"


def warning_counts(inspection: Inspection) -> str:
    """Return each code once, with how often it came."""
    counts: dict[str, int] = {}
    for cause in inspection.warnings:
        counts[cause.code] = counts.get(cause.code, 0) + 1
    return ", ".join(code + (f" ({count} times)" if count > 1 else "") for code, count in counts.items())


def usage_of(inspection: Inspection) -> str:
    """Return the usage in words, or "" if nobody said."""
    usage: dict[str, Any] = inspection.summary["usage"] or {}
    words = [f"{count:,} {name.removesuffix('_tokens').replace('_', ' ')}" for name, count in usage.items() if count is not None]
    return ", ".join(words) + (" tokens" if words else "")


def finish_of(inspection: Inspection) -> str:
    """Return why the model stopped."""
    finish, raw = inspection.summary["finish_reason"], inspection.summary["finish_reason_raw"]
    return (finish or "none") + (f" (raw: {shown(raw)})" if raw and raw != finish else "")


def error_of(inspection: Inspection) -> str:
    """Return why the stream failed, or "" if it did not."""
    error: dict[str, Any] | None = inspection.summary["error"]
    if error is None:
        return ""
    code = f" ({error['code']})" if error["code"] else ""
    return shown(f"{error['kind']}{code}: {error['message']}")


def facts_of(inspection: Inspection) -> list[tuple[str, str]]:
    """Return the facts as names and values; times only where they are known."""
    facts = inspection.facts
    rows = [("events", f"{facts.events:,}"), ("size", size(facts.bytes)), ("content", counted(facts.characters, "character"))]
    if facts.comments:
        rows.append(("comments", f"{facts.comments:,}"))
    if inspection.is_timed:
        rows += [
            ("reads", f"{facts.reads:,}"),
            ("duration", seconds(facts.duration_ms)),
            ("first byte", seconds(facts.first_byte_ms)),
            ("first content", seconds(facts.first_content_ms)),
            ("gap, median", seconds(facts.gap_median_ms)),
            ("gap, longest", seconds(facts.gap_max_ms)),
            ("stalls", f"{facts.stalls_count:,}"),
        ]
    if facts.tokens_per_s is not None:
        rows.append(("speed", f"{facts.tokens_per_s:,.1f} tokens/s"))
    return rows
