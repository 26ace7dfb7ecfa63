"""What a body is: server-sent events, one whole JSON value, or neither.

The rule of this file: the first byte that is no space decides, whatever the headers said, and each byte is looked at once.
"""

from __future__ import annotations

from typing import Final

from headrace.wire.frames import SSE, Batch, Frame

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"
_SHOWN: Final = 200


class Body:
    """Finds out what a body is, and frames it. `{` and `[` begin JSON, `<` begins markup (a page, say), anything else events.

    Attributes:
        kind: `unknown` (nothing came yet), `events`, `json` or `other`.
        exceeded: something was larger than `max_event_bytes`.
    """

    __slots__ = ("_begin", "_blank", "_has_names", "_held", "_is_indented", "_max", "_sse", "exceeded", "kind")

    def __init__(self, *, max_event_bytes: int, has_names: bool = False) -> None:
        """Start before the first byte; `has_names` as for `SSE`."""
        self._has_names = has_names
        self._max = max_event_bytes
        self._sse: SSE | None = None
        self._held = bytearray()
        self._blank = 0  # bytes at the beginning that are known to say nothing: a byte order mark, spaces, line ends
        self._is_indented = False
        self._begin = b""
        self.exceeded = False
        self.kind = "unknown"

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        sse = self._sse
        if len(self._begin) < _SHOWN:
            self._begin += data[: _SHOWN - len(self._begin)]
        if sse is not None:
            frames = sse.feed(data)
            self.exceeded = sse.exceeded
            return frames
        if self.exceeded or self.kind == "other":
            return []
        if self.kind == "json":
            return self._hold(data)
        return self._sniff(b"".join((self._held, data)) if self._held else data)

    def _feed_events(self, sse: SSE, data: bytes) -> list[Frame | Batch]:
        frames = sse.feed(data)
        self.exceeded = sse.exceeded
        return frames

    def _hold(self, data: bytes) -> list[Frame | Batch]:
        if len(self._held) + len(data) > self._max:
            self.exceeded = True
            self._held.clear()
        else:
            self._held += data
        return []

    def _sniff(self, head: bytes) -> list[Frame | Batch]:
        """Look at the beginning of a body; `head` is what was held and could not be told yet, and what came now."""
        self._held.clear()
        if self._blank == 0 and len(head) < len(_BOM) and _BOM.startswith(head):
            return self._hold(head)
        mark = len(_BOM) if self._blank == 0 and head.startswith(_BOM) else 0
        text = head[mark:].lstrip(_BLANK)
        self._blank += len(head) - len(text)
        self._indent(head[mark : len(head) - len(text)])
        if self._blank > self._max:
            self.exceeded = True
            return []
        if not text:
            return []
        self.kind = {b"{": "json", b"[": "json", b"<": "other"}.get(text[:1], "events")
        if self.kind == "json":
            return self._hold(text)
        if self.kind == "other":
            return []
        self._sse = SSE(max_event_bytes=self._max, offset=self._blank - self._is_indented, has_names=self._has_names)
        return self._feed_events(self._sse, b" " * self._is_indented + text)

    def _indent(self, blank: bytes) -> None:
        """Note whether the line at hand begins with spaces: the grammar knows no field that does."""
        line_ends = blank.rstrip(b" \t")
        self._is_indented = len(line_ends) < len(blank) or (self._is_indented and not line_ends)

    def close(self) -> list[Frame | Batch]:
        """Return what is left: an unfinished event, or the whole JSON body as one frame."""
        if self._sse is not None:
            frames = self._sse.close()
            if self._sse.unknown_lines and not self._sse.known_lines:
                self.kind = "other"
            return frames
        if self.kind == "json" and not self.exceeded:
            return [Frame(bytes(self._held).rstrip(_BLANK), self._blank, is_body=True)]
        if self._held:
            self.kind = "other"  # half a byte order mark
        return []

    @property
    def beginning(self) -> str:
        """The first bytes of the body, for an error message."""
        return self._begin.decode("utf-8", "replace")
