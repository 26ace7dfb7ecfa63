"""One connection that speaks HTTP/1.1: a request, its answer, and then the next request.

The rule of this file: h11 says what the bytes mean, the stream below carries them, and nothing is decided here but whether the connection can be
used again. A body in chunks, as streams are, goes past h11, which takes several times as long for it as all the rest of a read. It does what httpcore2's own does, with the same errors, for a peer that is asked directly; through a proxy httpcore2's are used. Those serve several kinds of event loops and several protocols, which costs more than a request's whole way through h11.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, Final, Literal, Self, TypeAlias, cast

import h11
import httpcore2

from headrace.io.chunked import ChunkedBody
from headrace.io.exchange import Body, Incoming, Outgoing
from headrace.io.network import Backend, Stream

_READ_BYTES: Final = 64 * 1024
_MAX_HEAD_BYTES: Final = 100 * 1024
_State: TypeAlias = Literal["new", "active", "idle", "closed"]


class Http11Connection:
    """A connection to one place, opened by its first request; one request at a time."""

    def __init__(
        self,
        origin: httpcore2.Origin,
        *,
        ssl_context: ssl.SSLContext | None,
        keepalive_s: float,
        socket_options: Iterable[Any] = (),
    ) -> None:
        """Open nothing yet.

        Args:
            origin: the place.
            ssl_context: for TLS; None speaks plainly.
            keepalive_s: how long it may stay unused.
            socket_options: for its socket.
        """
        self._origin = origin
        self._ssl_context = ssl_context
        self._keepalive_s = keepalive_s
        self._socket_options = socket_options
        self._h11 = _new_h11()
        self._stream: Stream | None = None
        self._state: _State = "new"
        self._unused_until_s = inf

    def is_idle(self) -> bool:
        """Whether the last answer was read to its end, and another request may follow."""
        return self._state == "idle"

    def has_expired(self) -> bool:
        """Whether it was unused for too long, or its peer has closed it or says what nobody asked for."""
        return time.monotonic() > self._unused_until_s or (
            self._state == "idle" and self._stream is not None and bool(self._stream.get_extra_info("is_readable"))
        )

    async def ask(self, request: Outgoing) -> Incoming:
        """Send a request and return its answer, with a body that is still to be read and closed.

        Raises:
            ConnectError, ConnectTimeout: there is no connection.
            ReadError, LocalProtocolError, RemoteProtocolError: it broke, or somebody broke the protocol; it is closed.
        """
        self._state, self._unused_until_s = "active", inf
        try:
            if self._stream is None:
                self._stream = await self._connect(request.connect_s)
            with contextlib.suppress(httpcore2.WriteError):  # a server may refuse what it has not read to its end, and say why
                await self._stream.write(self._written(request))
            answer = await self._answer()
        except BaseException:
            await self.aclose()
            raise
        body: Body = _ChunkedBody(self) if _is_chunked(request, answer) else _Body(self)
        return Incoming(answer.status_code, answer.headers.raw_items(), body)

    async def _connect(self, limit_s: float | None) -> Stream:
        host = self._origin.host.decode("ascii")
        stream = await Backend().connect_tcp(host, self._origin.port, limit_s, None, self._socket_options)
        if self._ssl_context is None:
            return stream
        self._ssl_context.set_alpn_protocols(["http/1.1"])
        return await stream.start_tls(self._ssl_context, host, limit_s)

    def _written(self, request: Outgoing) -> bytes:
        send = self._h11.send
        try:
            head = send(h11.Request(method=request.method, target=request.url.target, headers=request.headers))
            return b"".join((head, send(h11.Data(data=request.body)), send(h11.EndOfMessage())))
        except h11.LocalProtocolError as error:
            raise httpcore2.LocalProtocolError(str(error)) from error

    async def _answer(self) -> h11.Response:
        while True:
            event = await self.next_event()
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise httpcore2.RemoteProtocolError("the peer changed to another protocol")

    async def next_event(self) -> h11.Event | type[h11.PAUSED]:
        """Return what the peer says next."""
        assert self._stream is not None
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise httpcore2.RemoteProtocolError(str(error)) from error
            if event is not h11.NEED_DATA:
                return cast("h11.Event | type[h11.PAUSED]", event)
            data = await self._stream.read(_READ_BYTES)
            if not data and self._h11.their_state is h11.SEND_RESPONSE:
                raise httpcore2.RemoteProtocolError("the peer closed the connection without an answer")
            self._h11.receive_data(data)

    @property
    def begun(self) -> bytes:
        """What came behind the head together with it."""
        return self._h11.trailing_data[0]

    async def read(self) -> bytes:
        """Return what comes past h11, which has read the head."""
        assert self._stream is not None
        return await self._stream.read(_READ_BYTES)

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """Hand on what comes past h11; see `Stream.pour`."""
        assert self._stream is not None
        return await self._stream.pour(take)

    async def answered(self) -> None:
        """The answer is not read any further: keep the connection if it was read to its end, else close it."""
        # What came behind the end of the answer nobody asked for: it must not become the next one's.
        await self.ended(is_whole=self._h11.their_state is h11.DONE and not self._h11.trailing_data[0])

    async def ended(self, *, is_whole: bool) -> None:
        """Keep the connection if the answer was whole and both ends want to, else close it."""
        if self._state == "active" and is_whole and self._h11.our_state is h11.DONE:
            self._h11 = _new_h11()  # the old one may hold a body that was read past it
            self._state, self._unused_until_s = "idle", time.monotonic() + self._keepalive_s
        else:
            await self.aclose()

    async def aclose(self) -> None:
        """Close it, whatever it does."""
        self._state = "closed"
        if self._stream is not None:
            await self._stream.aclose()


class _Body:
    """The body of one answer, as it comes. No generator: nothing is left to clean up when a reader stops early."""

    def __init__(self, connection: Http11Connection) -> None:
        self._connection = connection
        self._is_over = False
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._is_over:
            raise StopAsyncIteration
        try:
            event = await self._connection.next_event()
        except BaseException:
            await self.aclose()
            raise
        if isinstance(event, h11.Data):
            return bytes(event.data)
        self._is_over = True
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Let go of the connection, once: by the second time it may carry another answer."""
        if not self._is_closed:
            self._is_over = self._is_closed = True
            await self._connection.answered()


