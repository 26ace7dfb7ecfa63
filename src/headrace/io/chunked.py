"""The body of an answer that comes in chunks of its transfer coding, unframed as it comes.

The rule of this file: a pure machine, and as strict as the pool's own: bytes in, the body's bytes out, however they were cut. Most reads of a
model's stream are one chunk, whole: that is the way that costs least.

Source: RFC 9112, section 7.1.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

import httpcore2

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[^\x00\r\n]*)?[ \t]*\r\n")
_MAX_LINE: Final = 16 * 1024
_MAX_TRAILER: Final = 64 * 1024
_END: Final = b"\r\n"


class ChunkedBody:
    """Takes the coding off.

    Attributes:
        is_over: the last chunk came, and what may follow it.
        has_more: bytes came behind the end, which nobody asked for.
    """

    __slots__ = ("_held", "_is_at_trailer", "_left", "_trailer", "has_more", "is_over")

    def __init__(self) -> None:
        """Start before the first chunk."""
        self.is_over = False
        self.has_more = False
        self._held = b""  # of a line that has not come whole
        self._left = 0  # how much of the present chunk is to come, the end of its line included
        self._is_at_trailer = False
        self._trailer = 0

    def feed(self, data: bytes) -> bytes:
        """Return what of the body is in these bytes.

        Raises:
            RemoteProtocolError: the peer broke the coding.
        """
        if self._held:
            data, self._held = self._held + data, b""
        left = self._left
        if not left and not self._is_at_trailer:
            found = _SIZE.match(data)
            if found is not None:
                start, size = found.end(), int(found[1], 16)
                if size and start + size + 2 == len(data) and data.endswith(_END):
                    return data[start:-2]
        return self._general(data)

    def break_off(self) -> NoReturn:
        """The connection ended before the body.

        Raises:
            RemoteProtocolError: always.
        """
        raise httpcore2.RemoteProtocolError("peer closed connection without sending complete message body (incomplete chunked read)")

    def _general(self, data: bytes) -> bytes:
        at, end = 0, len(data)
        pieces: list[bytes] = []
        while at < end:
            if self.is_over:
                self.has_more = True
                break
            if self._is_at_trailer or not self._left:
                stop = data.find(_END, at)
                if stop < 0 or stop - at > _MAX_LINE:
                    if end - at > _MAX_LINE:
                        raise httpcore2.RemoteProtocolError("a line of the chunked body is too long")
                    self._held = data[at:]
                    break
                self._line(data[at : stop + 2])
                at = stop + 2
                continue
            of_body = min(self._left - 2, end - at)
            if of_body > 0:
                pieces.append(data[at : at + of_body])
                at += of_body
                self._left -= of_body
            if self._left <= 2 and at < end:
                took = data[at : at + self._left]
                if took != _END[2 - self._left :][: len(took)]:
                    raise httpcore2.RemoteProtocolError("a chunk of the body does not end where it said")
                at += len(took)
                self._left -= len(took)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _line(self, line: bytes) -> None:
        if self._is_at_trailer:
            self._trailer += len(line)
            if self._trailer > _MAX_TRAILER:
                raise httpcore2.RemoteProtocolError("what follows the chunked body is too long")
            self.is_over = line == _END
            return
        found = _SIZE.fullmatch(line)
        if found is None:
            raise httpcore2.RemoteProtocolError(f"a chunk of the body begins with {line[:40]!r}, which is no size")
        size = int(found[1], 16)
        if size:
            self._left = size + 2
        else:
            self._is_at_trailer = True
