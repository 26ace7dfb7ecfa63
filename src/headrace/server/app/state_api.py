"""What the server says of itself: what it serves, whether it is well, what it counts.

The rule of this file: no secret and no instructions of the agent; what costs the store something is asked at most once in some seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from headrace._json import dumps
from headrace.errors import StoreError
from headrace.server.app.asks import Ask
from headrace.server.app.desk import Desk
from headrace.server.app.routing import Answer, Whole
from headrace.server.prometheus import MEDIA_TYPE
from headrace.sessions.records import LIVE
from headrace.tools.tool import Tool

_COUNT_EVERY_S: Final = 5.0
_MOST: Final = 10_000
_HEALTH_S: Final = 5.0


class StateAPI:
    """The handlers of `/api/info`, `/healthz` and `/metrics`."""

    def __init__(
        self,
        desk: Desk,
        *,
        name: str,
        version: str,
        has_keys: bool,
        is_durable: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what they work with, and what is said."""
        self._desk = desk
        self._name, self._version, self._has_keys, self._is_durable = name, version, has_keys, is_durable
        self._clock = clock
        self._counted_s: float | None = None
        self._counts: dict[str, int] = {}

    async def info(self, ask: Ask) -> Answer:  # noqa: ARG002 - every handler gets it
        """Say which agent is served."""
        agent = self._desk.runs.agent
        form = {
            "version": self._version,
            "agent": {
                "name": self._name,
                "model": agent.model.id,
                "instructions": agent._setup.instructions is not None,
                "tools": [_tool_form(tool) for tool in agent.tools],
            },
            "auth": self._has_keys,
            "durable": self._is_durable,
        }
        return Whole(dumps(form))

    async def health(self, ask: Ask) -> Answer:  # noqa: ARG002
        """Say whether runs can be begun: the store answers, and the server does not end."""
        status = "ok"
        if self._desk.streams.is_leaving:
            status = "leaving"
        else:
            try:
                async with asyncio.timeout(_HEALTH_S):
                    await self._desk.store.workers()
            except (StoreError, TimeoutError):
                status = "store_unreachable"
        return Whole(dumps({"status": status}), 200 if status == "ok" else 503)

    async def metrics(self, ask: Ask) -> Answer:  # noqa: ARG002
        """Give the counts."""
        return Whole(self._desk.metrics.text(await self._runs()), media_type=MEDIA_TYPE)

    async def _runs(self) -> dict[str, int] | None:
        now_s = self._clock()
        if self._counted_s is None or now_s - self._counted_s >= _COUNT_EVERY_S:
            try:
                self._counts = {status: len(await self._desk.store.runs(statuses=(status,), limit=_MOST)) for status in LIVE}
            except StoreError:
                return None
            self._counted_s = now_s
        return self._counts


def _tool_form(tool: Tool[..., Any]) -> dict[str, Any]:
    options = tool.options
    return {
        "name": tool.name,
        "description": tool.description,
        "needs_approval": options.needs_approval is not False,
        "external": options.external,
        "idempotent": options.idempotent,
    }
