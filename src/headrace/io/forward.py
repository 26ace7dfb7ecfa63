"""Requests that came in at a server of ours, sent on to where they were meant for.

The rule of this file: a request is sent on as it came, its key included; only what belongs to the connection stays behind. Nothing is asked to be
compressed, so that what is recorded can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final

from headrace.io.http_server import NOT_FORWARDED, RefusedError
from headrace.io.transport import HTTPRequest, Response, Timeouts, Transport

# How long to wait is the client's business: when it leaves, so do we.
_TIMEOUTS: Final = Timeouts(connect_s=30.0, first_chunk_s=None, idle_s=None)
_OURS: Final = NOT_FORWARDED | {"host", "expect", "accept-encoding"}


class Forwarder:
    """Answers requests by asking another server.

    Args:
        transport: carries them.
        upstreams: for each beginning of a path, without a slash at its end, the address that stands in its place; "" takes every path.
    """

    def __init__(self, transport: Transport, upstreams: Mapping[str, str]) -> None:
        """Hold the routes, the longest first."""
        self._transport = transport
        self._upstreams = sorted(upstreams.items(), key=lambda pair: -len(pair[0]))

    def __call__(self, request: HTTPRequest) -> AbstractAsyncContextManager[Response]:
        """Send a request on.

        Raises:
            RefusedError: no upstream has this path.
        """
        path = request.url
        for prefix, upstream in self._upstreams:
            rest = path.removeprefix(prefix)
            if path.startswith(prefix) and rest[:1] in {"", "/", "?"}:
                headers = tuple((name, value) for name, value in request.headers if name.lower() not in _OURS)
                onward = HTTPRequest(request.method, upstream.rstrip("/") + rest, headers, request.body)
                return self._transport.stream(onward, timeouts=_TIMEOUTS)
        known = ", ".join(sorted(prefix for prefix, _ in self._upstreams))
        raise RefusedError(404, "no_upstream", f"no upstream is at {path.partition('?')[0]}; there are {known}")
