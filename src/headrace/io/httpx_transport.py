"""The transport over the network: httpx2's connection pool, read as bytes come, with our limits and our errors.

The rule of this file: it decides nothing about an answer. It turns every failure into one of the three transport errors, with the
cause behind it and without secrets, and lets cancellation through.

It stands on what httpx2 itself stands on (h11 and httpcore2), below its client, on purpose: the client keeps cookies (one caller's would go
along with another's request), logs whole URLs, adds headers, and costs time on each request and each read. URLs, certificates, compressed
bodies and the ways through a proxy are httpx2's and httpcore2's.
"""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self, cast
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import httpcore2
import httpx2

from headrace.errors import ConfigError, ConnectFailedError, ConnectionLostError, StateError, TransportError
from headrace.io.exchange import Connection, Incoming, Outgoing, PouringBody
from headrace.io.http11 import Http11Connection
from headrace.io.pool import Pool
from headrace.io.proxies import by_proxy, proxy_of_environment
from headrace.io.redact import cut, redact, redact_url, secrets_of
from headrace.io.transport import DEFAULT_TIMEOUTS, HTTPRequest, Timeouts, pulled
from headrace.io.watchdog import Watchdog, timeout_error

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?|")  # RFC 9110, section 5.5, without obs-text
_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection"})
_DEFAULT_HEADERS = (("accept", "*/*"), ("accept-encoding", "identity"), ("user-agent", "headrace"))
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)
"""What the pool raises; its errors have no common base."""
_BROKEN = (*_FAILURES, httpx2.DecodingError, OSError)

# A model may think for minutes while nothing flows; NATs forget such connections unless the kernel says now and then that we are here.
_KEEPALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
    (socket.IPPROTO_TCP, int(getattr(socket, name)), value)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 30), ("TCP_KEEPCNT", 4))
    if hasattr(socket, name)  # each system has its own choice of them
]


