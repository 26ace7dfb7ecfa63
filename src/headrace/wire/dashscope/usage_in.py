"""Usage of DashScope in neutral words; it comes with every event and counts all so far (the facts' section 12)."""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from headrace.messages.usage import Usage
from headrace.wire.json_events import count_of


def usage_in(raw: dict[str, Any]) -> Usage | None:
    """Read a usage object; it is kept whole in `Usage.raw`. None if it counts nothing."""
    prompt, generated = count_of(raw.get("input_tokens")), count_of(raw.get("output_tokens"))
    read = _detail(raw, "prompt_tokens_details", "cached_tokens")
    if read is None:
        read = _detail(raw, "input_tokens_details", "cached_tokens")
    written = _detail(raw, "prompt_tokens_details", "cache_creation_input_tokens")
    reasoning = _detail(raw, "output_tokens_details", "reasoning_tokens")
    if prompt is None and generated is None:
        return None
    return Usage(
        input_tokens=prompt,
        output_tokens=generated,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
        raw=raw,
    )


def _detail(raw: dict[str, Any], group: str, name: str) -> int | None:
    details = raw.get(group)
    return count_of(details.get(name)) if isinstance(details, dict) else None
