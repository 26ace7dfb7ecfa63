"""The connections of a server: how many there may be, and how long a client may take over what is not the body of a request.

The rule of this file: who asks nothing makes room. A connection on which a request is answered is never closed for another one; one that was
opened and left, or that brings its request byte by byte, is closed as soon as somebody else needs its place, the longest idle first.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

ABORT: Final = "headrace.abort"
"""The ASGI extension by which a connection is cut at once: a function of nothing."""
_MAX_HEAD_BYTES: Final = 64 * 1024
_LINGER_S: Final = 5.0
"""How long the rest of a body may come after its request was answered."""
_GOODBYE_S: Final = 1.0
"""How long a client that was refused has to read that, and to close."""
_SILENCE_S: Final = 30
_GONE_S: Final = 60
_PROBES: Final = 3
_TELL_EVERY_S: Final = 60.0

_log = logging.getLogger("headrace.server.connections")


class Idle:
    """The connections of one server on which no request is answered, the longest idle first."""

    def __init__(self, max_open: int) -> None:
        """Hold none.

        Args:
            max_open: how many connections may be open, idle or not.
        """
        self.max_open = max_open
        self._waiting: dict[asyncio.Transport, None] = {}
        self._told_s = -_TELL_EVERY_S

    def add(self, transport: asyncio.Transport) -> None:
        """One became idle, now."""
        self._waiting.pop(transport, None)
        self._waiting[transport] = None

    def discard(self, transport: asyncio.Transport) -> None:
        """One is not idle any more."""
        self._waiting.pop(transport, None)

    def make_room(self, newest: asyncio.Transport) -> None:
        """Close one, for there are more than may be: the longest idle, or, if all others are in use, the newest, which is told."""
        self._tell()
        oldest = next(iter(self._waiting))
        del self._waiting[oldest]
        if oldest is newest:
            _Refused(newest)
        else:
            oldest.abort()

    def _tell(self) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s >= _TELL_EVERY_S:
            self._told_s = now_s
            _log.warning(
                "%d connections are open, as many as may be: those that ask nothing are closed, the longest idle first", self.max_open
            )


class _Refused(asyncio.Protocol):
    """Tells a client that there is no room, and takes what it says until it has read that.

    A system that has something unread when it closes a connection resets it, and what was written is lost on its way.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        """Take over a connection."""
        self._before = transport.get_protocol()
        self._timer = asyncio.get_running_loop().call_later(_GOODBYE_S, transport.abort)
        transport.set_protocol(self)
        transport.write(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n")
        transport.write_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._before.connection_lost(exc)


def notice_the_gone(listener: socket.socket) -> None:
    """Have the system find clients that vanished without a word, on each connection of a listener.

    A connection whose other end has lost its power or its network looks open for a quarter of an hour while something is written to it, and for
    ever while nothing is. Silence is asked about after half a minute; what nobody has confirmed for a minute ends the connection.
    """
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _SILENCE_S),
        ("TCP_KEEPINTVL", (_GONE_S - _SILENCE_S) // _PROBES),
        ("TCP_KEEPCNT", _PROBES),
        ("TCP_USER_TIMEOUT", _GONE_S * 1000),
    ):
        if hasattr(socket, name):  # not on every system
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class _Arrival:
    """What has come of a request on one connection: its head is bounded in bytes and in time, the rest of a body that nobody reads in time."""

    def __init__(self, idle: Idle, transport: asyncio.Transport, arrival_s: float) -> None:
        self._idle, self._transport, self._arrival_s = idle, transport, arrival_s
        self._head_bytes = 0
        self._is_in_body = self._is_answering = False
        self._timer: asyncio.TimerHandle | None = None
        idle.add(transport)
        self._close_in(arrival_s)

    def came(self, size: int) -> None:
        """So many bytes came, of what is not known yet."""
        if not self._is_in_body:
            self._head_bytes += size
            if not self._is_answering:  # else the answer that is on its way goes first
                self._close_in(self._arrival_s)

    def check(self) -> None:
        """What came was read."""
        if not self._is_in_body and self._head_bytes > _MAX_HEAD_BYTES:
            self._transport.close()

    def head_came(self) -> None:
        """A head is whole; what follows is its body, and the request is answered."""
        self._is_in_body = self._is_answering = True
        self._head_bytes = 0
        self._close_not()
        self._idle.discard(self._transport)

    def body_came(self) -> None:
        """The body is whole."""
        self._is_in_body = False
        self._close_not()

    def answered(self, *, has_more: bool) -> None:
        """An answer is whole; the next may be due at once, for a request that came before."""
        self._is_answering = has_more
        if self._is_in_body:
            self._close_in(_LINGER_S)  # uvicorn's own time for idle connections begins anew with each byte
        if not has_more:
            self._idle.add(self._transport)

    def over(self) -> None:
        """The connection is closed."""
        self._idle.discard(self._transport)
        self._close_not()

    def _close_in(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._transport.close)

    def _close_not(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def protocol(idle: Idle, arrival_s: float) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol, with the bounds that it lacks, and with a way to cut a connection whose client takes nothing (`ABORT`).

    Args:
        idle: the connections that are idle, of all that this protocol will have.
        arrival_s: how long the head of a request may take.

    Raises:
        ImportError: the extra is not installed, or without its parser.
    """
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Fast  # noqa: PLC0415 - an extra

    class Bounded(Fast):
        """Tells what comes to what bounds it."""

        _arrival: _Arrival

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's own type is as narrow
            super().connection_made(transport)
            self._arrival = _Arrival(idle, transport, arrival_s)
            if len(self.connections) > idle.max_open:
                idle.make_room(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            self._arrival.over()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._arrival.came(len(data))
            super().data_received(data)
            self._arrival.check()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.scope["extensions"] = cast("Any", {ABORT: self.transport.abort})  # uvicorn types the standard ones alone

        def on_headers_complete(self) -> None:
            self._arrival.head_came()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._arrival.body_came()
            super().on_message_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._arrival.answered(has_more=not self.cycle.response_complete)

    return Bounded
