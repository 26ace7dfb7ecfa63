"""Calls on their way to a client one after the other, as the vendor itself sends them, even where they came interleaved.

The rule of this file: while a call is in the midst of its arguments, what comes of others waits until it has ended. Clients exist that read
no index and add every fragment to the call that began last. A call that has had no arguments when another one's come keeps nobody waiting:
it is most likely one that has none.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from headrace._json import EMPTY
from headrace.wire.call_out import CallOut


class Said(NamedTuple):
    """One thing that is said of a call: that it began under a name, more of its name, or more of its arguments; and what came beside its beginning."""

    what: Literal["start", "name", "arguments"]
    call: CallOut
    text: str
    data: dict[str, Any] = EMPTY


class CallsInTurn:
    """The calls of one choice."""

    __slots__ = ("_open", "_spoken", "_waiting")

    def __init__(self) -> None:
        """Start before the first call."""
        self._open: CallOut | None = None
        self._spoken: set[int] = set()
        self._waiting: dict[int, list[Said]] = {}

    def say(self, said: Said) -> list[Said]:
        """Take one thing; return what goes out now, in order."""
        call = said.call
        if call.index in self._waiting:
            self._waiting[call.index].append(said)
        elif self._open is None or self._open is call or said.what != "start":
            return self._go(said)
        else:
            self._waiting[call.index] = [said]
        out: list[Said] = []
        if said.what == "arguments":
            while call.index in self._waiting and self._open is not None and self._open.index not in self._spoken:
                self._open = None
                out += self._next()
        return out

    def is_waiting(self, call: CallOut) -> bool:
        """Whether a call waits for another one's end."""
        return call.index in self._waiting

    def end(self, call: CallOut) -> list[Said]:
        """A call has ended; return what can go out now."""
        if self._open is not call:
            return []
        self._open = None
        return self._next()

    def rest(self) -> list[Said]:
        """The answer has ended: return all that waits."""
        out = [said for waiting in self._waiting.values() for said in waiting]
        self._waiting.clear()
        return out

    def _go(self, said: Said) -> list[Said]:
        if said.what == "start" and said.call.kind != "custom":
            self._open = said.call  # free text has no end that could be seen, so nobody waits for it
        elif said.what == "arguments":
            self._spoken.add(said.call.index)
        return [said]

    def _next(self) -> list[Said]:
        out: list[Said] = []
        while self._open is None and self._waiting:
            waiting = self._waiting.pop(next(iter(self._waiting)))
            for said in waiting:
                out += self._go(said)
            if self._open is not None and self._open.has_ended:
                self._open = None
        return out
