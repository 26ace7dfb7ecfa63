"""Conversations over HTTP: listed, read, named, copied, deleted.

The rule of this file: a conversation on which a run works is not deleted; a copy is one that every provider takes.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from headrace._json import check_text
from headrace.errors import ConflictError
from headrace.server.app.asks import Ask, checked_id
from headrace.server.app.desk import Desk
from headrace.server.app.faults import FaultError
from headrace.server.app.routing import Answer, Whole
from headrace.server.app.runs_api import Id, RunsAPI
from headrace.server.app.views import listed, session_view
from headrace.sessions.managing import fork
from headrace.sessions.records import SessionRecord

MAX_TITLE = 500


class TitleBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a conversation is about."""

    title: Annotated[str, msgspec.Meta(max_length=MAX_TITLE)]


class ForkBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a copy ends: after so many messages, or with the last one; and its id, or one that is made."""

    at: Annotated[int, msgspec.Meta(ge=0)] | None = None
    id: Id | None = None


class SessionsAPI:
    """The handlers of conversations."""

    def __init__(self, desk: Desk, runs: RunsAPI) -> None:
        """Take what they work with."""
        self._desk = desk
        self._runs = runs

    async def list(self, ask: Ask) -> Answer:
        """List the client's conversations, the last changed first."""
        desk = self._desk
        limit = ask.number("limit", min(50, desk.limits.max_page), least=1, most=desk.limits.max_page)
        before = ask.text("before")
        if before is not None:
            await desk.session_of(ask, before)
        records = await desk.store.sessions(user=ask.user, before=before, limit=limit)
        return Whole(listed("sessions", [session_view(record) for record in records]))

    async def show(self, ask: Ask) -> Answer:
        """Show a conversation."""
        return Whole(session_view(await self._session(ask)))

    async def messages(self, ask: Ask) -> Answer:
        """Give the messages of a conversation; `after` leaves out the first ones."""
        after, limit = ask.number("after", 0), ask.number("limit", 0, most=10_000)
        record = await self._session(ask)
        rows = await self._desk.store.messages(record.id, after, limit or None)
        return Whole(listed("messages", list(rows)))

    async def runs(self, ask: Ask) -> Answer:
        """List the runs of a conversation."""
        return await self._runs.page(ask, (await self._session(ask)).id)

    async def rename(self, ask: Ask) -> Answer:
        """Say what a conversation is about."""
        title = check_text(ask.json(TitleBody).title, "title")
        record = await self._session(ask)
        await self._desk.store.set_title(record.id, title)
        return Whole(session_view(await self._session(ask)))

    async def delete(self, ask: Ask) -> Answer:
        """Delete a conversation and its runs."""
        record = await self._session(ask)
        working = await self._desk.store.runs(session_id=record.id, statuses=("queued", "running"), limit=1)
        if working:
            raise FaultError("state", f"run {working[0].id} works on this session; interrupt it first")
        await self._desk.store.delete_session(record.id)
        return Whole(status=204)

    async def fork(self, ask: Ask) -> Answer:
        """Copy a conversation, or its beginning."""
        body = ask.json(ForkBody) if ask.body else ForkBody()
        record = await self._session(ask)
        new_id = self._desk.new_id() if body.id is None else checked_id(body.id, "id")
        try:
            made = await fork(self._desk.store, record.id, new_id, body.at)
        except ConflictError as error:
            raise FaultError("conflict", "the id of the session is taken; use another", argument="body.id") from error
        return Whole(session_view(made), 201)

    async def _session(self, ask: Ask) -> SessionRecord:
        return await self._desk.session_of(ask, ask.params["session_id"])
