"""The messages of a request in their row, each encoded once: what encoders share whose wire has a list of messages.

The rule of this file: it pairs, orders, remembers and says; the form of a message is the protocol's own. The body is put together from
bytes that were encoded before, so a long run pays in each round for what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from headrace._json import dumps
from headrace.errors import UsageError
from headrace.messages.message import Message
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.beginnings import Beginning, resume, size_of
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.history import History, PairedCall, Turn
from headrace.wire.profile import Profile

EncodeMessage: TypeAlias = Callable[[Message, Profile, Sequence[PairedCall]], Fragment]
EncodeResult: TypeAlias = Callable[[ToolResultPart, str, ToolCallPart, Profile], Fragment]
EncodeFollow: TypeAlias = Callable[[tuple[bytes, ...]], bytes]

NOT_RUN = ToolResultPart(call_id="", state="not_run")
"""Stands in where the history holds no result for a call."""


class MessageList:
    """Puts the encoded messages of a history in a row.

    Attributes:
        wire: the messages, encoded.
        warnings: what could not be taken along.
    """

    def __init__(
        self,
        protocol: str,
        profile: Profile,
        cache: EncodingCache,
        *,
        message: EncodeMessage,
        result: EncodeResult,
        follow: EncodeFollow | None = None,
    ) -> None:
        """Start empty.

        Args:
            protocol: sets its entries of the cache apart.
            profile: what the server takes and wants.
            cache: remembers what was encoded.
            message: encodes a system, user or assistant message; an empty body is not sent.
            result: encodes one result of a tool.
            follow: makes a user message of what the results could not hold; None where they hold everything.
        """
        self.wire: list[bytes] = []
        self.warnings: list[Warning] = []
        self._protocol = protocol
        self._profile = profile
        self._cache = cache
        self._message = message
        self._result = result
        self._follow = follow

    def add_all(self, messages: Sequence[Message]) -> None:
        """Add a history, made legal; one that begins as one before goes on where that ended. To be called once."""
        beginnings, profile, protocol = self._cache.beginnings, self._profile, self._protocol
        known, pairing, history = resume(beginnings, messages, profile, protocol)
        if known is not None:
            self.wire, self.warnings = known.wire, list(known.warnings)
        added = len(self.wire)
        self._add(history)
        if pairing.is_settled and messages:
            size = size_of(self.wire[added:]) + (0 if known is None else known.size)
            beginnings.put(Beginning(tuple(messages), profile, pairing, self.wire, tuple(self.warnings), size=size, protocol=protocol))

    def _add(self, history: History) -> None:
        for stray in history.strays:
            self._warn(stray.index, (Note(stray.part, stray.why),))
        for turn in history.turns:
            self._turn(turn)

    def _turn(self, turn: Turn) -> None:
        key = (self._protocol, *(paired.wire_id for paired in turn.calls))
        fragment = self._cache.find(turn.message, self._profile, key)
        if fragment is None:
            fragment = self._cache.store(turn.message, self._profile, key, self._message(turn.message, self._profile, turn.calls))
        self._warn(turn.index, fragment.notes)
        if not fragment.body:
            return
        self.wire.append(fragment.body)
        follow: list[bytes] = []
        for paired in turn.calls:
            fragment = self._encoded_result(paired)
            self._warn(turn.index, fragment.notes)
            self.wire.append(fragment.body)
            follow += fragment.follow
        if follow and self._follow is not None:
            self.wire.append(self._follow(tuple(follow)))

    def _encoded_result(self, paired: PairedCall) -> Fragment:
        if paired.result is None:
            return self._result(NOT_RUN, paired.wire_id, paired.call, self._profile)
        key = (self._protocol, paired.wire_id, paired.call.name)
        fragment = self._cache.find(paired.result, self._profile, key)
        if fragment is None:
            encoded = self._result(paired.result, paired.wire_id, paired.call, self._profile)
            fragment = self._cache.store(paired.result, self._profile, key, encoded)
        return fragment

    def _warn(self, index: int, notes: Iterable[Note]) -> None:
        self.warnings += loss_warnings(index, notes)

    def joined(self) -> bytes:
        """Return the messages as a JSON list.

        Raises:
            UsageError: there is none.
        """
        if not self.wire:
            raise UsageError("there is no message to send", argument="messages")
        return list_of(self.wire)


def loss_warnings(index: int, notes: Iterable[Note]) -> list[Warning]:
    """Return the notes on a message as warnings that name its place in the history."""
    warnings: list[Warning] = []
    for note in notes:
        place = f"messages[{index}]" + ("" if note.part is None else f".parts[{note.part}]")
        warnings.append(Warning("dropped_for_provider", part=note.part, detail=f"{place}: {note.text}"))
    return warnings


def speaker_notes(message: Message) -> list[Note]:
    """Return a note of the speaker's name, on a wire that has no place for one."""
    return [Note(None, f"the speaker's name {message.name!r}")] if message.name else []


def list_of(items: Sequence[bytes]) -> bytes:
    """Return items that are JSON already as a JSON list."""
    return b"".join((b"[", b",".join(items), b"]"))


def body_of(fields: Mapping[str, bytes]) -> bytes:
    """Return the members as a JSON object; each value is JSON already, and copied once: one of them is a whole talk."""
    pieces: list[bytes] = []
    for key, value in fields.items():
        pieces += (b"," if pieces else b"{", dumps(key), b":", value)
    return b"".join((*pieces, b"}")) if pieces else b"{}"


def lay_over(fields: dict[str, bytes], extra: Mapping[str, object]) -> None:
    """Lay the caller's own members over a body: they replace its own, whole; None takes a member out."""
    for key, value in extra.items():
        if value is None:
            fields.pop(key, None)
        else:
            fields[key] = dumps(value)
