"""Usage of generateContent in neutral words (the facts' section 12).

The rule of this file: thoughts are counted apart from the answer here, and what the provider's own tools put into the prompt apart from
the prompt; the neutral counts hold both. A count that nobody sent is None, never 0.
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
    thoughts = _count(raw, "thoughtsTokenCount")
    counts = (
        _sum(_count(raw, "promptTokenCount"), _count(raw, "toolUsePromptTokenCount")),
        _sum(_count(raw, "candidatesTokenCount", "responseTokenCount"), thoughts),
        _count(raw, "cachedContentTokenCount"),
        thoughts,
    )
    if all(count is None for count in counts):
        return None
    return Usage(input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=counts[2], reasoning_tokens=counts[3], raw=dict(raw))


def _sum(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right


def _count(raw: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = raw.get(name)
        if type(value) is int and value >= 0:
            return value
        if type(value) is float and value >= 0 and value.is_integer():
            return int(value)
    return None