class _ChunkedBody:
    """The body of one answer in chunks, as it comes; see `_Body`."""

    def __init__(self, connection: Http11Connection) -> None:
        self._connection = connection
        self._begun = connection.begun
        self._frame = ChunkedBody()
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._frame.is_over or self._is_closed:
            raise StopAsyncIteration
        try:
            data, self._begun = self._begun or await self._connection.read(), b""
            return self._frame.feed(data) if data else self._frame.break_off()
        except BaseException:
            await self.aclose()
            raise

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """See `PouringBody`."""
        frame = self._frame

        def came(data: bytes) -> bool:
            body = frame.feed(data)
            return (not body or take(body)) and not frame.is_over

        if frame.is_over or self._is_closed:
            return False
        begun, self._begun = self._begun, b""
        try:
            if not (begun and not came(begun)) and not await self._connection.pour(came):
                frame.break_off()
        except BaseException:
            await self.aclose()
            raise
        return not frame.is_over

    async def aclose(self) -> None:
        """Let go of the connection, once."""
        if not self._is_closed:
            self._is_closed = True
            await self._connection.ended(is_whole=self._frame.is_over and not self._frame.has_more)


def _new_h11() -> h11.Connection:
    return h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)


def _is_chunked(request: Outgoing, answer: h11.Response) -> bool:
    """Whether a body comes in chunks, by RFC 9112, section 6.3; h11 has refused every other coding."""
    is_bodiless = request.method == "HEAD" or answer.status_code in (204, 304)
    return not is_bodiless and any(name == b"transfer-encoding" for name, _ in answer.headers)
