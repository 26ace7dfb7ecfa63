"""When to try a request again, and after how long: decided from values alone.

The rule of this file: it looks at a failure that happened before the first chunk and gives a delay or None; it never waits,
reads no clock and draws no number. Once a chunk was given out, asking here is wrong, since a second answer would be joined to the first.

What the server says wins, in this order: `x-should-retry`, then the status; for the delay `retry-after-ms`, then `Retry-After`
(RFC 9110, section 10.2.3), then growing delays with full jitter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Literal, Self

import msgspec

from headrace.errors import ConfigError, StreamTimeoutError, TransportError

FailureKind = Literal["status", "connection", "timeout"]

_RETRIED_STATUSES = frozenset({408, 409, 429})
# The three forms of RFC 9110, section 5.6.7, and a numeric zone of zero, which servers send too.
_HTTP_DATE = re.compile(
    r"[A-Za-z]{3,9}, (?P<day>\d{2})[ -](?P<month>[A-Za-z]{3})[ -](?P<year>\d{4}|\d{2}) (?P<time>\d\d:\d\d:\d\d) (?:GMT|UTC|\+0000)"
)
_ASCTIME = re.compile(r"[A-Za-z]{3} (?P<month>[A-Za-z]{3}) (?P<day>[ \d]\d) (?P<time>\d\d:\d\d:\d\d) (?P<year>\d{4})")
_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)}
_MAX_DOUBLINGS = 32


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One failed attempt.

    Attributes:
        kind: `status` (the server answered, with an error), `connection` (none was made, or it broke), `timeout` (too slow).
        status: the HTTP status, or the status that stands for an error in the first event of a stream.
        headers: the answer's headers, names in lower case.
    """

    kind: FailureKind = "status"
    status: int | None = None
    headers: Mapping[str, str] = {}

    @classmethod
    def of(cls, error: TransportError) -> Self:
        """The failure that a transport's error means.

        A connection that could not be made in time is a failure of the connection. A peer that is slow to answer is not tried
        again: it may be working, and would then work, and be paid, twice.
        """
        slow = isinstance(error, StreamTimeoutError) and error.stage != "connect"
        return cls(kind="timeout" if slow else "connection")


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how patiently to try again.

    Attributes:
        max_retries: tries after the first; a negative number means none.
        base_s: the most that the first delay can be; each later one can be twice as long.
        cap_s: the most that any delay of our own choosing can be.
        max_retry_after_s: the longest wait that a server may ask for; beyond it we choose the delay ourselves.
    """

    max_retries: int = 2
    base_s: float = 0.5
    cap_s: float = 8.0
    max_retry_after_s: float = 60.0

    def __post_init__(self) -> None:
        """Refuse negative times."""
        for name in ("base_s", "cap_s", "max_retry_after_s"):
            value: float = getattr(self, name)
            if not (value >= 0 and isfinite(value)):
                raise ConfigError(f"{name} must be a number of seconds from 0 on, not {value!r}", argument=name)

    def next_delay_s(self, attempt: int, failure: Failure, *, random: float, now: datetime) -> float | None:
        """How many seconds to wait before the next attempt, or None if there should be none.

        Args:
            attempt: which attempt failed, from 1.
            failure: what happened.
            random: a number from 0 to 1 for the jitter, new each time.
            now: the time, with its zone, for a `Retry-After` that is a date.
        """
        if attempt > self.max_retries or not is_retryable(failure):
            return None
        asked = retry_after_s(failure.headers, now=now)
        if asked is not None and 0 < asked <= self.max_retry_after_s:
            return asked
        return random * min(self.cap_s, self.base_s * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS))


def is_retryable(failure: Failure) -> bool:
    """Whether the same request may succeed if it is sent again: the server's own word, else the kind and status."""
    match failure.headers.get("x-should-retry", "").strip().lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            pass
    if failure.kind == "connection":
        return True
    status = failure.status
    return failure.kind == "status" and status is not None and (status in _RETRIED_STATUSES or 500 <= status <= 599)


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """How many seconds the server asked to wait; None if it did not say, or nothing that can be understood.

    The result is not bounded, and is negative for a date that has passed.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    seconds = _number(text)
    if seconds is not None:
        return seconds
    date = _http_date(text, now=now)
    return None if date is None else (date - now).total_seconds()


def _number(text: str) -> float | None:
    """A plain decimal number; `nan`, `inf` and digits of other scripts are none."""
    text = text.strip()
    if not text.isascii():
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _http_date(text: str, *, now: datetime) -> datetime | None:
    found = _HTTP_DATE.fullmatch(text) or _ASCTIME.fullmatch(text)
    if found is None:
        return None
    year = int(found["year"])
    if len(found["year"]) == 2:
        # RFC 9110: two digits that seem more than 50 years ahead mean the century before.
        year += now.year // 100 * 100
        year -= 100 if year > now.year + 50 else 0
    hour, minute, second = (int(part) for part in found["time"].split(":"))
    try:
        # A leap second is written as 60, which Python's clock does not know.
        return datetime(year, _MONTHS[found["month"].lower()], int(found["day"]), hour, minute, min(second, 59), tzinfo=UTC)
    except (KeyError, ValueError):
        return None
