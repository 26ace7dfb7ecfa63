"""Makes any history legal to send: every call has its one result, every result its call, every id is used once (law 7).

The rule of this file: it pairs and names, it does not encode; what it does to a message depends only on the messages
before it and on the results of that message's own calls, so a history that grows keeps the form of its beginning.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence

import msgspec

from headrace.messages.message import AssistantMessage, Message, ToolMessage
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.wire.profile import Profile

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class PairedCall(msgspec.Struct, gc=False):
    """A call, the id that it goes by on the wire, and its result; None if the history holds none."""

    call: ToolCallPart
    wire_id: str
    result: ToolResultPart | None = None


class Turn(msgspec.Struct, frozen=True, gc=False):
    """A system, user or assistant message, its place in the history, and its calls."""

    message: Message
    index: int
    calls: tuple[PairedCall, ...] = ()


class Stray(msgspec.Struct, frozen=True):
    """A part of a tool message that has no place: which one, and why."""

    index: int
    part: int
    why: str


class History(msgspec.Struct, frozen=True, gc=False):
    """The history in a legal order: each turn is followed by the results of its calls, in the order of the calls."""

    turns: tuple[Turn, ...]
    strays: tuple[Stray, ...] = ()


def pair(messages: Sequence[Message], profile: Profile) -> History:
    """Pair calls with results and give every call an id of its own.

    A result belongs to the latest assistant message before it that made a call of its id; among equal ids there, to the
    first call without a result, one of the result's name first. A result may stand later than its place (an answer that
    came after the user spoke on); one without a call, or a second one for a call, is a stray.
    """
    return Pairing(profile).extend(messages)


class Pairing:
    """Pairs a history while it grows.

    Attributes:
        length: how many messages it has taken.
        is_settled: no call is without a result and nothing had to be left out: what comes later changes nothing of what was paired.
    """

    def __init__(self, profile: Profile) -> None:
        """Start before the first message."""
        self.length = 0
        self.is_settled = True
        self._ids = _CallIds(profile)
        self._open_calls: dict[str, _OpenCalls] = {}

    def extend(self, messages: Sequence[Message]) -> History:
        """Take the next messages; returns them paired, and no others."""
        ids, open_calls = self._ids, self._open_calls
        turns: list[Turn] = []
        strays: list[Stray] = []
        for index, message in enumerate(messages, self.length):
            if isinstance(message, ToolMessage):
                _take_results(message, index, open_calls, strays)
                continue
            if not isinstance(message, AssistantMessage):
                turns.append(Turn(message, index))
                continue
            calls = tuple(PairedCall(call, ids.assign(call.id)) for call in message.tool_calls)
            if calls:
                latest: dict[str, _OpenCalls] = {}
                for paired in calls:
                    latest.setdefault(paired.call.id, _OpenCalls()).add(paired)
                open_calls.update(latest)
            turns.append(Turn(message, index, calls))
        self.length += len(messages)
        self.is_settled = not strays and all(paired.result is not None for turn in turns for paired in turn.calls)
        return History(tuple(turns), tuple(strays))


def _take_results(message: ToolMessage, index: int, open_calls: dict[str, _OpenCalls], strays: list[Stray]) -> None:
    for n, part in enumerate(message.parts):
        if not isinstance(part, ToolResultPart):
            strays.append(Stray(index, n, "a part of a type that this version does not know"))
            continue
        known = open_calls.get(part.call_id)
        paired = known.take(part.name) if known is not None else None
        if paired is not None:
            paired.result = part
        elif known is None:
            strays.append(Stray(index, n, f"a result for the call {part.call_id!r}, which nobody made"))
        else:
            strays.append(Stray(index, n, f"a further result for the call {part.call_id!r}"))


class _OpenCalls:
    """The calls of one id in one message; each `take` costs the same however many there are. All are added before one is taken."""

    __slots__ = ("_all", "_by_name")

    def __init__(self) -> None:
        self._all: deque[PairedCall] = deque()
        self._by_name: dict[str, deque[PairedCall]] | None = None  # made when there is something to tell apart

    def add(self, paired: PairedCall) -> None:
        self._all.append(paired)

    def take(self, name: str) -> PairedCall | None:
        """Return the first call without a result, one of this name if there is one."""
        if self._by_name is None:
            if len(self._all) < 2:
                return _first_open(self._all)
            self._by_name = {}
            for paired in self._all:
                self._by_name.setdefault(paired.call.name, deque()).append(paired)
        named = _first_open(self._by_name.get(name))
        return _first_open(self._all) if named is None else named


def _first_open(calls: deque[PairedCall] | None) -> PairedCall | None:
    while calls:
        if calls[0].result is None:
            return calls[0]
        calls.popleft()
    return None


class _CallIds:
    """Gives each call of a history an id that the server takes and no other call has."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._used: set[str] = set()
        self._repeats: dict[str, int] = {}

    def assign(self, call_id: str) -> str:
        """Return the id itself where it fits and is free, else one derived from it."""
        wanted = call_id or "call"
        candidate = self._fit(wanted)
        repeat = self._repeats.get(wanted, 1)
        while candidate in self._used:
            repeat += 1
            candidate = self._fit(f"{wanted}_{repeat}")
        self._repeats[wanted] = repeat
        self._used.add(candidate)
        return candidate

    def _fit(self, call_id: str) -> str:
        if self._profile.fits_call_id(call_id):
            return call_id
        return _letters(call_id, self._profile.call_id_length)


def _letters(text: str, length: int) -> str:
    """Return letters and digits that stand for the text: the same for the same text, and hardly ever for another."""
    number = int.from_bytes(hashlib.shake_256(text.encode("utf-8")).digest(length), "big")
    letters: list[str] = []
    for _ in range(length):
        number, at = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[at])
    return "".join(letters)
