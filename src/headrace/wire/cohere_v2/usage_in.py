"""Usage of Cohere in neutral words: `tokens` is the real count, `billed_units` only what is charged (the facts' section 12)."""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from headrace.messages.usage import Usage
from headrace.wire.json_events import count_of


def usage_in(raw: dict[str, Any]) -> Usage | None:
    """Read a usage object; it is kept whole in `Usage.raw`. None if it counts nothing."""
    tokens, billed = raw.get("tokens"), raw.get("billed_units")
    tokens = tokens if isinstance(tokens, dict) else {}
    billed = billed if isinstance(billed, dict) else {}
    counts = [count_of(tokens.get(name)) for name in ("input_tokens", "output_tokens")]
    if counts == [None, None]:
        counts = [count_of(billed.get(name)) for name in ("input_tokens", "output_tokens")]
    cached = count_of(raw.get("cached_tokens"))
    reasoning = count_of(tokens.get("reasoning_tokens"))
    if counts == [None, None] and cached is None and reasoning is None:
        return None
    return Usage(input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=cached, reasoning_tokens=reasoning, raw=raw)