class HttpTransport:
    """Sends requests over HTTP/1.1 from a pool of connections.

    Nothing is opened before the first request. It may be used from several event loops, which share no connections.

    Args:
        proxy: the URL of a proxy for everything; without it `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say, loopback
            addresses excepted. An empty string means none.
        verify: whether certificates are checked; a path to a file or folder of authorities; or a context of one's own.
        max_connections: how many may be open to one place at once.
        keepalive_s: how long an unused connection is kept.
    """

    def __init__(
        self,
        *,
        proxy: str | None = None,
        verify: bool | str | Path | ssl.SSLContext = True,
        max_connections: int = 1000,
        keepalive_s: float = 60.0,
    ) -> None:
        """Check the settings; open nothing."""
        if proxy and not re.match(r"(?:https?|socks5h?)://", proxy):
            raise ConfigError("the proxy must be a URL that begins with http://, https:// or socks5://", argument="proxy")
        if isinstance(verify, (str, Path)) and not Path(verify).exists():
            raise ConfigError(f"verify names {str(verify)!r}, which does not exist", argument="verify")
        self._proxy = proxy
        self._verify = verify
        self._max_connections = max_connections
        self._keepalive_s = keepalive_s
        self._tls: ssl.SSLContext | None = None
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Pool]] = WeakKeyDictionary()
        self._is_closed = False
        self._checked: tuple[object, list[tuple[bytes, bytes]]] = (None, [])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close this event loop's connections; the transport cannot be used afterwards."""
        self._is_closed = True
        for pool in self._pools.pop(asyncio.get_running_loop(), {}).values():
            await pool.aclose()

    def stream(self, request: HTTPRequest, *, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> _Exchange:
        """Send a request; see `Transport.stream`."""
        return _Exchange(self, request, timeouts)

    async def _send(self, request: HTTPRequest, watchdog: Watchdog, what: str, timeouts: Timeouts) -> HttpResponse:
        """Send a request and wait for the status of its answer; `what` names it in errors."""
        if self._is_closed:
            raise StateError("this transport is closed")
        outgoing = self._outgoing(request, timeouts)
        watchdog.begin()
        pool = self._pool_for(_checked_url(request.url))
        connection: Connection | None = None
        try:
            connection = await pool.take(timeouts.connect_s)
            incoming = await connection.ask(outgoing)
        except BaseException as error:
            if connection is not None:
                await pool.give_back(connection)
            if isinstance(error, asyncio.CancelledError) and (late := watchdog.ended_by(error)) is not None:
                raise late from error
            if isinstance(error, (*_FAILURES, OSError)):
                raise _open_error(what, error, request, timeouts) from error
            raise
        watchdog.answered()
        return HttpResponse(incoming, watchdog, what, request, lambda: pool.give_back(connection))

    def _outgoing(self, request: HTTPRequest, timeouts: Timeouts) -> Outgoing:
        """Return a request as a connection takes it; what cannot be sent is refused here."""
        url = _checked_url(request.url)
        key = (request.url, tuple(request.headers))
        known, headers = self._checked
        if known != key:  # requests that follow each other mostly differ in their bodies alone
            headers = _checked_headers(key[1], url)
            self._checked = (key, headers)
        if request.body or request.method not in _BODILESS:
            headers = [*headers, (b"content-length", b"%d" % len(request.body))]
        return Outgoing(request.method, _target(request.url), headers, request.body, timeouts.connect_s)

    def _pool_for(self, url: httpx2.URL) -> Pool:
        proxy = (self._proxy or None) if self._proxy is not None else proxy_of_environment(url)
        pools = self._pools.setdefault(asyncio.get_running_loop(), {})
        key = f"{proxy} {url.scheme}://{url.host}:{url.port}"
        if key not in pools:
            pools[key] = Pool(self._maker(_target(str(url)).origin, proxy), max_connections=self._max_connections)
        return pools[key]

    def _maker(self, origin: httpcore2.Origin, proxy: str | None) -> Callable[[], Connection]:
        """Return what makes connections to a place."""
        # Certificates take 30 ms to load, so a way that is plain throughout goes without them.
        is_tls = origin.scheme == b"https" or (proxy or "").startswith("https:")
        context = self._tls_context() if is_tls else None
        if proxy is not None:
            return by_proxy(proxy, origin, context, keepalive_s=self._keepalive_s, socket_options=_KEEPALIVE)
        return lambda: Http11Connection(origin, ssl_context=context, keepalive_s=self._keepalive_s, socket_options=_KEEPALIVE)

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            verify = self._verify
            if isinstance(verify, (str, Path)):
                path = Path(verify)
                try:
                    self._tls = ssl.create_default_context(capath=path) if path.is_dir() else ssl.create_default_context(cafile=path)
                except ssl.SSLError as error:
                    raise ConfigError(f"{str(verify)!r} holds no certificates in PEM form: {error}", argument="verify") from error
            else:
                self._tls = httpx2.create_ssl_context(verify=verify)
        return self._tls


class _Exchange:
    """A request and its answer: sent when the block begins, let go of when it ends."""

    def __init__(self, transport: HttpTransport, request: HTTPRequest, timeouts: Timeouts) -> None:
        self._transport, self._request, self._timeouts = transport, request, timeouts
        self._response: HttpResponse | None = None

    async def __aenter__(self) -> HttpResponse:
        request = self._request
        what = _name_of(request.method, request.url)
        watchdog = Watchdog(self._timeouts, what)
        try:
            self._response = await self._transport._send(request, watchdog, what, self._timeouts)
        except BaseException:
            watchdog.stop()
            raise
        return self._response

    async def __aexit__(self, *exc_info: object) -> None:
        if self._response is not None:
            await self._response.aclose()


class HttpResponse:
    """An answer on its way over HTTP; see `Response`."""

    def __init__(
        self, incoming: Incoming, watchdog: Watchdog, what: str, request: HTTPRequest, give_back: Callable[[], Awaitable[None]]
    ) -> None:
        """Wrap the answer of a connection, to be given back; `what` names the request, whose secrets are kept out of errors."""
        self._give_back: Callable[[], Awaitable[None]] | None = give_back
        self._incoming = incoming
        self._watchdog = watchdog
        self._what = what
        self._request = request
        self._body: AsyncGenerator[bytes] | None = None
        headers = _headers_of(incoming.headers)
        # We ask for no compression; a gateway that compresses all the same is understood.
        self._is_plain = headers.get("content-encoding", "identity").strip().lower() in {"identity", ""}
        if not self._is_plain:
            headers = {name: value for name, value in headers.items() if name not in {"content-encoding", "content-length"}}
        self._headers: Mapping[str, str] = headers

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._incoming.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case; repeated ones are joined with a comma.

        They describe the bytes that `chunks` gives: if those were decompressed, encoding and length are left out.
        """
        return self._headers

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; see `Response.chunks`."""
        if self._body is not None:
            raise StateError("the body of an answer can be read once")
        self._body = cast("AsyncGenerator[bytes]", aiter(self._incoming.body)) if self._is_plain else _unpacked(self._incoming)
        return _Chunks(self._body, self._watchdog, self)

    async def aclose(self) -> None:
        """Close the answer, and unless its body was read to the end, its connection."""
        self._watchdog.stop()
        try:
            await self._incoming.body.aclose()
        finally:
            give_back, self._give_back = self._give_back, None
            if give_back is not None:
                await give_back()
        # The generator below is left standing at a yield: it is closed here, not by whoever collects garbage. If another task waits in
        # it, that task's read fails now and ends it.
        if self._body is not None and not self._watchdog.is_waiting:
            await self._body.aclose()

    def lost(self, error: Exception) -> TransportError:
        """The error for a body that broke off."""
        chunks = self._watchdog.chunks
        reason = _reason(error, secrets_of(self._request.url, self._request.headers))
        return ConnectionLostError(f"{self._what}: the connection broke after {chunks} chunks of the answer: {reason}")


class _Chunks:
    """The reads of one body. No generator: nothing is left to clean up when a reader stops early."""

    def __init__(self, body: AsyncIterator[bytes], watchdog: Watchdog, response: HttpResponse) -> None:
        self._body = body
        self._next = body.__anext__
        self._watchdog = watchdog
        self._response = response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        watchdog = self._watchdog
        while True:
            watchdog.begin()
            try:
                chunk = await self._next()
            except BaseException as error:
                if (failure := self._failure_of(error)) is None:
                    raise
                raise failure from error
            watchdog.got_chunk()
            if chunk:
                return chunk

    async def flow(self, take: Callable[[bytes], bool]) -> bool:
        """Hand on the pieces; see `headrace.io.transport.flow`."""
        if not isinstance(self._body, PouringBody):
            return await pulled(self, take)
        watchdog = self._watchdog

        def came(chunk: bytes) -> bool:
            watchdog.got_more()
            return take(chunk)

        watchdog.begin()
        try:
            may_go_on = await self._body.pour(came)
        except BaseException as error:
            if (failure := self._failure_of(error)) is None:
                raise
            raise failure from error
        watchdog.is_waiting = False
        return may_go_on

    def _failure_of(self, error: BaseException) -> TransportError | None:
        """The wait ended by an exception: the error to raise in its place, or None."""
        late = self._watchdog.ended_by(error)
        if isinstance(error, StopAsyncIteration):
            self._watchdog.stop()
        return self._response.lost(error) if isinstance(error, _BROKEN) else late


@lru_cache(maxsize=256)
def _name_of(method: str, url: str) -> str:
    """Name a request in errors, without secrets."""
    return f"{method} {redact_url(url)}"


@lru_cache(maxsize=256)
def _checked_url(text: str) -> httpx2.URL:
    """Return an address as httpx2's; what cannot be asked is refused."""
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise ConfigError(f"{redact_url(text)!r} is no URL: {_reason(error, ())}", argument="url") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"the URL must begin with http:// or https:// and name a host, not {redact_url(text)!r}", argument="url")
    return url


