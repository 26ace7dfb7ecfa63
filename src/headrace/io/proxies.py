"""Proxies: which one the environment names, and connections by way of one.

The rule of this file: what a proxy has to be told is httpcore2's business; here it is only asked for its connections.
"""

from __future__ import annotations

import importlib
import re
import ssl
from collections.abc import Callable, Iterable
from typing import Any, Final, cast
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from headrace.errors import ConfigError
from headrace.io.exchange import Body, Connection, Incoming, Outgoing
from headrace.io.network import Backend

_LOOPBACK: Final = re.compile(r"localhost|127\.[\d.]+|::1|\[::1\]")


def by_proxy(
    proxy: str, origin: httpcore2.Origin, ssl_context: ssl.SSLContext | None, *, keepalive_s: float, socket_options: Iterable[Any]
) -> Callable[[], Connection]:
    """Return what makes connections to a place by way of a proxy.

    Args:
        proxy: its URL.
        origin: the place.
        ssl_context: for the place and the proxy; None where neither has TLS.
        keepalive_s: how long a connection may stay unused.
        socket_options: for its socket.

    Raises:
        ConfigError: the proxy needs a package that is not there.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if ssl_context is None else ssl_context  # given none, a full one is loaded
    # httpcore2's pool knows how to make a connection by each kind of proxy; no request is ever given to it.
    maker = httpcore2.AsyncConnectionPool(
        ssl_context=context,
        proxy=_proxy(proxy, context),
        keepalive_expiry=keepalive_s,
        socket_options=socket_options,
        network_backend=Backend(),
    )
    return lambda: _ByProxy(maker.create_connection(origin))


class _ByProxy:
    """One of httpcore2's connections; see `Connection`."""

    def __init__(self, inner: httpcore2.AsyncConnectionInterface) -> None:
        self.is_idle = inner.is_idle
        self.has_expired = inner.has_expired
        self.aclose = inner.aclose
        self._inner = inner

    async def ask(self, request: Outgoing) -> Incoming:
        # Reading and writing have no limit of the connection's, which would be a timer for each.
        limits = {"connect": request.connect_s, "read": None, "write": None}
        response = await self._inner.handle_async_request(
            httpcore2.Request(request.method, request.url, headers=request.headers, content=request.body, extensions={"timeout": limits})
        )
        return Incoming(response.status, response.headers, cast("Body", response.stream))


def proxy_of_environment(url: httpx2.URL) -> str | None:
    """Return the URL of the proxy that the environment names for an address; loopback needs none."""
    if _LOOPBACK.fullmatch(url.host):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.netloc.decode()):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _proxy(text: str, context: ssl.SSLContext) -> httpcore2.Proxy:
    """Return a proxy as httpcore2's."""
    if text.startswith("socks"):
        try:
            importlib.import_module("socksio")
        except ImportError as error:
            raise ConfigError("a SOCKS proxy needs the package socksio: pip install socksio", argument="proxy") from error
    given = httpx2.Proxy(text)
    url = httpcore2.URL(scheme=given.url.raw_scheme, host=given.url.raw_host, port=given.url.port, target=given.url.raw_path)
    return httpcore2.Proxy(url, auth=given.raw_auth, headers=given.headers.raw, ssl_context=context if text.startswith("https:") else None)
