"""What a body is: server-sent events, one whole JSON value, or neither.

The rule of this file: the first byte that is no space decides, whatever the headers said, and each byte is looked at once.
"""

from __future__ import annotations

from headrace.wire.beginning import BLANK, Beginning
from headrace.wire.frames import SSE, Batch, Frame


class Body:
    """Finds out what a body is, and frames it. `{` and `[` begin JSON, `<` begins markup (a page, say), anything else events.

    Attributes:
        kind: `unknown` (nothing came yet), `events`, `json` or `other`.
        exceeded: something was larger than `max_event_bytes`.
    """

    __slots__ = ("_begin", "_blank", "_has_names", "_held", "_max", "_sse", "exceeded", "kind")

    def __init__(self, *, max_event_bytes: int, has_names: bool = False) -> None:
        """Start before the first byte; `has_names` as for `SSE`."""
        self._has_names = has_names
        self._max = max_event_bytes
        self._begin = Beginning(max_event_bytes)
        self._blank = 0
        self._sse: SSE | None = None
        self._held = bytearray()
        self.exceeded = False
        self.kind = "unknown"

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        begin = self._begin
        if not begin.is_shown:
            begin.show(data)
        elif (sse := self._sse) is not None:
            frames = sse.feed(data)
            self.exceeded = sse.exceeded
            return frames
        if self.kind != "unknown":
            return self._go_on(data)
        if self.exceeded:
            return []
        text = begin.feed(data)
        self.exceeded = begin.exceeded
        return self.start(text, begin) if text else []

    def start(self, text: bytes, begin: Beginning) -> list[Frame | Batch]:
        """Return the frames of a body whose first bytes that say something are these; for framers that looked for them themselves."""
        self.kind = {b"{": "json", b"[": "json", b"<": "other"}.get(text[:1], "events")
        self._blank = begin.blank
        if self.kind != "events":
            return self._go_on(text)
        self._sse = SSE(max_event_bytes=self._max, offset=begin.blank - begin.is_indented, has_names=self._has_names)
        return self._go_on(b" " * begin.is_indented + text)

    def _go_on(self, data: bytes) -> list[Frame | Batch]:
        sse = self._sse
        if sse is not None:
            frames = sse.feed(data)
            self.exceeded = sse.exceeded
            return frames
        if self.kind == "json" and not self.exceeded:
            self._hold(data)
        return []

    def _hold(self, data: bytes) -> None:
        if len(self._held) + len(data) > self._max:
            self.exceeded = True
            self._held.clear()
        else:
            self._held += data

    def close(self) -> list[Frame | Batch]:
        """Return what is left: an unfinished event, or the whole JSON body as one frame."""
        if self._sse is not None:
            frames = self._sse.close()
            if self._sse.unknown_lines and not self._sse.known_lines:
                self.kind = "other"
            return frames
        if self.kind == "json" and not self.exceeded:
            return [Frame(bytes(self._held).rstrip(BLANK), self._blank, is_body=True)]
        if self._begin.is_cut:
            self.kind = "other"
        return []

    @property
    def beginning(self) -> str:
        """The first bytes of the body, for an error message."""
        return self._begin.shown
