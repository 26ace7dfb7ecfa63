"""How providers say what is left of a rate limit: the names of their headers, as data.

The rule of this file: a pair is the header with what remains and the header that says when there is more. A provider with other
names is one more pair; how a time is written (seconds, `6m0s`, a date, a moment) is found out from the value. Where a refusal says the
wait in its body alone, a pattern finds it.
"""

from __future__ import annotations

import re
from typing import Final

_WINDOWS: Final = ("requests", "tokens", "input-tokens", "output-tokens")

RATE_HEADERS: Final[tuple[tuple[str, str], ...]] = (
    # OpenAI, Azure, Groq, xAI, Fireworks, SambaNova: durations such as `6m0s` or `17ms`, or plain seconds.
    *((f"x-ratelimit-remaining-{window}", f"x-ratelimit-reset-{window}") for window in _WINDOWS),
    # Cerebras, and Mistral behind some gateways: the window's length is part of the name; seconds.
    *(
        (f"x-ratelimit-remaining-{window}-{length}", f"x-ratelimit-reset-{window}-{length}")
        for window in ("requests", "tokens")
        for length in ("minute", "hour", "day")
    ),
    # Anthropic: moments in RFC 3339.
    *((f"anthropic-ratelimit-{window}-remaining", f"anthropic-ratelimit-{window}-reset") for window in _WINDOWS),
    # OpenRouter (a moment in milliseconds), Together and others (seconds).
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    # Mistral's older ones, and the draft of the IETF: seconds.
    ("ratelimitbysize-remaining", "ratelimitbysize-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
)
"""Pairs of header names in lower case: what remains, and when there is more."""

WAITS_IN_BODIES: Final[tuple[re.Pattern[str], ...]] = (
    # Gemini and other Google APIs: `{"@type": "…/google.rpc.RetryInfo", "retryDelay": "17s"}`; they send no header.
    re.compile(r'"retryDelay"\s*:\s*"([0-9.]{1,12}s)"'),
    # OpenAI, Groq and servers that took their words over: "Please try again in 7.66s".
    re.compile(r"[Tt]ry again in ([0-9][0-9.hms]{0,16}[hms])\b"),
)
"""What a refusal's body says of the wait; the group is a duration."""
