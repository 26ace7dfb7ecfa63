"""Frames as JSON objects for a reader: what decoders share whose events are objects.

The rule of this file: it hands each object to the protocol's reader and says nothing about what it means; whatever stands in a frame,
nothing raises.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final, Protocol

from headrace._json import JSON, MAX_DEPTH, freeze, replace_surrogates
from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import StreamError
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.event_data import EventData
from headrace.wire.frames import Frame

_KEPT_DEPTH: Final = MAX_DEPTH - 16  # a message wraps what it keeps a few levels deeper, and must be readable itself


def kept(value: JSON) -> JSON:
    """Return a value of the wire as it is kept: frozen, and writable as UTF-8.

    Raises:
        UsageError: it is nested too deep, or holds a number too large to be written again; `JsonEvents` takes it.
    """
    return freeze(replace_surrogates(value), "it", max_depth=_KEPT_DEPTH)


def word_of(value: JSON) -> str:
    """Return a text with whole characters only; "" if it is no text."""
    if not isinstance(value, str):
        return ""
    mended: str = replace_surrogates(value)
    return mended


def count_of(value: JSON) -> int | None:
    """Return a count, or None if it is no whole number from 0."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None


class Reader(Protocol):
    """What reads the objects of one protocol."""

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one object.

        Args:
            event: the object.
            is_error: its event was called `error`.
            status: the HTTP status that came with the event, or None.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        ...


class JsonEvents:
    """Reads frames into a `Reader`.

    Attributes:
        has_event: whether any object came.
    """

    __slots__ = ("_data", "_output", "_reader", "has_event")

    def __init__(self, output: Output, reader: Reader) -> None:
        """Start before the first frame."""
        self._output = output
        self._reader = reader
        self._data = EventData(output)
        self.has_event = False

    @property
    def is_done(self) -> bool:
        """Whether `[DONE]` came: whatever follows is not read."""
        return self._data.is_done

    @property
    def is_answer(self) -> bool:
        """Whether the body was one whole JSON value."""
        return self._data.is_answer

    def read(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        """Read one frame; what it added becomes a chunk."""
        output = self._output
        output.offset = frame.offset
        for event in self._data.read(frame):
            for item in event.value if isinstance(event.value, list) else [event.value]:
                if not output.is_dead:
                    self._item(item, frame, is_error=event.is_error)
        output.chunk(chunks)
        output.events += 1

    def _item(self, item: JSON, frame: Frame, *, is_error: bool) -> None:
        output = self._output
        if not isinstance(item, dict):
            if is_error:
                output.fail(stream_error(replace_surrogates(item), status=frame.status))
            elif item is not None:
                output.kill(StreamError("invalid_event", f"event {output.events} is JSON, but no object"))
            return
        self.has_event = True
        try:
            self._reader.read(item, is_error=is_error, status=frame.status)
        except UsageError as error:
            output.kill(StreamError("invalid_event", f"event {output.events} cannot be kept: {error}"))

    def end_error(self, body_kind: str, *, is_over: bool, is_understood: bool) -> StreamError | None:
        """Return how a stream failed that said nothing of an error itself, or None if it is whole.

        Args:
            body_kind: what the body turned out to be.
            is_over: it said that it was finished.
            is_understood: at least one of its objects was part of an answer.
        """
        if body_kind == "other":
            return StreamError("not_event_stream", "the body is neither an event stream nor JSON")
        if not self.has_event:
            return StreamError("stream_truncated", "the body ended before any event came", retryable=True)
        if not is_understood and (self.is_answer or body_kind == "lines"):
            return StreamError("invalid_event", "the body is JSON, but neither an answer nor an error")
        if not is_over:
            return StreamError("stream_truncated", "the stream ended before it said that it was finished", retryable=True)
        return None
