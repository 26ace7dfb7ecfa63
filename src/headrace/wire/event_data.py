"""From a frame to the JSON values in it, with what real servers do wrong.

The rule of this file: it knows no protocol. Data that is not JSON is read as far as it can be without a guess, what had to be tolerated
is said, and nothing that a peer sends raises.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace._json import JSON, JSONError, Scanner, loads, loads_lenient
from headrace.messages.deltas import StreamError
from headrace.wire.decoder import Output
from headrace.wire.frames import Frame

_DONE: Final = b"[DONE]"
_PINGS: Final = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})


class EventValue(NamedTuple):
    """One value of a frame.

    Attributes:
        value: the JSON value; a plain text where an error came as such.
        is_error: the event's name said that it is an error.
    """

    value: JSON
    is_error: bool = False


class EventData:
    """Reads frames.

    Attributes:
        is_done: `[DONE]` came, alone or behind another event.
        is_answer: the last frame was a body that is one JSON value.
    """

    __slots__ = ("_output", "is_answer", "is_done")

    def __init__(self, output: Output) -> None:
        """Start before the first frame; faults go to the output."""
        self._output = output
        self.is_done = False
        self.is_answer = False

    def read(self, frame: Frame) -> list[EventValue]:
        """Return the values of a frame, none for what says nothing; what is broken beyond repair kills the output."""
        data = frame.data.strip()
        is_error = frame.event is not None and frame.event.lower() == "error"
        if data == _DONE:
            self.is_done = True
        elif data.startswith(b":"):
            self._output.warn_once("comment_in_data")
        elif data and (is_error or frame.event is None or frame.event.lower() not in _PINGS):
            return self._values(frame, data, is_error=is_error)
        elif is_error and not frame.is_unterminated:
            return [EventValue(None, is_error=True)]
        return []

    def _values(self, frame: Frame, data: bytes, *, is_error: bool) -> list[EventValue]:
        try:
            value = self._parsed(data)
        except JSONError as error:
            return self._broken(frame, data, str(error), is_error=is_error)
        self.is_answer = frame.is_body
        return [EventValue(value, is_error)]

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

    def _broken(self, frame: Frame, data: bytes, reason: str, *, is_error: bool) -> list[EventValue]:
        """Read data that is not JSON: events that were run together, an error in plain words, an event that the body's end cut off."""
        may_be_cut = frame.is_unterminated or (frame.is_body and _is_cut(data))
        apart = self._apart(data, may_be_cut=may_be_cut)
        if apart is not None:
            self._output.warn_once("unterminated_event", f"{len(apart)} events without a blank line between them")
            return [EventValue(value, is_error) for value in apart]
        if is_error:
            return [EventValue(data.decode("utf-8", "replace"), is_error=True)]
        if not may_be_cut:
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
