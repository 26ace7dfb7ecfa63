"""Usage of a response, in neutral words (the facts' section 12)."""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final

from headrace._json import JSON
from headrace.messages.usage import Usage
from headrace.wire.json_events import count_of, kept

_PLACES: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "input_tokens": (("input_tokens",), ("prompt_tokens",)),
    "output_tokens": (("output_tokens",), ("completion_tokens",)),
    "cache_read_tokens": (("input_tokens_details", "cached_tokens"), ("prompt_tokens_details", "cached_tokens")),
    "cache_write_tokens": (("input_tokens_details", "cache_write_tokens"), ("prompt_tokens_details", "cache_write_tokens")),
    "reasoning_tokens": (("output_tokens_details", "reasoning_tokens"), ("completion_tokens_details", "reasoning_tokens")),
}
"""For each count: where it stands; some servers use the words of Chat Completions."""


def usage_in(raw: JSON) -> Usage | None:
    """Read a usage object; it is kept whole in `Usage.raw`. None if it is none, or counts nothing.

    Raises:
        UsageError: it holds what a message cannot keep.
    """
    if not isinstance(raw, dict):
        return None
    counts = {name: _count(raw, places) for name, places in _PLACES.items()}
    return None if all(count is None for count in counts.values()) else Usage(**counts, raw=kept(raw))


def _count(raw: dict[str, Any], places: tuple[tuple[str, ...], ...]) -> int | None:
    """Return the first count at these places."""
    for place in places:
        value: Any = raw
        for key in place:
            value = value.get(key) if isinstance(value, dict) else None
        count = count_of(value)
        if count is not None:
            return count
    return None
