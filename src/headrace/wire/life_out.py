"""The life of a stream that leaves: fed until it is over, closed once. What each protocol's `stream_out.py` stands on.

The rule of this file: it knows no form. After the end, or an error that is known before it, nothing more comes out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import StreamError
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.parts_out import PartsOut
from headrace.wire.parts_writer import Verdict


class LifeOut(ABC):
    """An answer on its way; see `server_side.StreamOut`."""

    def __init__(self, parts: PartsOut) -> None:
        """Start before the first chunk; the parts tell the writer what each chunk adds."""
        self._parts = parts
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be said."""
        return self._is_over

    @property
    def repairs(self) -> tuple[Warning, ...]:
        """What was repaired or left out so far."""
        return self._parts.repairs

    def feed(self, chunk: MessageChunk) -> bytes:
        """Return what this chunk adds to the stream; b"" if it adds nothing yet."""
        if self._is_over:
            return b""
        self._parts.feed(chunk)
        self._heard()
        return self._more() if self._parts.error is None else self.close()

    def close(self, error: StreamError | None = None) -> bytes:
        """Return the rest of the stream: how the answer ended, or the error."""
        if self._is_over:
            return b""
        self._is_over = True
        return self._rest(self._parts.finish(error))

    def _heard(self) -> None:  # noqa: B027 - most protocols have nothing to do
        """A chunk was taken, whatever it said."""

    @abstractmethod
    def _more(self) -> bytes:
        """Return what can be said by now."""

    @abstractmethod
    def _rest(self, verdict: Verdict) -> bytes:
        """Return everything that is left to be said."""
