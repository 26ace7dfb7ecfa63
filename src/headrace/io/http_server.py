"""A small HTTP/1.1 server on asyncio: what the commands that record and replay stand on.

The rule of this file: it decides nothing about an answer. Bytes are written as they come, each read at once, none held back; a client that leaves
ends the work on its answer; an answer that breaks off breaks the connection, so that nobody takes a part for the whole. It is for one person's
own programs on the loopback interface: it checks the Host header, so that no web page can reach it by a name of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import Any, Final, NamedTuple, NoReturn

from headrace.errors import ConfigError, TransportError, UsageError
from headrace.io.transport import HTTPRequest, Response

Answer = Callable[[HTTPRequest], AbstractAsyncContextManager[Response]]
"""Answers a request whose URL is a path and query; raises `RefusedError` where there is nothing to answer with."""

MAX_HEAD: Final = 64 * 1024
MAX_BODY: Final = 64 * 1024 * 1024
_LOOPBACK: Final = re.compile(r"localhost|127(?:\.\d{1,3}){3}|::1")
_ANY_HOST: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared, not bound
NOT_FORWARDED: Final = frozenset(
    "connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade content-length set-cookie".split()
)
"""Headers of one connection, and those that do not survive being joined with a comma."""


class RefusedError(Exception):
    """There is no answer; the client gets a JSON error instead.

    Attributes:
        status: the HTTP status.
        code: the error's code, for programs.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        """Say why, in words for a person."""
        super().__init__(message)
        self.status = status
        self.code = code


class _Left(Exception):  # noqa: N818 - no error: the client has gone, or the connection is to end here
    """Nothing more is to be written to this connection."""


class _Head(NamedTuple):
    """The head of a request."""

    method: str
    target: str
    version: str
    headers: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


