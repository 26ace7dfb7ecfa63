"""Where each protocol is served.

The rule of this file: a row for an address, and the only place where the gateway names a protocol; what a protocol is stands in
`wire/protocols.py`.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec


class Route(msgspec.Struct, frozen=True):
    """An address where requests of one protocol come.

    Attributes:
        path: the address; `{model}` stands for the model's name, which may hold slashes.
        protocol: the protocol's name.
        is_streamed: whether the address asks for a stream; None: the body says.
        events_if: what the query must hold for the stream to be events; else it is one array. "": it is events anyway.
    """

    path: str
    protocol: str
    is_streamed: bool | None = None
    events_if: str = ""

    def wants_array(self, query: str) -> bool:
        """Return whether a request with this query wants its stream as one array."""
        return bool(self.events_if) and self.events_if not in query.split("&")


class Found(msgspec.Struct, frozen=True):
    """A route that a path leads to, with the model that the path names, if it does."""

    route: Route
    model: str | None = None


ROUTES: Final = (
    Route("/v1/chat/completions", "openai-chat"),
    Route("/v1/responses", "openai-responses"),
    Route("/v1/messages", "anthropic-messages"),
    Route("/v1beta/models/{model}:generateContent", "gemini", is_streamed=False),
    Route("/v1beta/models/{model}:streamGenerateContent", "gemini", is_streamed=True, events_if="alt=sse"),
    Route("/v1/models/{model}:generateContent", "gemini", is_streamed=False),
    Route("/v1/models/{model}:streamGenerateContent", "gemini", is_streamed=True, events_if="alt=sse"),
)

_PLAIN: Final = {route.path: Found(route) for route in ROUTES if "{" not in route.path}
_PATTERNS: Final = tuple(
    (re.compile("(.+)".join(map(re.escape, route.path.split("{model}")))), route) for route in ROUTES if "{" in route.path
)


def find(path: str) -> Found | None:
    """Return where a path leads, or None; the path comes without percent signs, as ASGI has it."""
    plain = _PLAIN.get(path)
    if plain is not None:
        return plain
    for pattern, route in _PATTERNS:
        match = pattern.fullmatch(path)
        if match is not None:
            return Found(route, match[1])
    return None
