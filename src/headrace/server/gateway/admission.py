"""How many requests are let in: of all clients at once, and of each client at once and in a minute.

The rule of this file: a pure machine; the time comes in, in seconds of any clock that never goes back. Nobody waits in a queue: who comes too
early is told when to come again.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import Final

from headrace.server.gateway.config import Client
from headrace.server.gateway.refusals import Refusal

_MINUTE_S: Final = 60.0
_SOON_S: Final = 1.0


class Admission:
    """Counts those who are in."""

    def __init__(self, max_open: int) -> None:
        """Let in at most so many at once."""
        self._max_open = max_open
        self._open: Counter[str] = Counter()
        self._begun: defaultdict[str, deque[float]] = defaultdict(deque)

    @property
    def open(self) -> int:
        """How many are in."""
        return self._open.total()

    def enter(self, client: Client, now_s: float) -> Refusal | None:
        """Let a request in, or say why not; who was let in must leave."""
        if self.open >= self._max_open:
            said = f"the gateway has {self._max_open} requests on their way, which is all that it takes; come again soon"
            return Refusal(status=503, kind="overloaded", message=said, retry_after_s=_SOON_S)
        if client.max_open is not None and self._open[client.name] >= client.max_open:
            said = f"this key has {client.max_open} requests on their way, which is all that it may have at once"
            return Refusal(status=429, kind="rate_limit", message=said, retry_after_s=_SOON_S)
        if client.max_per_minute is not None:
            begun = self._begun[client.name]
            while begun and begun[0] <= now_s - _MINUTE_S:
                begun.popleft()
            if len(begun) >= client.max_per_minute:
                wait_s = begun[0] + _MINUTE_S - now_s if begun else _MINUTE_S
                said = f"this key may ask {client.max_per_minute} times in a minute"
                return Refusal(status=429, kind="rate_limit", message=said, retry_after_s=wait_s)
            begun.append(now_s)
        self._open[client.name] += 1
        return None

    def leave(self, client: Client) -> None:
        """Let a request out."""
        self._open[client.name] -= 1