class Server:
    """A server that listens.

    Attributes:
        host: where it listens.
        port: the port, also where the system chose it.
    """

    def __init__(self, host: str, port: int, answer: Answer, *, is_reset: bool = False) -> None:
        """Hold what to answer with; `serving` listens."""
        self._is_reset = is_reset
        self.host = host
        self.port = port
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The address to reach it by, without a path."""
        host = "127.0.0.1" if self.host in _ANY_HOST else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection, in a task of its own."""
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        connection = _Connection(reader, writer)
        try:
            while await self._one(connection):
                pass
        except (_Left, OSError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def close(self) -> None:
        """End every connection."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _one(self, connection: _Connection) -> bool:
        """Answer one request; returns whether the connection may be used again."""
        try:
            head = await connection.head()
            if head is None:
                return False
            self._check_host(head)
            body = await connection.body(head)
        except RefusedError as refused:
            await connection.refuse(refused)
            return False
        request = HTTPRequest(head.method, head.target, head.headers, body)
        await connection.while_there(self._respond(connection, head, request))
        return head.version == "HTTP/1.1" and "close" not in (head.get("connection") or "").lower()

    async def _respond(self, connection: _Connection, head: _Head, request: HTTPRequest) -> None:
        has_begun = False
        try:
            async with self._answer(request) as response:
                has_begun = True
                await connection.send(head, response)
        except RefusedError as refused:
            await connection.refuse(refused)
        except (TransportError, UsageError) as error:
            if has_begun:
                connection.break_off(is_reset=self._is_reset)
            is_upstream = isinstance(error, TransportError)
            await connection.refuse(RefusedError(502 if is_upstream else 400, "bad_gateway" if is_upstream else "bad_request", str(error)))

    def _check_host(self, head: _Head) -> None:
        """A page on the web can let its own name lead to this machine, but then that name is in the header."""
        if self.host in _ANY_HOST:
            return
        named = re.fullmatch(r"\[?(.*?)\]?(?::\d+)?", head.get("host") or "")
        host = (named[1] if named else "").lower()
        if host != self.host.lower() and not _LOOPBACK.fullmatch(host):
            raise RefusedError(403, "wrong_host", f"this server answers for {self.host} and localhost, not for {host[:100]!r}")


@asynccontextmanager
async def serving(answer: Answer, *, host: str = "127.0.0.1", port: int = 0, is_reset: bool = False) -> AsyncGenerator[Server]:
    """Listen inside the block; leaving it ends every connection.

    Args:
        answer: gives the answers.
        host: where to listen.
        port: which port; 0 lets the system choose.
        is_reset: an answer that breaks off ends with a TCP reset, instead of an end without what has to be there.

    Raises:
        ConfigError: the address cannot be listened at.
    """
    server = Server(host, port, answer, is_reset=is_reset)
    try:
        listening = await asyncio.start_server(server.connected, host or None, port, limit=MAX_HEAD)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot listen at {host}:{port}: {error}", argument="port") from error
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.close()
        await listening.wait_closed()


class _Connection:
    """One connection's bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()
        self.is_framed = True  # the end of the answer at hand can be seen without the connection's
        # A piece is with the system before the next one is asked for: a connection that breaks takes none of them along.
        writer.transport.set_write_buffer_limits(0)

    async def head(self) -> _Head | None:
        """Read the head of the next request; None if the client has none."""
        try:
            data = await self._until(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        asked = re.fullmatch(r"([A-Z]+) (/\S*) (HTTP/1\.[01])", first)
        if asked is None or not all(re.match(r"[^\s:]+:", line) for line in lines):
            raise RefusedError(400, "bad_request", "this is no HTTP/1.1 request")
        headers = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
        return _Head(asked[1], asked[2], asked[3], headers)

    async def body(self, head: _Head) -> bytes:
        """Read the body of a request."""
        if (head.get("expect") or "").lower() == "100-continue":
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            if "chunked" in (head.get("transfer-encoding") or "").lower():
                return await self._chunked()
            length = head.get("content-length") or "0"
            if not re.fullmatch(r"\d{1,12}", length):
                raise RefusedError(400, "bad_request", "the Content-Length is no number")
            if int(length) > MAX_BODY:
                raise RefusedError(413, "body_too_large", f"the body has more than {MAX_BODY} bytes")
            return await self._exactly(int(length))
        except asyncio.IncompleteReadError as error:
            raise _Left from error

    async def _chunked(self) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            line = (await self._until(b"\r\n")).partition(b";")[0].strip()
            if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", line):
                raise RefusedError(400, "bad_request", "the body is not chunked as it says")
            length = int(line, 16)
            size += length
            if size > MAX_BODY:
                raise RefusedError(413, "body_too_large", f"the body has more than {MAX_BODY} bytes")
            if not length:
                while (await self._until(b"\r\n")) != b"\r\n":
                    pass
                return b"".join(pieces)
            pieces.append(await self._exactly(length))
            await self._exactly(2)

    async def while_there(self, work: Coroutine[Any, Any, None]) -> None:
        """Await the work; end it if the client leaves before it is done."""
        task = asyncio.ensure_future(work)
        watch = asyncio.ensure_future(self._gone())
        try:
            await asyncio.wait((task, watch), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise _Left
            task.result()
        finally:
            for one in (task, watch):
                one.cancel()
            await asyncio.gather(task, watch, return_exceptions=True)

    async def _gone(self) -> None:
        """Return when the client has left; what it sends ahead meanwhile is kept for its next request."""
        while len(self._buffer) <= MAX_HEAD:
            if not await self._more():
                return
        await asyncio.Event().wait()  # so much is read for the next request; then the client has to wait

    async def _until(self, end: bytes) -> bytes:
        """Read up to this and with it."""
        seen = 0
        while (at := self._buffer.find(end, seen)) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise RefusedError(431, "head_too_large", "the head of the request is too large")
            seen = max(0, len(self._buffer) - len(end))
            if not await self._more():
                raise asyncio.IncompleteReadError(bytes(self._buffer), None)
        if at > MAX_HEAD:
            raise RefusedError(431, "head_too_large", "the head of the request is too large")
        return self._take(at + len(end))

    async def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not await self._more():
                raise asyncio.IncompleteReadError(bytes(self._buffer), size)
        return self._take(size)

    def _take(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _more(self) -> bool:
        data = await self._reader.read(64 * 1024)
        self._buffer += data
        return bool(data)

    async def send(self, head: _Head, response: Response) -> None:
        """Write an answer while it comes; if it ends before its time, so does the connection."""
        length = response.headers.get("content-length")
        is_bare = head.method == "HEAD" or response.status in {204, 304}
        self.is_framed = is_bare or length is not None or head.version == "HTTP/1.1"
        is_chunked = self.is_framed and not is_bare and length is None
        lines = [_status_line(response.status)]
        lines += [f"{name}: {value}" for name, value in response.headers.items() if name not in NOT_FORWARDED]
        lines += [f"content-length: {length}"] if length is not None else []
        lines += ["transfer-encoding: chunked"] if is_chunked else []
        await self._write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))
        sent = 0
        async for chunk in response.chunks():
            if not is_bare:
                sent += len(chunk)
                await self._write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if is_chunked else chunk)
        if is_chunked:
            await self._write(b"0\r\n\r\n")
        elif not self.is_framed or (not is_bare and str(sent) != length):
            raise _Left

    async def refuse(self, refused: RefusedError) -> None:
        """Write an error, and end the connection."""
        said = {"error": {"message": str(refused), "type": "headrace", "code": refused.code}}
        body = json.dumps(said).encode()
        lines = [_status_line(refused.status), "content-type: application/json", f"content-length: {len(body)}", "connection: close"]
        await self._write("\r\n".join([*lines, "", ""]).encode() + body)
        raise _Left

    def break_off(self, *, is_reset: bool) -> NoReturn:
        """End the connection so that the client sees that the answer is not whole."""
        if is_reset or not self.is_framed:
            socket_of: socket.socket = self._writer.get_extra_info("socket")
            socket_of.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()
        raise _Left

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


def _status_line(status: int) -> str:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    return f"HTTP/1.1 {status} {phrase}"
