"""What is loaded of a conversation: messages that can be read, as a history that every provider takes (law 7).

The rule of this file: pure, but for the log lines of `loaded`; the stored rows stay as they are, and each repair is said. A history that is
legal comes out as it is. Which result belongs to which call is decided where it is decided for the wire (`wire/history.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from headrace.agent.loop import interrupted_result
from headrace.errors import UsageError
from headrace.messages.codec import decode_message
from headrace.messages.message import Message, ToolMessage
from headrace.messages.parts import Part, ToolResultPart
from headrace.wire.history import PairedCall, pair
from headrace.wire.profile import Profile

LOG: Final = logging.getLogger("headrace.sessions")

RepairKind: TypeAlias = Literal["unreadable", "doubled", "renamed", "unanswered", "orphan_result", "moved_result"]
"""What can be wrong.

`unreadable`: a row that is no message, left out. `doubled`: a message that stands there twice, the second left out. `renamed`: a message
without an id, or with another one's, gets one. `unanswered`: a call without a result, which gets an `interrupted` one. `orphan_result`: a result
without a call, or a further one, left out. `moved_result`: results that stood elsewhere than in one message right behind their calls.
"""


class Repair(msgspec.Struct, frozen=True):
    """Something that was done to a conversation when it was loaded.

    Attributes:
        kind: what was wrong.
        row: the number of the row in the store, from 0.
        text: what was wrong and what was done, in words.
    """

    kind: RepairKind
    row: int
    text: str


class Repaired(msgspec.Struct, frozen=True):
    """A conversation that can be sent, and what was done for that."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...] = ()


def loaded(session_id: str, rows: Iterable[bytes]) -> tuple[Message, ...]:
    """Return what `repaired` makes of the rows, and say each repair in a line of the log."""
    result = repaired(rows)
    for repair in result.repairs:
        LOG.warning("session %r, row %d: %s (%s)", session_id, repair.row, repair.text, repair.kind)
    return result.messages


def repaired(rows: Iterable[bytes]) -> Repaired:
    """Return the messages of a conversation as a legal history.

    Every call has its one result, in the message right behind it and in the order of the calls; every result has its call; every message has
    an id of its own. Equal rows give equal messages and repairs.
    """
    repairs: list[Repair] = []
    read = list(_named(_readable(rows, repairs), repairs))
    messages = tuple(_paired(read, repairs))
    return Repaired(messages, tuple(sorted(repairs, key=lambda repair: repair.row)))


def _readable(rows: Iterable[bytes], repairs: list[Repair]) -> Iterator[tuple[int, Message]]:
    for row, data in enumerate(rows):
        try:
            yield row, decode_message(data)
        except UsageError as error:
            repairs.append(Repair("unreadable", row, f"left out, since it cannot be read: {error}"))


def _named(read: Iterable[tuple[int, Message]], repairs: list[Repair]) -> Iterator[tuple[int, Message]]:
    seen: dict[str, Message] = {}
    for row, message in read:
        name = message.id
        if name is not None and seen.get(name) == message:
            repairs.append(Repair("doubled", row, f"left out, since the message {name!r} stands there already"))
            continue
        if name is None or name in seen:
            base = name or f"row_{row}"
            new = next(one for n in range(1, len(seen) + 3) if (one := base if n == 1 else f"{base}_{n}") not in seen)
            why = "it had no id" if name is None else f"another message has the id {name!r}"
            repairs.append(Repair("renamed", row, f"{why}; it is {new!r} now"))
            seen[new] = renamed = message.replace(id=new)
            yield row, renamed
        else:
            seen[name] = message
            yield row, message


def _paired(read: Sequence[tuple[int, Message]], repairs: list[Repair]) -> Iterator[Message]:
    messages = [message for _, message in read]
    history = pair(messages, Profile())
    strays = {(stray.index, stray.part) for stray in history.strays if isinstance(messages[stray.index].parts[stray.part], ToolResultPart)}
    repairs += [
        Repair("orphan_result", read[stray.index][0], f"left out {stray.why}")
        for stray in history.strays
        if (stray.index, stray.part) in strays
    ]
    for turn in history.turns:
        yield turn.message
        if not turn.calls:
            continue
        at = turn.index + 1
        follower = messages[at] if at < len(messages) else None
        is_there = isinstance(follower, ToolMessage) and not any((at, part) in strays for part in range(len(follower.parts)))
        if is_there and isinstance(follower, ToolMessage) and _is_answer(follower, turn.calls):
            yield follower
        else:
            yield _answer(turn.message, follower, turn.calls, read[turn.index][0], repairs)


def _is_answer(follower: ToolMessage, calls: Sequence[PairedCall]) -> bool:
    results = follower.results
    return len(results) == len(calls) and all(call.result is result for call, result in zip(calls, results, strict=True))


def _answer(message: Message, follower: Message | None, calls: Sequence[PairedCall], row: int, repairs: list[Repair]) -> Message:
    """Return the one message with the results of a message's calls, as much as can be the one that was there."""
    for paired in calls:
        if paired.result is None:
            what = f"the call {paired.call.id!r} of {paired.call.name!r} has no result; it gets an 'interrupted' one"
            repairs.append(Repair("unanswered", row, what))
    parts: tuple[Part, ...] = tuple(paired.result or interrupted_result(paired.call) for paired in calls)
    stood = follower.results if isinstance(follower, ToolMessage) else ()
    found = [paired.result for paired in calls if paired.result is not None]
    if [id(result) for result in found] != [id(result) for result in stood if any(result is one for one in found)]:
        repairs.append(Repair("moved_result", row, "results that stood elsewhere are put into one message behind their calls"))
    if isinstance(follower, ToolMessage):
        return follower.replace(parts=parts)
    return ToolMessage.assemble(id=f"{message.id}_results", parts=parts, created_at=message.created_at)
