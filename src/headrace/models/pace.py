"""How fast a model may be asked: what the server says of its rate limits, and what the caller allows.

The rule of this file: a pure machine. It hears what answers say, and says how long the next request should wait; it never waits. What
the header names are is data (`providers/rate_limits.py`).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf, isfinite
from typing import Any, Final

import msgspec

from headrace.errors import ConfigError
from headrace.io.retry import retry_after_s
from headrace.providers.rate_limits import RATE_HEADERS, WAITS_IN_BODIES

_MINUTE_S: Final = 60.0
# Statuses whose `Retry-After` is about every request: too many, and no capacity.
_ASKED_TO_WAIT: Final = frozenset({429, 503, 529})
_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS_S: Final = (86400.0, 3600.0, 60.0, 1.0, 0.001)
# A plain number this large is a moment, in seconds or in milliseconds since 1970: as a wait it would be thirty years.
_REMAINING: Final = frozenset(remaining for remaining, _ in RATE_HEADERS)
_MOMENT: Final = 1e9
_MOMENT_MS: Final = 1e11


class RateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a model may be asked.

    Attributes:
        max_concurrent: how many requests may be on their way at once (in each event loop); None: any number.
        requests_per_minute: how many may begin within any 60 seconds; None: any number.
        obeys_server: whether a request waits when the server said that nothing is left, or to come back later.
        max_wait_s: the longest wait that a server may ask for; beyond it the request goes out, and the server says no itself.
    """

    max_concurrent: int | None = None
    requests_per_minute: int | None = None
    obeys_server: bool = True
    max_wait_s: float = 60.0

    def __post_init__(self) -> None:
        """Refuse numbers below 1 and waits without end."""
        for name in ("max_concurrent", "requests_per_minute"):
            number: int | None = getattr(self, name)
            if number is not None and number < 1:
                raise ConfigError(f"rate_limits.{name} is {number}; it counts from 1, and None is no limit", argument=f"rate_limits.{name}")
        if not (self.max_wait_s >= 0 and isfinite(self.max_wait_s)):
            raise ConfigError(
                f"rate_limits.max_wait_s must be a number of seconds from 0 on, not {self.max_wait_s!r}", argument="rate_limits.max_wait_s"
            )

    @classmethod
    def of(cls, value: RateLimits | Mapping[str, Any] | None) -> RateLimits:
        """Return the value as limits; a mapping holds the fields that differ from the defaults.

        Raises:
            ConfigError: there is no such field, or its value does not fit.
        """
        if isinstance(value, RateLimits):
            return value
        fields = dict(value or {})
        unknown = sorted(set(fields) - set(cls.__struct_fields__))
        if unknown:
            raise ConfigError(f"rate_limits has no field {unknown[0]!r}", argument=f"rate_limits.{unknown[0]}")
        try:
            return msgspec.convert(fields, type=cls)
        except msgspec.ValidationError as error:
            cause = error.__cause__  # what __post_init__ raised says more
            raise cause if isinstance(cause, ConfigError) else ConfigError(f"rate_limits: {error}", argument="rate_limits") from error


class Pace:
    """The machine; times are seconds of one clock that never goes back."""

    def __init__(self, limits: RateLimits) -> None:
        """Begin with nothing heard."""
        self.limits = limits
        self._closed_until_s = -inf
        self._begun: deque[float] = deque(maxlen=limits.requests_per_minute or 0)

    def server_wait_s(self, now_s: float) -> float:
        """Return how long the server wants to be left alone; 0 if it does not."""
        return max(0.0, self._closed_until_s - now_s)

    def wait_s(self, now_s: float) -> float:
        """Return how long a request should wait; 0 if it may begin now."""
        own_s = 0.0
        if self._begun and len(self._begun) == self._begun.maxlen:
            own_s = self._begun[0] + _MINUTE_S - now_s
        return max(own_s, self.server_wait_s(now_s), 0.0)

    def begin(self, now_s: float) -> None:
        """Count a request that begins now."""
        self._begun.append(now_s)

    def hear(self, status: int, headers: Mapping[str, str], *, now_s: float, now: datetime) -> None:
        """Take note of what an answer says.

        Args:
            status: its HTTP status.
            headers: names in lower case.
            now_s: the time that waits are counted on.
            now: the same moment by the calendar, with its zone, for limits that name one.
        """
        if not self.limits.obeys_server:
            return
        waits_s = [*exhausted_s(headers, now=now)]
        if status in _ASKED_TO_WAIT and (asked_s := retry_after_s(headers, now=now)) is not None:
            waits_s = [asked_s]  # the server's own conclusion from its windows
        self.wait_for(max((wait_s for wait_s in waits_s if wait_s <= self.limits.max_wait_s), default=0.0), now_s=now_s)

    def wait_for(self, wait_s: float, *, now_s: float) -> None:
        """Take note that the server asked to wait; what is beyond the bound, and what would shorten a wait, changes nothing."""
        if self.limits.obeys_server and 0 < wait_s <= self.limits.max_wait_s:
            self._closed_until_s = max(self._closed_until_s, now_s + wait_s)


def exhausted_s(headers: Mapping[str, str], *, now: datetime) -> list[float]:
    """Return for each limit of which nothing is left how many seconds it takes until there is more."""
    if _REMAINING.isdisjoint(headers):
        return []
    waits_s: list[float] = []
    for remaining, reset in RATE_HEADERS:
        if headers.get(remaining, "").strip() in {"0", "0.0"}:
            wait_s = reset_s(headers.get(reset, ""), now=now)
            if wait_s is not None and wait_s > 0:
                waits_s.append(wait_s)
    return waits_s


def reset_s(text: str, *, now: datetime) -> float | None:
    """Return how many seconds a reset is away; None if the text says nothing that can be understood.

    Understood are seconds (`7`, `0.5`), durations (`6m0s`, `1d2h`, `17ms`), moments as seconds or milliseconds since 1970, and RFC 3339
    dates. The result may be negative.
    """
    text = text.strip().lower()
    if not text.isascii() or not text[:1].isdigit() or len(text) > 64:
        return None
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        number = float(text)
        if number < _MOMENT:
            return number
        return number / (1000 if number >= _MOMENT_MS else 1) - now.timestamp()
    if parts := _DURATION.fullmatch(text):
        return sum(float(part) * unit_s for part, unit_s in zip(parts.groups(), _UNITS_S, strict=True) if part)
    try:
        date = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now.timestamp()


def wait_in_body_s(body: str, *, now: datetime) -> float | None:
    """Return how many seconds a refusal's body asks to wait, or None if it does not say."""
    for pattern in WAITS_IN_BODIES:
        if found := pattern.search(body):
            return reset_s(found[1], now=now)
    return None
