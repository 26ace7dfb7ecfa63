"""What the Messages protocol says of usage, in neutral words (the facts' section 12).

The rule of this file: every report is a running total; field by field the last one that is no null counts, nothing is added up but what
the provider itself counts apart: tokens read from and written to a cache are no part of its `input_tokens`.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace._json import JSON
from headrace.messages.usage import Usage
from headrace.wire.json_events import count_of, kept


class UsageReader:
    """The reports of one message so far."""

    __slots__ = ("_raw",)

    def __init__(self) -> None:
        """Start before the first report."""
        self._raw: dict[str, Any] = {}

    def report(self, raw: JSON) -> Usage | None:
        """Take a report; return what is known after it, or None if it says nothing.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        if not isinstance(raw, dict):
            return None
        said = {name: value for name, value in raw.items() if value is not None}
        if not said:
            return None
        self._raw.update(kept(said))
        return _usage(self._raw)


def _usage(raw: dict[str, Any]) -> Usage:
    """Sum up a report.

    Where the provider sampled several times for one answer (a compaction, a fallback, an adviser), the head counts only a part of it, and
    the totals are those of the list.
    """
    iterations = [item for item in _items(raw.get("iterations")) if count_of(item.get("output_tokens")) is not None]
    counted = iterations if len(iterations) > 1 else [raw]
    reads, writes = _sum(counted, "cache_read_input_tokens"), _sum(counted, "cache_creation_input_tokens")
    inputs = [count for count in (_sum(counted, "input_tokens"), reads, writes) if count is not None]
    return Usage(
        input_tokens=sum(inputs) if inputs else None,
        output_tokens=_sum(counted, "output_tokens"),
        cache_read_tokens=reads,
        cache_write_tokens=writes,
        reasoning_tokens=_reasoning(raw),
        raw=raw,
    )


def _sum(reports: Sequence[Mapping[str, Any]], name: str) -> int | None:
    counts = [count for report in reports if (count := count_of(report.get(name))) is not None]
    return sum(counts) if counts else None


def _items(value: JSON) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _reasoning(raw: Mapping[str, Any]) -> int | None:
    details = raw.get("output_tokens_details")
    if not isinstance(details, dict):
        return None
    return next((count for name in ("thinking_tokens", "reasoning_tokens") if (count := count_of(details.get(name))) is not None), None)
