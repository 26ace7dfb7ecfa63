"""Usage of Chat Completions and its dialects, in neutral words (the facts' section 12)."""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final, TypeAlias

from headrace._json import JSON
from headrace.messages.usage import Usage

_Places: TypeAlias = tuple[tuple[str, str | None], ...]
"""Where a count may stand: a field, and a field inside of it."""
_INPUT: Final[_Places] = (("prompt_tokens", None), ("input_tokens", None))
_OUTPUT: Final[_Places] = (("completion_tokens", None), ("output_tokens", None))
_CACHE_READ: Final[_Places] = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens", None),
    ("cached_tokens", None),
    ("cache_read_input_tokens", None),
    ("input_tokens_details", "cached_tokens"),
)
_CACHE_WRITE: Final[_Places] = (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens", None))
_REASONING: Final[_Places] = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens", None),
    ("output_tokens_details", "reasoning_tokens"),
)
_TOTAL: Final[_Places] = (("total_tokens", None),)
_CACHE_N: Final[_Places] = (("cache_n", None),)


def usage_in(raw: dict[str, Any], timings: JSON = None) -> Usage | None:
    """Read a usage object.

    Args:
        raw: the object; kept whole in `Usage.raw`.
        timings: llama.cpp's timings beside it; they know the cached tokens where usage does not.

    Returns:
        The usage, or None if the object counts nothing.
    """
    prompt, completion = _count(raw, _INPUT), _count(raw, _OUTPUT)
    cache_read, reasoning = _count(raw, _CACHE_READ), _count(raw, _REASONING)
    if cache_read is None and isinstance(timings, dict):
        cache_read = _count(timings, _CACHE_N)
    total = _count(raw, _TOTAL)
    if completion is not None and prompt is not None and reasoning and total == prompt + completion + reasoning:
        completion += reasoning  # this dialect leaves reasoning out of the completion, and its total says so
    counts = (prompt, completion, cache_read, _count(raw, _CACHE_WRITE), reasoning)
    if all(count is None for count in counts):
        return None
    return Usage(
        input_tokens=counts[0],
        output_tokens=counts[1],
        cache_read_tokens=counts[2],
        cache_write_tokens=counts[3],
        reasoning_tokens=counts[4],
        raw=raw,
    )


def _count(raw: dict[str, Any], places: _Places) -> int | None:
    """Return the first whole number at these places."""
    for key, inner in places:
        if key not in raw:
            continue
        value: Any = raw[key]
        if inner is not None:
            value = value[inner] if isinstance(value, dict) and inner in value else None
        if type(value) is int and value >= 0:
            return value
        if type(value) is float and value >= 0 and value.is_integer():
            return int(value)
    return None
