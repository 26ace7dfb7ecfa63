"""The pool's connections on asyncio's own transports: what comes is kept as it comes, and a read that finds something waits for nothing.

The rule of this file: bytes and no protocol. It does what the pool's usual backend does, with the same errors; a read there costs a cancel scope,
two changes of the selector and a turn of the loop, which is more than all the rest of a chunk's way.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import httpcore2

_HIGH_BYTES: Final = 256 * 1024
"""So much may lie here unread; then nothing more is taken from the network, so that a slow reader slows its peer."""
_HELD_BYTES: Final = 16 * 1024
"""What is shorter waits for what follows it: more to write, or a read."""
_ADDRESS_DELAY_S: Final = 0.25  # RFC 8305, section 5
_READ_BYTES: Final = 64 * 1024


class Backend(httpcore2.AsyncNetworkBackend):
    """Opens connections; see `httpcore2.AsyncNetworkBackend`."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the pool's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> Stream:
        """Open a connection; of several addresses the first that answers."""
        async with _within(timeout, httpcore2.ConnectTimeout, httpcore2.ConnectError):
            transport, pipe = await _connect(host, port, None if local_address is None else (local_address, 0))
        stream = Stream(transport, pipe)
        sock = transport.get_extra_info("socket")
        for option in socket_options or ():
            sock.setsockopt(*option)
        return stream

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


async def _connect(host: str, port: int, local: tuple[str, int] | None) -> tuple[asyncio.Transport, _Pipe]:
    """Connect to the first address of a host that answers, the next one tried when the last one fails or is slow (RFC 8305).

    asyncio's own race loses a connection that is made while the caller is cancelled.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = _in_turn([(family, str(address[0])) for family, _, _, _, address in found])
    if len(addresses) == 1:
        return await loop.create_connection(_Pipe, addresses[0][1], port, family=addresses[0][0], local_addr=local)
    tries: set[asyncio.Task[tuple[asyncio.Transport, _Pipe]]] = set()
    errors: list[BaseException] = []
    try:
        for n, (family, address) in enumerate(addresses, start=1):
            tries.add(asyncio.create_task(loop.create_connection(_Pipe, address, port, family=family, local_addr=local)))
            wait_s = _ADDRESS_DELAY_S if n < len(addresses) else None
            while tries:
                done, _ = await asyncio.wait(tries, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    if (error := one.exception()) is None:
                        tries.discard(one)
                        return one.result()
                    errors.append(error)
                tries -= done
                if wait_s is not None:
                    break
        raise OSError("; ".join(dict.fromkeys(map(str, errors))) or f"{host} has no address")
    finally:
        for one in tries:
            one.cancel()
        for late in await asyncio.gather(*tries, return_exceptions=True):
            if not isinstance(late, BaseException):
                late[0].abort()


def _in_turn(addresses: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return addresses, each once, those of different families in turn, the first one's family first."""
    known = list(dict.fromkeys(addresses))
    first = [one for one in known if one[0] == known[0][0]]
    others = [one for one in known if one[0] != known[0][0]]
    pairs = [one for pair in zip(first, others, strict=False) for one in pair]
    return [*pairs, *first[len(others) :], *others[len(first) :]]