@lru_cache(maxsize=256)
def _target(text: str) -> httpcore2.URL:
    """Return an address as httpcore2's."""
    url = _checked_url(text)
    return httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


def _headers_of(raw: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers with their names in lower case; repeated ones are joined with a comma."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


async def _unpacked(incoming: Incoming) -> AsyncGenerator[bytes]:
    """Give the body of an answer that came compressed."""

    class Packed(httpx2.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return aiter(incoming.body)

    async for piece in httpx2.Response(incoming.status, headers=incoming.headers, stream=Packed()).aiter_bytes():
        yield piece


def _checked_headers(given: tuple[tuple[str, str], ...], url: httpx2.URL) -> list[tuple[bytes, bytes]]:
    """Return headers as they are written, with those that every request has; what cannot be sent is refused by name and never by value."""
    headers: list[tuple[str, str]] = []
    for name, value in given:
        if not _TOKEN.fullmatch(name) or name.lower() in _FRAMING:
            raise ConfigError(f"the header {name!r} cannot be set", argument=name)
        if not _VALUE.fullmatch(value):
            hint = "it has a line end, a space at an end, or a character outside ASCII"
            raise ConfigError(f"the value of the header {name!r} cannot be sent: {hint}", argument=name)
        headers.append((name, value))
    names = {name.lower() for name, _ in headers}
    headers += [(name, value) for name, value in _DEFAULT_HEADERS if name not in names]
    if url.userinfo and "authorization" not in names:
        user, _, password = url.userinfo.decode().partition(":")
        token = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
        headers.append(("authorization", f"Basic {token}"))
    host = url.netloc.rpartition(b"@")[2]
    return [(b"host", host), *((name.encode("ascii"), value.encode("ascii")) for name, value in headers)]


def _open_error(what: str, error: Exception, request: HTTPRequest, timeouts: Timeouts) -> TransportError:
    """Our error for a failure before the status came."""
    if isinstance(error, (httpcore2.ConnectTimeout, httpcore2.PoolTimeout)):
        return timeout_error(what, "connect", timeouts.connect_s or 0.0)
    reason = _reason(error, secrets_of(request.url, request.headers))
    if isinstance(error, (httpcore2.ConnectError, httpcore2.ProxyError)):
        return ConnectFailedError(f"{what}: no connection: {reason}")
    return ConnectionLostError(f"{what}: the connection broke before the answer: {reason}")


def _reason(error: Exception, secrets: tuple[str, ...]) -> str:
    """What an error says, or its class's name where it says nothing."""
    return cut(redact(str(error), secrets), 300) or type(error).__name__
