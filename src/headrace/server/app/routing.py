"""Where a path leads: a table of routes, and what handlers answer with.

The rule of this file: it knows no route; a path is cut at its slashes and compared piece by piece.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from headrace.server.app.asks import Ask
from headrace.server.app.faults import FaultError
from headrace.server.asgi import Headers, send_whole

BodyKind: TypeAlias = Literal["none", "json", "raw"]


class Answer(Protocol):
    """What a handler answers with."""

    async def send(self, ask: Ask, headers: Headers) -> int:
        """Send it, with these headers beside its own, and return the status."""
        ...


class Whole(msgspec.Struct, frozen=True):
    """An answer that is known before it is sent.

    Attributes:
        body: its body.
        status: the HTTP status.
        media_type: what the body is.
        headers: its own headers.
    """

    body: bytes = b""
    status: int = 200
    media_type: str = "application/json"
    headers: Headers = ()

    async def send(self, ask: Ask, headers: Headers) -> int:
        """Send it; see `Answer`."""
        if self.status in (204, 304):
            raw = [(name.encode(), value.encode("latin-1")) for name, value in (*self.headers, *headers)]
            await ask.send({"type": "http.response.start", "status": self.status, "headers": raw})
            await ask.send({"type": "http.response.body", "body": b""})
        else:
            await send_whole(ask.send, self.status, self.body, media_type=self.media_type, headers=(*self.headers, *headers))
        return self.status


Handler: TypeAlias = Callable[[Ask], Awaitable[Answer]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A place where requests come.

    Attributes:
        name: its name, in the counts and in the document of the API.
        method: the HTTP method.
        path: the path; `{name}` stands for one piece of it, `{name:path}` for the rest.
        handle: what answers.
        body: what a request's body is.
        max_body_bytes: how large it may be; None: as everywhere.
        is_public: whether it is answered without a key.
        is_basic: whether a key may come as the password of HTTP's own login, for what a browser opens as a page.
        wraps: how a fault is told, for a protocol that has a form of its own; None: in ours.
        policy: the content security policy of its answers; None: that of answers which are no pages.
    """

    name: str
    method: str
    path: str
    handle: Handler
    body: BodyKind = "none"
    max_body_bytes: int | None = None
    is_public: bool = False
    is_basic: bool = False
    wraps: Callable[[FaultError], bytes] | None = None
    policy: str | None = None

    def match(self, pieces: Sequence[str]) -> dict[str, str] | None:
        """Return what a path names, or None if it does not lead here."""
        own = self.path.strip("/").split("/")
        found: dict[str, str] = {}
        for n, piece in enumerate(own):
            if piece.endswith(":path}"):
                found[piece[1:-6]] = "/".join(pieces[n:])
                return found if len(pieces) > n else None
            if n >= len(pieces):
                return None
            if piece.startswith("{"):
                if not pieces[n]:
                    return None
                found[piece[1:-1]] = pieces[n]
            elif piece != pieces[n]:
                return None
        return found if len(pieces) == len(own) else None


class Router:
    """Finds the route of a path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        """Take the routes; the first one that fits counts."""
        self.routes = tuple(routes)
        self._by_first: dict[str, list[Route]] = {}
        for route in self.routes:
            self._by_first.setdefault(route.path.strip("/").partition("/")[0], []).append(route)

    def find(self, method: str, pieces: Sequence[str]) -> tuple[Route | None, dict[str, str], tuple[str, ...]]:
        """Return the route, what the path names, and the methods that there are; without a route there may still be methods."""
        allowed: list[str] = []
        for route in self._by_first.get(pieces[0], ()):
            params = route.match(pieces)
            if params is None:
                continue
            if route.method == method or (method == "HEAD" and route.method == "GET" and route.is_public):
                return route, params, ()
            allowed.append(route.method)
            if route.method == "GET" and route.is_public:
                allowed.append("HEAD")
        return None, {}, tuple(dict.fromkeys(allowed))
