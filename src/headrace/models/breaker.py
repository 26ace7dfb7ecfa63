"""A circuit breaker: after some failures in a row a server is left alone for a while, then tried with one request.

The rule of this file: a pure machine. The time comes in as seconds of any clock that never goes back; it waits for nothing, and what
counts as a failure is decided by `gate.py`.

    closed ──`failures` in a row──▶ open ──`cool_down_s` later──▶ half open: one probe at a time
       ▲                              ▲                                 │
       └───────── it succeeds ────────┼─────────────────────────────────┤
                                      └────────── it fails ─────────────┘
"""

from __future__ import annotations

from math import isfinite
from typing import Literal, TypeAlias

import msgspec

from headrace.errors import ConfigError

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]
Outcome: TypeAlias = Literal["success", "failure", "neither"]


class BreakerPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """When to leave a server alone, and for how long.

    Attributes:
        failures: how many failures in a row open the breaker, from 1.
        cool_down_s: how long it stays open before a probe is let through.
    """

    failures: int = 5
    cool_down_s: float = 30.0

    def __post_init__(self) -> None:
        """Refuse numbers that make no breaker."""
        if self.failures < 1:
            raise ConfigError(f"breaker.failures is {self.failures}; it counts from 1", argument="breaker.failures")
        if not (self.cool_down_s > 0 and isfinite(self.cool_down_s)):
            raise ConfigError(
                f"breaker.cool_down_s must be a number of seconds above 0, not {self.cool_down_s!r}", argument="breaker.cool_down_s"
            )


DEFAULT_BREAKER = BreakerPolicy()


class Permit(msgspec.Struct, frozen=True):
    """Leave for one request; its outcome is reported with it.

    Attributes:
        epoch: how often the breaker had changed its state by then: what a request of an earlier state learned changes nothing any more.
    """

    epoch: int


class Breaker:
    """The machine; share one between the models that talk to the same server with the same key.

    Attributes:
        policy: when it opens and for how long.
        reason: the last failure, for a person; "" if there was none.
        is_overload: whether the last failure was a server without capacity rather than no connection.
    """

    def __init__(self, policy: BreakerPolicy = DEFAULT_BREAKER) -> None:
        """Begin closed."""
        self.policy = policy
        self.reason = ""
        self.is_overload = False
        self._in_a_row = 0
        self._opened_s: float | None = None
        self._has_probe = False
        self._epoch = 0

    def __repr__(self) -> str:
        """Show the count and whether it is open."""
        word = "closed" if self._opened_s is None else "open"
        return f"Breaker({word}, {self._in_a_row} of {self.policy.failures} failures in a row)"

    def state(self, now_s: float) -> BreakerState:
        """Return the state at a time."""
        if self._opened_s is None:
            return "closed"
        return "open" if self._rest_s(now_s) > 0 else "half_open"

    def wait_s(self, now_s: float) -> float | None:
        """Return how long to wait before a request would be let through: 0 if now; None if the answer of a probe decides."""
        if self._opened_s is None:
            return 0.0
        rest_s = self._rest_s(now_s)
        return None if rest_s <= 0 and self._has_probe else rest_s

    def ask(self, now_s: float) -> Permit | None:
        """Return leave for one request, or None if the server is to be left alone; in the half-open state it is the probe's."""
        if self.wait_s(now_s) != 0:
            return None
        if self._opened_s is not None:
            self._has_probe = True
        return Permit(self._epoch)

    def report(self, permit: Permit, outcome: Outcome, now_s: float, *, reason: str = "", is_overload: bool = False) -> None:
        """Say how a request went; `neither` for one that was left or that says nothing about the server."""
        if permit.epoch != self._epoch:
            return
        is_probe = self._opened_s is not None
        self._has_probe = False
        match outcome:
            case "success":
                self._in_a_row = 0
                if is_probe:
                    self._opened_s = None
                    self._epoch += 1
            case "failure":
                self.reason, self.is_overload = reason, is_overload
                self._in_a_row += 1
                if self._in_a_row >= self.policy.failures:  # of a probe too: the count goes on while it is open
                    self._opened_s = now_s
                    self._epoch += 1
            case "neither":
                pass

    def _rest_s(self, now_s: float) -> float:
        assert self._opened_s is not None
        return max(0.0, self._opened_s + self.policy.cool_down_s - now_s)
