"""An answer that is made of a whole leg of a run, for clients that want no stream.

The rule of this file: it reads as any reader does, and is counted as one; if the server ends before the leg does, the client is told to come
again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from headrace.server.app.asks import Ask
from headrace.server.app.routing import Whole
from headrace.server.app.streams import Streams, leaving, left
from headrace.server.asgi import ClientLeftError, Headers
from headrace.server.caller import Caller
from headrace.sessions.records import Entry


class Gathered:
    """An answer that comes whole when a leg of a run has ended."""

    def __init__(
        self,
        streams: Streams,
        route: str,
        entries: AsyncGenerator[Entry],
        take: Callable[[Entry], bool],
        answer: Callable[[], Whole],
        *,
        on_left: Callable[[], object] | None = None,
    ) -> None:
        """Hold what is to be read.

        Args:
            streams: counts it.
            route: the name of its route.
            entries: the log.
            take: takes an entry; returns whether it was the last one.
            answer: makes the answer then.
            on_left: what is done if the client leaves before; may be async.
        """
        self._streams, self._route, self._entries = streams, route, entries
        self._take, self._answer, self._on_left = take, answer, on_left

    async def send(self, ask: Ask, headers: Headers) -> int:
        """Send it; see `Answer`."""
        limits = self._streams.limits
        caller = Caller(ask.receive, ask.send, headers, keep_alive_s=limits.keep_alive_s, stall_s=limits.stall_s)
        with self._streams.entered(ask.key, self._route):
            try:
                async with caller, contextlib.aclosing(self._entries):
                    await self._read()
                    caller.is_over = True
            except ClientLeftError:
                await left(self._on_left)
                raise
        return await self._answer().send(ask, headers)

    async def _read(self) -> None:
        try:
            async for entry in self._entries:
                if self._take(entry):
                    return
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._streams.is_leaving and task is not None and task.uncancel() == 0:
                raise leaving() from None
            raise
