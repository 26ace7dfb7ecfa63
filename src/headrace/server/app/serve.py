"""The server, served: by uvicorn, at this machine's own address unless told otherwise, until it is asked to end.

The rule of this file: it opens and closes. When it ends, it takes no more requests, ends the streams (their readers come back to the next
process and miss nothing), and only then are the runs let go of.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from headrace.errors import ConfigError
from headrace.server.app.app import App
from headrace.server.hosts import is_loopback
from headrace.server.listening import Bounds, listening


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
    limits = app.desk.limits
    bounds = Bounds(max_requests=limits.max_requests, arrival_s=limits.arrival_s, shutdown_s=limits.shutdown_s)
    async with listening(app, host, port, bounds, feature="headrace serve", leave=app.leave) as url:
        yield url
