"""An ASGI application, served by uvicorn at one address until its block is left.

The rule of this file: it opens and closes and knows no application. Signals are for whoever runs it, and what stands before a body is bounded
in bytes and in time (`connections`).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.errors import ConfigError, MissingExtraError
from headrace.server.connections import Idle, notice_the_gone, protocol
from headrace.server.files import max_files

if TYPE_CHECKING:
    import uvicorn


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What clients may do to a server.

    Attributes:
        max_requests: how many requests are on their way at once.
        arrival_s: how long the head of a request may take.
        shutdown_s: how long requests may still take when the server ends.
        max_idle: how many connections more than requests may be open.
    """

    max_requests: int
    arrival_s: float
    shutdown_s: float
    max_idle: int = 1000


@contextlib.asynccontextmanager
async def listening(
    app: Any, host: str, port: int, bounds: Bounds, *, feature: str, leave: Callable[[], object] = lambda: None
) -> AsyncGenerator[str]:
    """Serve an application while the block runs, and give its address.

    Args:
        app: the application.
        host: the address to listen at.
        port: where; 0: any free port.
        bounds: what clients may do.
        feature: what needs the extra, for the error that says so.
        leave: called when the block is left, before the server ends.

    Raises:
        ConfigError: nobody can listen there.
        MissingExtraError: the extra `server` is not installed.
    """
    started, over = asyncio.Event(), asyncio.Event()
    server = _server(app, bounds, started, over, feature=feature)
    listener = listen(host, port)
    task = asyncio.create_task(server.serve([listener]))
    try:
        first = asyncio.create_task(started.wait())
        await asyncio.wait({task, first}, return_when=asyncio.FIRST_COMPLETED)
        first.cancel()
        if task.done():
            await task
        own_host, own_port = listener.getsockname()[:2]
        yield f"http://{f'[{own_host}]' if ':' in own_host else own_host}:{own_port}"
    finally:
        leave()
        over.set()
        await task


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises:
        ConfigError: nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(f"cannot listen at {host}:{port}: {error.strerror or error}", argument="port") from error
    # Connections have it from here: asyncio sets it only for sockets that were made by their protocol's number. Without it a piece waits until
    # the client's system has said that it has the one before, which takes 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    notice_the_gone(listener)
    return listener


def max_open(bounds: Bounds) -> int:
    """Return how many connections may be open: what the bounds say, but no more than half of the files that this process may open.

    The other half is for what requests need in their turn: a connection to a model, a database.
    """
    wanted, files = bounds.max_requests + bounds.max_idle, max_files()
    return wanted if files is None else max(1, min(wanted, files // 2))


def _server(app: Any, bounds: Bounds, started: asyncio.Event, over: asyncio.Event, *, feature: str) -> uvicorn.Server:
    try:
        import uvicorn  # noqa: PLC0415 - an extra

        http = protocol(Idle(max_open(bounds)), bounds.arrival_s)
    except ImportError as error:
        raise MissingExtraError("server", feature=feature, module="uvicorn (with httptools)") from error

    class Quiet(uvicorn.Server):
        """Says when it has begun, ends when it is told to, and leaves signals to whoever runs it."""

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

        async def main_loop(self) -> None:
            await over.wait()  # instead of looking ten times a second

    return Quiet(
        uvicorn.Config(
            app,
            http=http,
            ws="none",
            lifespan="off",
            loop="none",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=max(1, int(bounds.shutdown_s)),
        )
    )
