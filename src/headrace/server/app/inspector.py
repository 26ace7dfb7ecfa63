"""The inspector's page under `/inspect`; what it does is in `inspect/serve.py`.

The rule of this file: reading a capture is work, so it is done in a thread, one at a time; nothing is kept.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from headrace.inspect import serve
from headrace.server.app.asks import Ask
from headrace.server.app.faults import FaultError
from headrace.server.app.routing import Answer, Whole

POLICY: Final = "frame-ancestors 'none'"
"""Beside the policy that the page itself brings, which knows its scripts by their digests."""
_MAX_WAITING: Final = 8


class _Refused(msgspec.Struct):
    error: dict[str, str]


class Inspector:
    """The handlers of the inspector."""

    def __init__(self) -> None:
        """Have nothing to do."""
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def form(self, ask: Ask) -> Answer:
        """Give the page with the form."""
        return _whole(serve.form(f"{ask.scope.get('root_path', '')}/inspect"))

    async def report(self, ask: Ask) -> Answer:
        """Give the report on a capture."""
        query = {name: values[0] for name, values in ask.query.items()}
        if self._waiting >= _MAX_WAITING:
            raise FaultError("limit", "others wait for the inspector already", retry_after_s=2)
        self._waiting += 1
        try:
            async with self._turn:
                return _whole(await asyncio.to_thread(serve.report, ask.body, query))
        finally:
            self._waiting -= 1


def _whole(answer: serve.Answer) -> Whole:
    if answer.status >= 400:
        message = msgspec.json.decode(answer.body, type=_Refused).error["message"]
        raise FaultError("too_large" if answer.status == 413 else "usage", message)
    return Whole(answer.body, answer.status, answer.content_type, (("cache-control", "no-store"),))
