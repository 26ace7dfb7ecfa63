"""Remembers how far the histories of long runs were encoded, so that each request pays for what is new in it alone.

The rule of this file: what is remembered is the same as what encoding the whole would give, or it is forgotten: a beginning counts only
for a history that begins with the very same messages, and only if nothing that comes later can change it. The memory that it takes is
bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

import msgspec

from headrace.messages.message import Message, SystemMessage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.history import History, Pairing
from headrace.wire.profile import Profile

_ENTRY_BYTES = 64  # about what a message costs beside its bytes


class Beginning(msgspec.Struct):
    """The beginning of a history, encoded.

    Attributes:
        messages: the messages.
        profile: what they were encoded for.
        pairing: their calls and results, to go on with.
        wire: their encoded forms, in order; whoever goes on appends to it.
        warnings: what of them could not be sent.
        is_after_tool: whether the last of them is a tool's result.
        size: about how much memory `wire` takes, in bytes.
        protocol: what it was encoded as, where a cache serves more than one form.
        rest: what else the encoder needs to go on; its own affair.
    """

    messages: tuple[Message, ...]
    profile: Profile
    pairing: Pairing
    wire: list[bytes]
    warnings: tuple[Warning, ...]
    is_after_tool: bool = False
    size: int = 0
    protocol: str = ""
    rest: Any = None


class Beginnings:
    """A bounded memory of beginnings, one for each conversation: by the first message that is no instruction."""

    def __init__(self, max_bytes: int) -> None:
        """Start empty."""
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[int, Beginning] = OrderedDict()

    def take(self, messages: Sequence[Message], profile: Profile, protocol: str = "") -> Beginning | None:
        """Take out the beginning of this history, to go on with it and put it back; None if there is none."""
        found = self._kept.pop(_name(messages), None)
        if found is None:
            return None
        self._bytes -= found.size
        is_same_form = found.profile is profile and found.protocol == protocol
        is_same = is_same_form and len(found.messages) <= len(messages) and all(map(is_, found.messages, messages))
        return found if is_same else None

    def put(self, beginning: Beginning) -> None:
        """Remember a beginning."""
        name = _name(beginning.messages)
        before = self._kept.pop(name, None)
        self._bytes += beginning.size - (0 if before is None else before.size)
        self._kept[name] = beginning
        while self._bytes > self._max_bytes and self._kept:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size


class Resumed(NamedTuple):
    """A history to be encoded.

    Attributes:
        known: the beginning of it that was encoded before, or None.
        pairing: its calls and results; of all of it.
        history: what is new in it, paired.
    """

    known: Beginning | None
    pairing: Pairing
    history: History


def resume(beginnings: Beginnings, messages: Sequence[Message], profile: Profile, protocol: str) -> Resumed:
    """Pair a history, and no more of it than was not paired before; if something new reaches back, all of it."""
    known = beginnings.take(messages, profile, protocol)
    if known is not None:
        history = known.pairing.extend(messages[len(known.messages) :])
        if known.pairing.is_settled:
            return Resumed(known, known.pairing, history)
    pairing = Pairing(profile)
    return Resumed(None, pairing, pairing.extend(messages))


def size_of(wire: Sequence[bytes]) -> int:
    """Return about how much memory encoded messages take, in bytes."""
    return sum(map(len, wire)) + _ENTRY_BYTES * len(wire)


def _name(messages: Sequence[Message]) -> int:
    for message in messages[:4]:
        if not isinstance(message, SystemMessage):
            return id(message)
    return id(messages[0]) if messages else 0
