"""An ASGI application, served by uvicorn at one address until its block is left.

The rule of this file: it opens and closes and knows no application. Signals are for whoever runs it, and what stands before a body is bounded
in bytes and in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from headrace.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    import uvicorn

ABORT: Final = "headrace.abort"
"""The ASGI extension by which a connection is cut at once: a function of nothing."""
_MAX_HEAD_BYTES: Final = 64 * 1024
_MAX_IDLE: Final = 1000
"""So many connections more than requests may be open; one past them gets a 503 at once."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What clients may do to a server.

    Attributes:
        max_requests: how many requests are on their way at once.
        arrival_s: how long the head of a request may take.
        shutdown_s: how long requests may still take when the server ends.
    """

    max_requests: int
    arrival_s: float
    shutdown_s: float


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
    return listener


def _server(app: Any, bounds: Bounds, started: asyncio.Event, over: asyncio.Event, *, feature: str) -> uvicorn.Server:
    try:
        import uvicorn  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("server", feature=feature, module="uvicorn") from error

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
            http=_protocol(bounds.arrival_s),
            ws="none",
            lifespan="off",
            loop="none",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=bounds.max_requests + _MAX_IDLE,
            timeout_graceful_shutdown=max(1, int(bounds.shutdown_s)),
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
        )
    )


def _protocol(arrival_s: float) -> Any:  # noqa: C901 - most of it is a class, whose methods are counted as branches
    """Return uvicorn's fast protocol, with a bound on what stands before a body, which it lacks; else its plain one, which has one.

    The fast one also gives applications a way to cut a connection whose client takes nothing (`ABORT`).
    """
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: PLC0415 - an extra
    except ImportError:
        return "h11"

    class Bounded(HttpToolsProtocol):
        """Bounds a head in bytes and in time."""

        _head_bytes = 0
        _is_in_body = False
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's own type is as narrow
            super().connection_made(transport)
            self._await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_came()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if not self._is_in_body:
                self._head_bytes += len(data)
                self._await_head()
            super().data_received(data)
            if not self._is_in_body and self._head_bytes > _MAX_HEAD_BYTES:
                self.transport.close()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.scope["extensions"] = cast("Any", {ABORT: self.transport.abort})  # uvicorn types the standard ones alone

        def on_headers_complete(self) -> None:
            self._is_in_body, self._head_bytes = True, 0
            self._head_came()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._is_in_body = False
            super().on_message_complete()

        def _await_head(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(arrival_s, self.transport.close)

        def _head_came(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Bounded
