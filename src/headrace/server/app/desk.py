"""What all handlers work with, and what several of them do: find a run or a conversation that is the client's own, begin a run within its budget.

The rule of this file: what is another user's is not there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from headrace.agent.approval import Reply
from headrace.agent.given import new_id as made_id
from headrace.agent.permission.judging import Mode
from headrace.errors import ConflictError, NotFoundError
from headrace.messages.message import Message
from headrace.server.app.asks import Ask
from headrace.server.app.budget import Budget, Rates
from headrace.server.app.faults import FaultError, no_run, no_session
from headrace.server.app.inputs import Inputs
from headrace.server.app.keys import Key
from headrace.server.app.limits import Limits
from headrace.server.app.metrics import Metrics
from headrace.server.app.streams import Streams
from headrace.sessions.front import Front
from headrace.sessions.records import RunRecord, SessionRecord
from headrace.sessions.request import Request
from headrace.sessions.store import Store
from headrace.tools.tool import Tool

LOG: Final = logging.getLogger("headrace.server")


class Desk:
    """What handlers share.

    Attributes:
        runs: works on the runs.
        limits: the bounds.
        metrics: what is counted.
        streams: those that are open.
        inputs: reads what clients say.
        budget, rates: what keys use.
    """

    def __init__(
        self,
        runs: Front,
        limits: Limits,
        *,
        new_id: Callable[[], str] = made_id,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Hold the runs and the bounds.

        Args:
            runs: works on the runs; it must be open while requests are answered.
            limits: the bounds.
            new_id: makes ids.
            now: the time, in UTC.
        """
        self.runs = runs
        self.limits = limits
        self.metrics = Metrics()
        self.streams = Streams(limits, self.metrics)
        self.new_id = new_id
        self.now = now
        self.inputs = Inputs(limits, new_id=new_id, now=now)
        self.budget = Budget(runs.store, now=now)
        self.rates = Rates()

    @property
    def store(self) -> Store:
        """Where runs and conversations are kept."""
        return self.runs.store

    @property
    def external_tools(self) -> frozenset[str]:
        """The names of the agent's own tools that somebody else runs."""
        return frozenset(tool.name for tool in self.runs.agent.tools if tool.options.external)

    async def run_of(self, ask: Ask, run_id: str) -> RunRecord:
        """Return a run of the client's.

        Raises:
            FaultError: there is none.
        """
        record = await self.run_or_none(ask, run_id)
        if record is None:
            raise no_run(run_id)
        return record

    async def run_or_none(self, ask: Ask, run_id: str) -> RunRecord | None:
        """Return a run of the client's, or None."""
        try:
            record = await self.store.run(run_id)
        except NotFoundError:
            return None
        return record if record.user == ask.user else None

    async def session_of(self, ask: Ask, session_id: str) -> SessionRecord:
        """Return a conversation of the client's.

        Raises:
            FaultError: there is none.
        """
        record = await self.session_or_none(ask.key, session_id)
        if record is None:
            raise no_session(session_id)
        return record

    async def session_or_none(self, key: Key, session_id: str) -> SessionRecord | None:
        """Return a conversation of the client's, or None if there is none of this id.

        Raises:
            FaultError: there is one, and it is another user's.
        """
        try:
            record = await self.store.session(session_id)
        except NotFoundError:
            return None
        if record.user != key.name:
            raise no_session(session_id)
        return record

    async def start(
        self,
        ask: Ask,
        messages: Sequence[Message],
        *,
        run_id: str | None = None,
        session_id: str | None = None,
        history: Iterable[Message] = (),
        permissions: Mode | None = None,
        tools: Iterable[Tool[..., Any]] = (),
    ) -> RunRecord:
        """Begin a run for a client, who may bring tools that it runs itself.

        Raises:
            FaultError: the key may not begin one now, or the conversation is another user's.
            HeadraceError: as `Runs.start`.
        """
        if self.streams.is_leaving:
            raise FaultError("unavailable", "the server is shutting down", retry_after_s=1)
        if run_id is not None:
            known = await self._begun_before(ask, run_id)
            if known is not None:
                return known
        if session_id is not None:
            try:
                await self.session_or_none(ask.key, session_id)
            except FaultError as error:
                raise FaultError("conflict", "the id of the session is taken; use another", argument="session_id") from error
        asked = partial(
            self.runs.start,
            messages,
            run_id=run_id,
            session_id=session_id,
            user=ask.user,
            history=history,
            permissions=permissions,
            tools=self._unknown(tools),
        )
        async with self.budget.within(ask.key):
            return await self._begin(ask, asked)

    def _unknown(self, tools: Iterable[Tool[..., Any]]) -> list[Tool[..., Any]]:
        """Return a client's tools without those that the agent knows for the client's; any other tool of that name makes the run refuse it."""
        known = self.external_tools
        return [tool for tool in tools if tool.name not in known]

    async def _begun_before(self, ask: Ask, run_id: str) -> RunRecord | None:
        try:
            record = await self.store.run(run_id)
        except NotFoundError:
            return None
        if record.user != ask.user:
            raise FaultError("conflict", "the id of the run is taken; use another", argument="run_id")
        return record

    async def _begin(self, ask: Ask, asked: Callable[[], Coroutine[Any, Any, RunRecord]]) -> RunRecord:
        try:  # what was begun is gone through with, also if the client leaves in the middle of it
            record = await asyncio.shield(asyncio.ensure_future(asked()))
        except ConflictError as error:
            raise FaultError("conflict", str(error)) from error
        self.metrics.begun.add(ask.key.name)
        return record

    async def resume(self, ask: Ask, run_id: str, replies: Sequence[Reply]) -> RunRecord:
        """Answer what a run of the client's waits for.

        Raises:
            FaultError: the key may not go on with one now, or there is no such run.
            HeadraceError: as `Runs.resume`.
        """
        record = await self.run_of(ask, run_id)
        if self.streams.is_leaving:
            raise FaultError("unavailable", "the server is shutting down", retry_after_s=1)
        if Request.decoded(record.request).agent != self.runs.name:
            raise FaultError("state", "the run is another agent's; it is answered where that one is served")
        async with self.budget.within(ask.key):
            record = await asyncio.shield(asyncio.ensure_future(self.runs.resume(run_id, replies)))
        self.metrics.resumed.add(ask.key.name)
        return record
