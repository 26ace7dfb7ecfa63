"""What was mended on the way, counted and said.

The rule of this file: codes and numbers alone; no word of the content. A *repair* is a stream that broke its own protocol and was mended.
A *note* is what a protocol allows or what cannot be said in another one: it is counted and said too, but nobody was at fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.parts_writer import HELD_BLOCK, HELD_CALL, MADE_ID, OUT_CODES

NOTES: Final = frozenset({
    *OUT_CODES,  # how an answer had to be written: the other protocol has no place for something, or wants ids that this one lacks
    "dropped_for_provider",  # of the request
    "possible_inline_tool_call",  # text stays text; the upstream's options can change that
    "leaked_special_tokens",  # the same
    "truncated_tool_arguments",  # the bound of tokens did that, and the finish reason says so
})  # fmt: skip


_QUIET: Final = frozenset({HELD_CALL, HELD_BLOCK, MADE_ID})
"""Counted, and said to nobody: every answer that goes from one protocol to another may have them."""


def counts_of(warnings: Iterable[Warning]) -> dict[str, int]:
    """Return how often each code was said, in the order of their first."""
    return dict(Counter(warning.code for warning in warnings))


def first_repair(warnings: Iterable[Warning]) -> str | None:
    """Return the code of the first repair, or None if there is none."""
    return next((warning.code for warning in warnings if warning.code not in NOTES), None)


def words_of(counts: Mapping[str, int]) -> str:
    """Return counts as words: `missing_tool_id x2, trailing_garbage x1`."""
    return ", ".join(f"{code} x{count}" for code, count in counts.items() if code not in _QUIET)


def comment_of(counts: Mapping[str, int]) -> bytes:
    """Return the comment of an event stream that says what was mended; nothing if nothing was."""
    words = words_of(counts)
    return f": headrace: {words}\n\n".encode() if words else b""
