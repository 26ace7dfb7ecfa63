"""The gateway, served: by uvicorn, at this machine's own address unless told otherwise, until it is asked to end.

The rule of this file: it opens and closes; a gateway that other machines can reach without a key is not opened unless somebody says that this
is wanted. Open streams may end before it ends.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

from headrace.errors import ConfigError
from headrace.io.transport import Transport
from headrace.server.gateway.app import Gateway
from headrace.server.gateway.config import GatewayConfig
from headrace.server.hosts import is_loopback
from headrace.server.listening import Bounds, listening


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
    limits = config.limits
    bounds = Bounds(max_requests=limits.max_open, arrival_s=limits.arrival_s, shutdown_s=limits.shutdown_s)
    try:
        async with listening(gateway, config.host, config.port, bounds, feature="the gateway") as url:
            yield Served(gateway, url)
    finally:
        await gateway.aclose()
