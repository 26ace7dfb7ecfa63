"""A real HTTP/1.1 server on loopback that sends what a test scripts: pieces, pauses, stalls, resets.

    async with scripted_server([Reply([b"data: 1\n\n", Hold(event), b"data: 2\n\n", Reset()])]) as server:
        ... server.url, server.requests, await server.replies[0].left.wait()

Requests get the replies in order, whatever the connection. Every piece of bytes is one HTTP chunk, written and flushed by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Hold:
    """Send nothing until the event is set."""

    event: asyncio.Event


@dataclass(frozen=True)
class Pause:
    """Send nothing for some seconds. Only where time itself is tested; else use `Hold`."""

    seconds: float


@dataclass(frozen=True)
class Stall:
    """Send nothing more, and keep the connection until the client leaves."""


@dataclass(frozen=True)
class Reset:
    """Break the connection with a TCP reset."""


@dataclass(frozen=True)
class Close:
    """Close the connection here, without what would end the body properly."""


Step = bytes | Hold | Pause | Stall | Reset | Close


@dataclass
class Reply:
    """One answer.

    Attributes:
        steps: what happens, in order.
        status: the HTTP status.
        headers: more headers; `content-type` is an event stream's unless given.
        framing: `chunked`, `length` (the sum of the steps' bytes, or `length`), or `close` (the body ends with the connection).
        length: the Content-Length to claim.
        before_headers: steps before the status line is sent.
        asked: set when its request came.
        left: set when the client left before the script ended.
        done: set when the script ended or was ended.
    """

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    framing: Literal["chunked", "length", "close"] = "chunked"
    length: int | None = None
    before_headers: Sequence[Step] = ()
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Scripted"]
        if not any(name.lower() == "content-type" for name, _ in self.headers):
            lines.append("content-type: text/event-stream")
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.framing == "chunked":
            lines.append("transfer-encoding: chunked")
        elif self.framing == "length":
            length = self.length if self.length is not None else sum(len(step) for step in self.steps if isinstance(step, bytes))
            lines.append(f"content-length: {length}")
        else:
            lines.append("connection: close")
        return "\r\n".join([*lines, "", ""]).encode()


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int


class _LeftError(Exception):
    """The client left, or the script ended the connection."""


@dataclass
class ScriptedServer:
    """The running server."""

    url: str
    replies: Sequence[Reply]
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    _tasks: set[asyncio.Task] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.current_task())
        self.connections += 1
        number = self.connections
        early = b""
        try:
            while (request := await _read_request(reader, early, number)) is not None:
                position = len(self.requests)
                self.requests.append(request)
                reply = self.replies[position] if position < len(self.replies) else Reply([b"no reply is scripted"], status=599)
                early = await self._answer(reply, reader, writer)
        except (_LeftError, ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            # The test is over. Python 3.11 reports a cancelled connection task as an error of the loop.
            pass
        finally:
            self._tasks.discard(asyncio.current_task())
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """Play a reply; return the byte of a next request that was heard meanwhile."""
        reply.asked.set()
        script = asyncio.ensure_future(_play(reply, writer))
        # Only by reading can the client be heard leaving.
        ear = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({script, ear}, return_when=asyncio.FIRST_COMPLETED)
            if not script.done() and (ear.exception() is not None or not ear.result()):
                reply.left.set()
                raise _LeftError
            try:
                await script
            except ConnectionError:
                reply.left.set()
                raise
        finally:
            for task in (script, ear):
                task.cancel()
            await asyncio.gather(script, ear, return_exceptions=True)
            reply.done.set()
        return b"" if ear.cancelled() else ear.result()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def scripted_server(replies: Sequence[Reply | Sequence[Step]]) -> AsyncIterator[ScriptedServer]:
    """Serve the replies on a free port of 127.0.0.1; a plain list of steps is a chunked event stream with status 200."""
    scripted = ScriptedServer("", [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies])
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield scripted
    finally:
        server.close()
        await scripted.close()
        await server.wait_closed()


def free_port() -> int:
    """A port of 127.0.0.1 where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def _read_request(reader: asyncio.StreamReader, early: bytes, connection: int) -> Received | None:
    try:
        head = early + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body, connection)


async def _play(reply: Reply, writer: asyncio.StreamWriter) -> None:
    for step in reply.before_headers:
        await _step(step, "close", writer)
    writer.write(reply.head())
    await writer.drain()
    for step in reply.steps:
        await _step(step, reply.framing, writer)
    if reply.framing == "chunked":
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    elif reply.framing == "close" or reply.length is not None:
        raise _LeftError


async def _step(step: Step, framing: str, writer: asyncio.StreamWriter) -> None:
    match step:
        case bytes():
            writer.write(b"%x\r\n%b\r\n" % (len(step), step) if framing == "chunked" else step)
            await writer.drain()
        case Hold(event):
            await event.wait()
        case Pause(seconds):
            await asyncio.sleep(seconds)
        case Stall():
            await asyncio.Event().wait()
        case Reset():
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            raise _LeftError
        case Close():
            raise _LeftError
