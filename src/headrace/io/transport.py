"""The seam between the library and the network: a request, its limits, and an answer that is read as it comes.

The rule of this file: bytes are handed on as they arrive, never joined, never held back and never cut into lines. Whoever
leaves an answer early closes its connection, so that the provider stops working on it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol, cast

import msgspec

from headrace.errors import ConfigError
from headrace.io.redact import redact_headers, redact_url


class HTTPRequest(msgspec.Struct, frozen=True):
    """One HTTP request, whole.

    Its `repr` shows no secrets, so it may stand in a log or a traceback.

    Attributes:
        method: for example `POST`.
        url: the absolute URL.
        headers: pairs of name and value, in order. `Host` and `Content-Length` come from the transport.
        body: the bytes to send.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def __repr__(self) -> str:
        headers = redact_headers(self.headers)
        return f"HTTPRequest({self.method} {redact_url(self.url)}, headers={headers!r}, body={len(self.body)} bytes)"


class Timeouts(msgspec.Struct, frozen=True):
    """How long to wait for a peer, in seconds; None means for ever.

    Attributes:
        connect_s: for a free connection, a name, a route and a TLS handshake, each.
        first_chunk_s: from the call until the first bytes of the body.
        idle_s: between two reads. Any bytes count, comments too.
        total_s: from the call until the end of the body, the reader's own time included.
    """

    connect_s: float | None = 10.0
    first_chunk_s: float | None = 300.0
    idle_s: float | None = 60.0
    total_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse a limit that nothing can keep."""
        for name in self.__struct_fields__:
            value: float | None = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"the timeout {name} must be more than 0 seconds, or None for no limit, not {value!r}", argument=name)


DEFAULT_TIMEOUTS = Timeouts()


class Response(Protocol):
    """An answer whose body is still on its way."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case; repeated ones are joined with a comma."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body in pieces as they arrive, none of them empty; may be asked for once.

        Raises:
            StreamTimeoutError: nothing came for too long.
            ConnectionLostError: the connection broke before the body was whole.
            StateError: the body was asked for a second time.
        """
        ...

    async def aclose(self) -> None:
        """Close the answer; unless its body was read to the end, its connection too. May be called again."""
        ...


class Flowing(Protocol):
    """The pieces of a body that can also be handed on by the event loop itself."""

    async def flow(self, take: Callable[[bytes], bool]) -> bool:
        """See `headrace.io.transport.flow`."""
        ...


async def flow(pieces: AsyncIterator[bytes], take: Callable[[bytes], bool]) -> bool:
    """Hand on what `Response.chunks` gives, each piece when it comes.

    Where the pieces can, the event loop itself does that, so that no task wakes for a piece. May be called again, and reading may go on in between.

    Args:
        pieces: what is left of the body.
        take: is given each piece, and returns whether it goes on; it must not wait. What it raises is raised here.

    Returns:
        False at the end of the body, True if `take` wanted no more.

    Raises:
        StreamTimeoutError, ConnectionLostError: as reading does.
    """
    own = getattr(pieces, "flow", None)
    return await (pulled(pieces, take) if own is None else cast("Flowing", pieces).flow(take))


async def pulled(pieces: AsyncIterator[bytes], take: Callable[[bytes], bool]) -> bool:
    """Do the same by reading."""
    async for piece in pieces:
        if not take(piece):
            return True
    return False


class Transport(Protocol):
    """What carries requests: the network, a recording, or both."""

    def stream(self, request: HTTPRequest, *, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> AbstractAsyncContextManager[Response]:
        """Send a request; inside the block the answer's status is known and its body can be read.

        An answer with an error status is an answer too; redirects are not followed, because keys would go along.

        Raises:
            ConnectFailedError: there is no connection.
            StreamTimeoutError: connecting or the answer took too long.
            ConnectionLostError: the connection broke.
            ConfigError: the URL or a header cannot be sent.
            StateError: the transport is closed.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open; the transport cannot be used afterwards."""
        ...


async def read_bounded(response: Response, limit: int = 1 << 20) -> bytes:
    """Read a body that should be small, such as an error's, and no more than `limit` bytes of it.

    What lies beyond the limit is neither kept nor waited for; leaving the answer's block then closes the connection.

    Raises:
        TransportError: as `Response.chunks`.
    """
    pieces: list[bytes] = []
    size = 0
    async for chunk in response.chunks():
        pieces.append(chunk)
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(pieces)[:limit]
