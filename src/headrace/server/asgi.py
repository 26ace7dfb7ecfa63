"""The words of ASGI that the servers here use, and the two things that each of them does: read a body within a bound, send one whole.

The rule of this file: no decision about what is asked or answered.

Source: https://asgi.readthedocs.io/en/latest/specs/www.html.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

from headrace.errors import HeadraceError

Scope: TypeAlias = MutableMapping[str, Any]
ASGIMessage: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[ASGIMessage]]
Send: TypeAlias = Callable[[ASGIMessage], Awaitable[None]]
Headers: TypeAlias = tuple[tuple[str, str], ...]


class BodyTooLargeError(HeadraceError):
    """A client's body is larger than the bound."""


class ClientLeftError(HeadraceError):
    """The client has gone; nobody is there to be answered."""


def headers_of(scope: Scope) -> dict[str, str]:
    """Return a request's headers, names in lower case; of repeated ones the first."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1").strip())
    return headers


async def read_body(headers: dict[str, str], receive: Receive, max_bytes: int) -> bytes:
    """Read a request's body.

    Raises:
        BodyTooLargeError: it says that it is, or is, larger than `max_bytes`; no more than that was kept.
        ClientLeftError: the client left before it was whole.
    """
    claimed = headers.get("content-length", "0")
    if claimed.isdecimal() and int(claimed) > max_bytes:
        raise BodyTooLargeError(f"the body has {claimed} bytes; at most {max_bytes} are taken")
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError("the client left before its request was whole")
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > max_bytes:
            raise BodyTooLargeError(f"the body has more than {max_bytes} bytes; no more are taken")
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


async def send_start(send: Send, status: int, headers: Iterable[tuple[str, str]]) -> None:
    """Send the status and the headers; the names are in lower case."""
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def send_whole(send: Send, status: int, body: bytes, *, media_type: str = "application/json", headers: Headers = ()) -> None:
    """Send an answer whose body is known."""
    framing = (("content-type", media_type), ("content-length", str(len(body))))
    await send_start(send, status, (*framing, *headers))
    await send({"type": "http.response.body", "body": body})
