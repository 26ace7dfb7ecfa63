"""The gateway, served: by uvicorn, at this machine's own address unless told otherwise, until it is asked to end.

The rule of this file: it opens and closes; a gateway that other machines can reach without a key is not opened unless somebody says that this
is wanted. Open streams may end before it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import ConfigError, MissingExtraError
from headrace.io.transport import Transport
from headrace.server.gateway.app import Gateway
from headrace.server.gateway.config import GatewayConfig
from headrace.server.hosts import is_loopback

if TYPE_CHECKING:
    import uvicorn

_MAX_HEAD_BYTES: Final = 64 * 1024
_MAX_IDLE: Final = 1000
"""So many connections more than requests may be open; one past them gets a 503 at once."""


class Served:
    """A gateway that is being served.

    Attributes:
        gateway: the application.
        url: where it is.
    """

    def __init__(self, gateway: Gateway, url: str) -> None:
        """Hold what runs."""
        self.gateway = gateway
        self.url = url


def refuse_open_door(config: GatewayConfig, *, is_insecure: bool) -> None:
    """Refuse a gateway that everybody on the network could use with its upstreams' keys.

    Raises:
        ConfigError: it listens at more than this machine's own address, asks for no keys, and nobody said that this is wanted.
    """
    if not is_loopback(config.host) and not config.clients and not is_insecure:
        raise ConfigError(
            f"at {config.host} other machines can reach this gateway, and it asks nobody for a key: list [[clients]] in its config "
            "(`headrace gateway key` makes keys), or say --insecure",
            argument="host",
        )


@asynccontextmanager
async def serving(
    config: GatewayConfig,
    *,
    environ: Mapping[str, str] | None = None,
    transport: Transport | None = None,
    chance: Callable[[], float] = random.random,
) -> AsyncGenerator[Served]:
    """Serve a gateway while the block runs; leaving it ends the server, and open streams as `limits.shutdown_s` lets them.

    Args:
        config: what it is told; port 0 is any free one.
        environ: see `Gateway`.
        transport: see `Gateway`.
        chance: see `Gateway`.

    Raises:
        ConfigError: the config or the address does not do.
        MissingExtraError: the extra `server` is not installed.
    """
    gateway = Gateway(config, environ=environ, transport=transport, chance=chance)
    started, leaving = asyncio.Event(), asyncio.Event()
    server = _server(gateway, config, started, leaving)
    listener = listen(config)
    task = asyncio.create_task(server.serve([listener]))
    try:
        first = asyncio.create_task(started.wait())
        await asyncio.wait({task, first}, return_when=asyncio.FIRST_COMPLETED)
        first.cancel()
        if task.done():
            await task
        host, port = listener.getsockname()[:2]
        yield Served(gateway, f"http://{f'[{host}]' if ':' in host else host}:{port}")
    finally:
        leaving.set()
        await task
        await gateway.aclose()


def listen(config: GatewayConfig) -> socket.socket:
    """Return a socket at the address that the config says.

    Raises:
        ConfigError: nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listener = socket.create_server((config.host.strip("[]"), config.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(f"cannot listen at {config.host}:{config.port}: {error.strerror or error}", argument="port") from error
    # Connections have it from here: asyncio sets it only for sockets that were made by their protocol's number. Without it a chunk waits until
    # the client's system has said that it has the one before, which takes 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _server(gateway: Gateway, config: GatewayConfig, started: asyncio.Event, leaving: asyncio.Event) -> uvicorn.Server:
    try:
        import uvicorn  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("server", feature="the gateway", module="uvicorn") from error

    class Quiet(uvicorn.Server):
        """Says when it has begun, ends when it is told to, and leaves signals to whoever runs it."""

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

        async def main_loop(self) -> None:
            await leaving.wait()  # instead of looking ten times a second

    return Quiet(
        uvicorn.Config(
            gateway,
            http=_protocol(config.limits.arrival_s),
            ws="none",
            lifespan="off",
            loop="none",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=config.limits.max_open + _MAX_IDLE,
            timeout_graceful_shutdown=max(1, int(config.limits.shutdown_s)),
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
        )
    )


def _protocol(arrival_s: float) -> Any:  # noqa: C901 - most of it is a class, whose methods are counted as branches
    """Return uvicorn's fast protocol, with a bound on what stands before a body, which it lacks; else its plain one, which has one."""
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
