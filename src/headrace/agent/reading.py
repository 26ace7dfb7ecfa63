"""One model's answer on its way: opened, read chunk by chunk into the ledger's blocks, closed.

The rule of this file: it waits for the model alone and decides nothing about the answer. What was shown to readers counts: a stream that
is left early counts as far as it was shown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime

import msgspec

from headrace.agent.ledger import Ledger
from headrace.messages.deltas import Delta, Restarted
from headrace.messages.message import AssistantMessage
from headrace.models.answer import AnswerStream, AttemptDiscarded, StreamItem


class Reading:
    """Reads one answer.

    Attributes:
        is_whole: the stream has ended by itself.
    """

    def __init__(self, ledger: Ledger, *, new_id: Callable[[], str], now: Callable[[], datetime]) -> None:
        """Read nothing yet."""
        self.is_whole = False
        self._ledger = ledger
        self._new_id = new_id
        self._now = now
        self._stream: AnswerStream | None = None
        self._items: AsyncIterator[StreamItem] | None = None

    async def open(self, stream: AnswerStream) -> None:
        """Open the stream; nothing is sent before the first chunk is asked for."""
        self._stream = stream
        self._items = aiter(await stream.__aenter__())

    async def read(self) -> bool:
        """Take the next chunk; returns whether there was one."""
        assert self._items is not None
        try:
            item = await anext(self._items)
        except StopAsyncIteration:
            self.is_whole = True
            return False
        self._ledger.at = self._now()
        if isinstance(item, AttemptDiscarded):
            self._ledger.discard(item.attempt, item.reason, self._new_id())
            return True
        deltas = item.deltas
        if Restarted in map(type, deltas):
            deltas = self._restarted(deltas)
        self._ledger.blocks.feed(deltas)
        return True

    async def read_all(self) -> None:
        """Take what is left at once, where nobody sees how it comes."""
        assert self._items is not None
        came: list[Delta] = []
        try:
            async for item in self._items:
                if isinstance(item, AttemptDiscarded):
                    self._ledger.blocks.feed(came)
                    came.clear()
                    self._ledger.discard(item.attempt, item.reason, self._new_id())
                    continue
                deltas = item.deltas
                if Restarted in map(type, deltas):
                    self._ledger.blocks.feed(came)
                    came.clear()
                    deltas = self._restarted(deltas)
                came += deltas
            self.is_whole = True
        finally:
            self._ledger.at = self._now()
            self._ledger.blocks.feed(came)

    def _restarted(self, deltas: tuple[Delta, ...]) -> tuple[Delta, ...]:
        """The wire's own way to say that what came is void; returns what came behind it."""
        at = next(n for n, delta in enumerate(deltas) if type(delta) is Restarted)
        self._ledger.blocks.feed(deltas[:at])
        attempt = len(self._stream.attempts) + 1 if self._stream is not None else 1
        self._ledger.discard(attempt, "the provider began the message anew", self._new_id())
        return deltas[at + 1 :]

    @property
    def message(self) -> AssistantMessage:
        """The answer."""
        assert self._stream is not None
        return self._stream.message

    async def aclose(self) -> None:
        """Close the stream."""
        if self._stream is not None:
            await self._stream.__aexit__(None, None, None)

    def broken_off(self, error: Exception | None) -> AssistantMessage:
        """Return the answer as far as it came.

        What a stream still held back when it was left was never shown, so it does not count; after a failure all was shown.
        """
        blocks = self._ledger.blocks
        if self._stream is None or self._items is None:
            return blocks.snapshot()
        message = self._stream.message
        if error is not None and blocks.is_made_of(message):
            return message
        return msgspec.structs.replace(message, parts=blocks.snapshot().parts)
