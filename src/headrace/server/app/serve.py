"""The server, served: by uvicorn, at this machine's own address unless told otherwise, until it is asked to end.

The rule of this file: it opens and closes. When it ends, it takes no more requests, ends the streams (their readers come back to the next
process and miss nothing), and only then are the runs let go of.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import ConfigError, MissingExtraError
from headrace.server.app.app import App
from headrace.server.app.streams import ABORT
from headrace.server.gateway.serve import _protocol as bounded_protocol
from headrace.server.hosts import is_loopback

if TYPE_CHECKING:
    import uvicorn

_MAX_HEAD_BYTES: Final = 64 * 1024
_MAX_IDLE: Final = 1000
"""So many connections more than requests may be open."""


def refuse_open_door(host: str, *, has_keys: bool, is_insecure: bool) -> None:
    """Refuse a server that everybody on the network could use.

    Raises:
        ConfigError: it listens at more than this machine's own address, asks for no keys, and nobody said that this is wanted.
    """
    if not is_loopback(host) and not has_keys and not is_insecure:
        raise ConfigError(
            f"at {host} other machines can reach this server, and it asks nobody for a key: give --keys FILE "
            "(`headrace keys new NAME --keys FILE` makes one), or say --insecure-no-keys",
            argument="host",
        )


@asynccontextmanager
async def serving(app: App, *, host: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[str]:
    """Serve an application while the block runs, and give its address.

    Args:
        app: the application; its runs are open before and closed after.
        host: the address to listen at.
        port: where; 0: any free port.

    Raises:
        ConfigError: nobody can listen there.
        MissingExtraError: the extra `server` is not installed.
    """
    started, over = asyncio.Event(), asyncio.Event()
    server = _server(app, started, over)
    listener = _listen(host, port)
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
        app.leave()
        over.set()
        await task


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(f"cannot listen at {host}:{port}: {error.strerror or error}", argument="port") from error
    # Connections have it from here: asyncio sets it only for sockets that were made by their protocol's number.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _server(app: App, started: asyncio.Event, over: asyncio.Event) -> uvicorn.Server:
    try:
        import uvicorn  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("server", feature="headrace serve", module="uvicorn") from error

    class Quiet(uvicorn.Server):
        """Says when it has begun, ends when it is told to, and leaves signals to whoever runs it."""

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

        async def main_loop(self) -> None:
            await over.wait()

    limits = app.desk.limits
    return Quiet(
        uvicorn.Config(
            app,
            http=_protocol(limits.arrival_s),
            ws="none",
            lifespan="off",
            loop="none",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=limits.max_requests + _MAX_IDLE,
            timeout_graceful_shutdown=max(1, int(limits.shutdown_s)),
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
        )
    )


def _protocol(arrival_s: float) -> Any:
    """Return uvicorn's fast protocol with bounds, and with a way to cut a connection whose client takes nothing."""
    bounded = bounded_protocol(arrival_s)
    if isinstance(bounded, str):
        return bounded
    begin: Callable[[Any], None] = bounded.on_message_begin

    def on_message_begin(self: Any) -> None:
        begin(self)
        self.scope["extensions"] = {ABORT: self.transport.abort}

    return type("Cutting", (bounded,), {"on_message_begin": on_message_begin})