class Stream(httpcore2.AsyncNetworkStream):
    """One connection; see `httpcore2.AsyncNetworkStream`."""

    def __init__(self, transport: asyncio.Transport, pipe: _Pipe) -> None:
        """Take a connection over."""
        self._transport = transport
        self._pipe = pipe
        self._held = b""  # the head of a request waits for its body: together they are one call of the system, and one packet

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Return what came, as soon as something did."""
        pipe = self._pipe
        if self._held:
            self._transport.write(self._held)
            self._held = b""
        if pipe.is_empty:
            if timeout is None:
                await pipe.wait()
            else:
                async with _within(timeout, httpcore2.ReadTimeout, httpcore2.ReadError):
                    await pipe.wait()
        return pipe.take(max_bytes)

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """Hand on what comes, when it comes: `take` is called by the event loop itself, and no task wakes for it.

        Args:
            take: returns whether it goes on; it must not wait. What it raises is raised here.

        Returns:
            False at the end of the connection, True if `take` wanted no more.

        Raises:
            ReadError: the connection broke.
        """
        return await self._pipe.pour(take)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Send bytes; few of them may wait for those that follow."""
        if not buffer:
            return
        pipe = self._pipe
        if pipe.is_lost:
            raise httpcore2.WriteError(str(pipe.error or "the connection is closed"))
        if not self._held and len(buffer) < _HELD_BYTES:
            self._held = buffer
            return
        self._transport.write(self._held + buffer if self._held else buffer)
        self._held = b""
        if pipe.is_full:
            async with _within(timeout, httpcore2.WriteTimeout, httpcore2.WriteError):
                await pipe.wait_for_room()

    async def aclose(self) -> None:
        """Close the connection."""
        self._transport.close()
        await asyncio.sleep(0)
        self._transport.abort()  # what a peer does not take, or a goodbye that it does not answer, is not waited for

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> Stream:
        """Speak TLS from here on."""
        loop = asyncio.get_running_loop()
        try:
            async with _within(timeout, httpcore2.ConnectTimeout, httpcore2.ConnectError):
                transport = await loop.start_tls(self._transport, self._pipe, ssl_context, server_hostname=server_hostname)
        except BaseException:
            self._transport.abort()
            raise
        if transport is None:
            raise httpcore2.ConnectError("the connection closed during the TLS handshake")
        self._pipe.connection_made(transport)
        return Stream(transport, self._pipe)

    def get_extra_info(self, info: str) -> Any:
        """Return a fact of the connection."""
        match info:
            case "client_addr":
                return self._transport.get_extra_info("sockname")
            case "server_addr":
                return self._transport.get_extra_info("peername")
            case "is_readable":  # of a connection that nobody uses: its end, or something that nobody asked for
                return self._pipe.is_lost or not self._pipe.is_empty or self._transport.is_closing()
            case _:
                return self._transport.get_extra_info(info)


class _Pipe(asyncio.Protocol):
    """Keeps what comes until it is read.

    Attributes:
        is_empty: a read would have to wait.
        is_lost: the connection has ended.
        is_full: what was written has not left; more has to wait.
        error: why it ended, if it broke.
    """

    def __init__(self) -> None:
        self.is_empty = True
        self.is_lost = False
        self.is_full = False
        self.error: Exception | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_ended = False
        self._is_paused = False
        self._reader: asyncio.Future[None] | None = None
        self._pours_into: Callable[[bytes], bool] | None = None
        self._writer: asyncio.Future[None] | None = None

    # ------------------------------------------------------------------------------------------ what the loop says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        take = self._pours_into
        if take is not None:
            try:
                if take(data):
                    return
            except Exception as error:  # noqa: BLE001 - it is raised where the pouring is awaited
                if self._reader is not None and not self._reader.done():
                    self._reader.set_exception(error)
            self._pours_into = None
            self._end_wait()
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _HIGH_BYTES and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._is_ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = self._is_ended = True
        self.error = exc
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)

    def _wake(self) -> None:
        self.is_empty = False
        self._end_wait()

    def _end_wait(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    # ------------------------------------------------------------------------------------------ what the pool asks

    async def wait(self) -> None:
        """Wait until something came, or the end."""
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """See `Stream.pour`."""
        while True:
            while self._pieces:
                if not take(self.take(_READ_BYTES)):
                    return True
            if self._is_ended:
                return bool(self.take(_READ_BYTES))  # raises, if it broke
            self._pours_into = take
            try:
                await self.wait()
                if self._pours_into is None:
                    return True
            finally:
                self._pours_into = None

    async def wait_for_room(self) -> None:
        """Wait until what was written has left."""
        while self.is_full:
            self._writer = asyncio.get_running_loop().create_future()
            try:
                await self._writer
            finally:
                self._writer = None
        if self.is_lost:
            raise ConnectionResetError(str(self.error or "the connection is closed"))

    def take(self, max_bytes: int) -> bytes:
        """Return what came, at most so much; nothing at the end.

        Raises:
            ReadError: the connection broke.
        """
        pieces = self._pieces
        if not pieces:
            if self.error is not None:
                raise httpcore2.ReadError(str(self.error)) from self.error
            return b""
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        if len(data) > max_bytes:
            pieces.append(data[max_bytes:])
            data = data[:max_bytes]
        self._size -= len(data)
        self.is_empty = not pieces and not self._is_ended
        if self._is_paused and self._size < _HIGH_BYTES and self._transport is not None:
            self._is_paused = False
            if not self.is_lost:
                self._transport.resume_reading()
        return data


@asynccontextmanager
async def _within(seconds: float | None, late: type[Exception], broken: type[Exception]) -> AsyncGenerator[None]:
    """Bound a block in time; its errors become the pool's.

    Raises:
        late: it took too long.
        broken: the connection failed.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:  # among them those of TLS and of names
        raise broken(str(error)) from error
