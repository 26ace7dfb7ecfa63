"""What every attempt passes on its way out: the breaker, the rate limits, and how many may be on their way at once.

The rule of this file: a thin shell. Whether to wait and how long is said by `breaker.py` and `pace.py`; here the waiting is done, on the
clock that was given, and what was learned is reported back, however an attempt ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Self
from weakref import WeakKeyDictionary

from headrace.errors import (
    APIError,
    ConnectFailedError,
    ConnectionLostError,
    HeadraceError,
    OverloadedError,
    RateLimitError,
    StreamTimeoutError,
    TransportError,
)
from headrace.models.breaker import Breaker, BreakerPolicy, Outcome, Permit
from headrace.models.clock import SYSTEM_CLOCK, Clock
from headrace.models.pace import Pace, RateLimits
from headrace.providers.record import Endpoint
from headrace.providers.secret import Secret

_SHARED: Final[dict[tuple[str, Secret | None, BreakerPolicy], Breaker]] = {}


def breaker_of(endpoint: Endpoint, clock: Clock, *, choice: Breaker | BreakerPolicy | bool | None) -> Breaker | None:
    """Return the breaker of a model, or None if it has none.

    A policy, or True for the usual one, means one breaker for all models of this process that talk to the same address with the same
    key under the same policy. Models with a clock of their own share only a `Breaker` that they are given, since their seconds differ.
    """
    if isinstance(choice, Breaker):
        return choice
    if choice is None or choice is False:
        return None
    policy = choice if isinstance(choice, BreakerPolicy) else BreakerPolicy()
    if clock is not SYSTEM_CLOCK:
        return Breaker(policy)
    address = endpoint.base_url or f"{endpoint.provider}:{endpoint.model}"
    return _SHARED.setdefault((address, endpoint.api_key, policy), Breaker(policy))


class Gate:
    """The gate of one model."""

    def __init__(self, what: str, *, clock: Clock, limits: RateLimits, breaker: Breaker | None) -> None:
        """Hold what decides; `what` names the model in errors."""
        self.what = what
        self.clock = clock
        self.pace = Pace(limits)
        self.breaker = breaker
        # A semaphore belongs to the event loop in which it was first waited for.
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def turn(self) -> Turn:
        """Return one passage: `async with gate.turn() as turn`."""
        return Turn(self)

    def refusal(self) -> HeadraceError | None:
        """Return why a request would not go out at once: an open breaker, or a server that asked to be left alone; None if it would."""
        now_s = self.clock.elapsed_s()
        if self.breaker is not None and self.breaker.wait_s(now_s) != 0:
            return self._open_error(self.breaker, now_s)
        wait_s = self.pace.server_wait_s(now_s)
        if not wait_s:
            return None
        return RateLimitError(
            f"{self.what}: not asked, since the server said to wait; it may be asked again in {wait_s:.3g} s",
            retry_after_s=wait_s,
            retryable=True,
        )

    def retry_delay_s(self, delay_s: float) -> float | None:
        """Return how long to wait before a next attempt that is due after `delay_s`; None if the breaker would not let it out."""
        now_s = self.clock.elapsed_s()
        if self.breaker is not None and self.breaker.wait_s(now_s + delay_s) != 0:
            return None
        return max(delay_s, self.pace.wait_s(now_s))

    def slot(self) -> asyncio.Semaphore | None:
        """Return what bounds the requests on their way in this event loop, or None."""
        number = self.pace.limits.max_concurrent
        if number is None:
            return None
        return self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(number))

    def permit(self) -> Permit | None:
        """Ask the breaker.

        Raises:
            OverloadedError, ConnectFailedError: it is open; the class says what opened it, the text when it lets a request through.
        """
        if self.breaker is None:
            return None
        now_s = self.clock.elapsed_s()
        permit = self.breaker.ask(now_s)
        if permit is None:
            raise self._open_error(self.breaker, now_s)
        return permit

    def _open_error(self, breaker: Breaker, now_s: float) -> HeadraceError:
        wait_s = breaker.wait_s(now_s)
        when = "a probe is on its way, which decides" if wait_s is None else f"one request is let through in {wait_s:.3g} s"
        said = f"{self.what}: not asked, since the circuit breaker is open (last failure: {breaker.reason}); {when}"
        if breaker.is_overload:
            return OverloadedError(said, retry_after_s=wait_s, retryable=True)
        return ConnectFailedError(said)


class Turn:
    """One attempt's passage; whoever enters has waited until it may begin. What ends without `ended` was left, and says nothing."""

    def __init__(self, gate: Gate) -> None:
        """Hold the gate."""
        self._gate = gate
        self._failure: HeadraceError | None = None
        self._permit: Permit | None = None
        self._slot: asyncio.Semaphore | None = None
        self._is_answered = False
        self._is_ended = False

    async def __aenter__(self) -> Self:
        gate = self._gate
        slot = gate.slot()
        if slot is not None:
            await slot.acquire()
            self._slot = slot
        try:
            # Others may begin, and answers may come, while this one waits.
            while wait_s := gate.pace.wait_s(gate.clock.elapsed_s()):
                await gate.clock.sleep(wait_s)
            self._permit = gate.permit()
        except BaseException:
            self._release()
            raise
        gate.pace.begin(gate.clock.elapsed_s())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        try:
            gate = self._gate
            if self._permit is not None and gate.breaker is not None:
                gate.breaker.report(
                    self._permit,
                    self._outcome(),
                    gate.clock.elapsed_s(),
                    reason=str(self._failure or ""),
                    is_overload=isinstance(self._failure, OverloadedError),
                )
        finally:
            self._release()

    def heard(self, status: int, headers: Mapping[str, str]) -> None:
        """Take note of an answer's status and headers, which came."""
        self._is_answered = True
        gate = self._gate
        gate.pace.hear(status, headers, now_s=gate.clock.elapsed_s(), now=gate.clock.now())

    def ended(self, failure: HeadraceError | None) -> None:
        """Say how the attempt ended; how long a refusal asks to wait may stand in its body alone."""
        self._failure, self._is_ended = failure, True
        if isinstance(failure, RateLimitError | OverloadedError) and failure.retry_after_s is not None:
            self._gate.pace.wait_for(failure.retry_after_s, now_s=self._gate.clock.elapsed_s())

    def _outcome(self) -> Outcome:
        """A server that answers, even with a refusal, is there; one that has no capacity or cannot be reached is not."""
        failure = self._failure
        if isinstance(failure, (OverloadedError, ConnectFailedError)):
            return "failure"
        if isinstance(failure, StreamTimeoutError) and failure.stage == "connect":
            return "failure"
        if isinstance(failure, ConnectionLostError) and not self._is_answered:
            return "failure"
        if isinstance(failure, APIError) or (self._is_ended and not isinstance(failure, TransportError)):
            return "success"
        return "neither"

    def _release(self) -> None:
        if self._slot is not None:
            self._slot.release()
            self._slot = None
