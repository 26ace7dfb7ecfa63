"""Usage of the Interactions API in neutral words (the facts' section 12).

The rule of this file: thoughts are counted apart from the output here, and what the provider's own tools put into the input apart from
the input; the neutral counts hold both. A count that nobody sent is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.messages.usage import Usage


def usage_in(raw: Mapping[str, Any]) -> Usage | None:
    """Read a usage object; None if it counts nothing.

    Args:
        raw: the object; kept whole in `Usage.raw`.
    """
    thoughts = _count(raw, "total_thought_tokens")
    counts = (
        _sum(_count(raw, "total_input_tokens"), _count(raw, "total_tool_use_tokens")),
        _sum(_count(raw, "total_output_tokens"), thoughts),
        _count(raw, "total_cached_tokens"),
        thoughts,
    )
    if all(count is None for count in counts):
        return None
    return Usage(input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=counts[2], reasoning_tokens=counts[3], raw=dict(raw))


def _sum(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right


def _count(raw: Mapping[str, Any], name: str) -> int | None:
    value = raw.get(name)
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None
