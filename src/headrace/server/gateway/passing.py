"""One stream from chunks to bytes on their way to the client, without a wait.

The rule of this file: it never waits, so that the event loop itself can call it when the upstream's bytes come: no task wakes and no timer is
made for a chunk. Where a wait is needed (the client is slow) it says so, and whoever reads the answer waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import msgspec

from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import Ended, MessageStart, ReasoningDelta, TextDelta, ToolCallFragment
from headrace.models.stream import SILENT
from headrace.server.caller import Caller
from headrace.server.gateway.exchange import Exchange
from headrace.server.gateway.repairs import first_repair
from headrace.wire.server_side import StreamOut

_SAYS_NOTHING: Final = SILENT | {Ended}
_PLAIN: Final = frozenset({TextDelta, ReasoningDelta, ToolCallFragment})


class Passing:
    """Passes one answer on.

    Attributes:
        pile: what has not been sent.
        has_said: whether a chunk said something.
        is_over: no more can be passed on, whatever comes.
        refused: the repair for which a strict gateway ends the answer, once it was seen.
    """

    def __init__(self, out: StreamOut, caller: Caller, exchange: Exchange, *, model: str, strict: bool, began: Callable[[], None]) -> None:
        """Begin before the first chunk.

        Args:
            out: writes the client's protocol.
            caller: the client's end.
            exchange: counts the chunks.
            model: the client's own name of it.
            strict: the first repair ends the answer.
            began: is called when a chunk says something for the first time.
        """
        self.pile = Pile()
        self.has_said = False
        self.is_over = False
        self.refused: str | None = None
        self._out = out
        self._feed = out.feed
        self._caller = caller
        self._exchange = exchange
        self._model = model
        self._strict = strict
        self._began = began

    def take(self, chunks: list[AssistantMessageChunk]) -> bool:
        """Pass chunks on at once; returns whether the next ones may come in the same way, or there is something to wait for first."""
        pile, caller = self.pile, self._caller
        for chunk in chunks:
            if not self.add(chunk):
                return False
        return not pile.size or (self.has_said and caller.is_free and caller.pour(pile.take()))

    def add(self, chunk: MessageChunk) -> bool:
        """Put a chunk on the pile; returns whether more of them can be."""
        self._exchange.chunks += 1
        self.pile.add(self._feed(self._adapted(chunk)))
        out = self._out
        if out.is_over:  # by an error of its own: what comes now has no place any more
            self._exchange.failure = "unsendable"
            self.is_over = True
        elif self._strict:
            self.refused = first_repair(out.repairs)
            self.is_over = self.refused is not None
        return not self.is_over

    def _adapted(self, chunk: MessageChunk) -> MessageChunk:
        """Return a chunk as the client may see it: the model by the client's own name, and no upstream's error, which is told in our words."""
        deltas = chunk.deltas
        if self.has_said and len(deltas) == 1 and type(deltas[0]) in _PLAIN:  # nearly all are such
            return chunk
        if not self.has_said and any(type(delta) not in _SAYS_NOTHING for delta in deltas):
            self.has_said = True
            self._began()
        if not deltas:
            return chunk
        first, last = deltas[0], deltas[-1]
        is_start = type(first) is MessageStart and bool(first.model)
        is_error = type(last) is Ended and last.error is not None
        if not (is_start or is_error):
            return chunk
        if is_start:
            renamed = msgspec.structs.replace(cast("MessageStart", first), model=self._model)
            deltas = (renamed, *deltas[1:])
        return AssistantMessageChunk.from_deltas(deltas[:-1] if is_error else deltas, is_from_wire=chunk.is_from_wire)


class Pile:
    """Bytes that leave together.

    Attributes:
        size: how many there are.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.size = 0
        self._pieces: list[bytes] = []

    def add(self, data: bytes) -> None:
        """Put more on it."""
        if data:
            self._pieces.append(data)
            self.size += len(data)

    def take(self) -> bytes:
        """Take all of it away."""
        pieces = self._pieces
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self.size = 0
        return data
