"""Frames as JSON objects: what the decoders share whose events are JSON.

The rule of this file: it decides what a frame is (an object, a terminator, words of an error, a fault) and nothing about what an object
means; whatever stands in a frame, nothing raises.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final, Protocol

from headrace._json import JSON, MAX_DEPTH, JSONError, Scanner, freeze, loads, loads_lenient, replace_surrogates
from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import MetadataDelta, StreamError
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.frames import Frame

_DONE: Final = b"[DONE]"
_PINGS: Final = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})
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
        is_done: `[DONE]` came: whatever follows is not read.
        has_event: whether any object came.
        is_answer: whether the body was one whole JSON value.
    """

    __slots__ = ("_output", "_reader", "has_event", "is_answer", "is_done")

    def __init__(self, output: Output, reader: Reader) -> None:
        """Start before the first frame."""
        self._output = output
        self._reader = reader
        self.is_done = False
        self.has_event = False
        self.is_answer = False

    def read(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        """Read one frame; what it added becomes a chunk."""
        output = self._output
        output.offset = frame.offset
        self._frame(frame)
        output.chunk(chunks)
        output.events += 1

    def fail(self, error: JSON, status: int | None = None) -> None:
        """Take an error that the provider sent; its own object stays in the metadata."""
        self._output.fail(stream_error(replace_surrogates(error), status=status))
        if isinstance(error, dict):
            self._output.add(MetadataDelta({"error": kept(error)}, ("error",)))

    def _frame(self, frame: Frame) -> None:
        data = frame.data.strip()
        name = (frame.event or "").lower()
        if data == _DONE:
            self.is_done = True
        elif data.startswith(b":"):
            self._output.warn_once("comment_in_data")
        elif data and name not in _PINGS:
            self._event(frame, data, is_error=name == "error")
        elif name == "error" and not frame.is_unterminated:
            self.fail(None)

    def _event(self, frame: Frame, data: bytes, *, is_error: bool) -> None:
        try:
            values = [self._parsed(data)]
            self.is_answer = frame.is_body
        except JSONError as error:
            values = self._broken(frame, data, str(error), is_error=is_error)
        for value in values:
            for item in value if isinstance(value, list) else [value]:
                self._item(item, frame, is_error=is_error)

    def _item(self, item: JSON, frame: Frame, *, is_error: bool) -> None:
        if self._output.is_dead:
            return
        if not isinstance(item, dict):
            if is_error:
                self.fail(item, frame.status)
            elif item is not None:
                self._output.kill(StreamError("invalid_event", f"event {self._output.events} is JSON, but no object"))
            return
        self.has_event = True
        try:
            self._reader.read(item, is_error=is_error, status=frame.status)
        except UsageError as error:
            self._output.kill(StreamError("invalid_event", f"event {self._output.events} cannot be kept: {error}"))

    def _parsed(self, data: bytes) -> JSON:
        """Parse JSON; what had to be tolerated is said.

        Raises:
            JSONError: it is no JSON, whatever one tolerates.
        """
        try:
            return loads(data)
        except JSONError:
            pass
        try:
            value, _ = loads_lenient(data)
        except JSONError:
            value, _ = loads_lenient(data, is_strict_about_controls=False)
            self._output.warn_once("lenient_json", "control characters inside of a text")
        if not _is_utf8(data):
            self._output.warn_once("invalid_utf8")
        return value

    def _broken(self, frame: Frame, data: bytes, reason: str, *, is_error: bool) -> list[JSON]:
        """Read data that is not JSON: events that were run together, an error in plain words, an event that the body's end cut off."""
        may_be_cut = frame.is_unterminated or (frame.is_body and _is_cut(data))
        apart = self._apart(data, may_be_cut=may_be_cut)
        if apart is not None:
            self._output.warn_once("unterminated_event", f"{len(apart)} events without a blank line between them")
            return apart
        if is_error:
            self.fail(data.decode("utf-8", "replace"), frame.status)
        elif not may_be_cut:
            what = "the body" if frame.is_body else f"event {self._output.events}"
            self._output.kill(StreamError("invalid_event", f"{what} is not JSON: {reason}"))
        return []

    def _apart(self, data: bytes, *, may_be_cut: bool) -> list[JSON] | None:
        """Parse each line as an event of its own; None if they are not. A last line `[DONE]` ends the stream; where it was cut, it may be anything."""
        lines = [line for line in (line.strip() for line in data.split(b"\n")) if line]
        is_done = lines[-1] == _DONE
        while lines and lines[-1] == _DONE:
            lines.pop()
        values: list[JSON] = []
        for n, line in enumerate(lines):
            try:
                values.append(self._parsed(line))
            except JSONError:
                if may_be_cut and not is_done and 0 < n == len(lines) - 1:
                    break
                return None
        self.is_done = is_done
        return values

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


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_cut(data: bytes) -> bool:
    scanner = Scanner()
    scanner.scan(data.decode("utf-8", "replace"))
    return scanner.depth > 0 or scanner.is_in_string
