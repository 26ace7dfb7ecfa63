"""Runs over HTTP: begun, looked at, read live, answered, steered, interrupted, deleted.

The rule of this file: a handler reads what was asked, lets the runs do it, and shows the run as it stands then.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from headrace.agent.permission.judging import Mode
from headrace.errors import NotFoundError
from headrace.server.app.asks import Ask, checked_id, whole_number
from headrace.server.app.desk import Desk
from headrace.server.app.faults import no_run
from headrace.server.app.inputs import replies_of
from headrace.server.app.routing import Answer, Whole
from headrace.server.app.streams import LogVoice, Stream
from headrace.server.app.views import listed, run_view
from headrace.sessions.records import RunRecord

STATUSES: Final = ("queued", "running", "waiting", "ended")
RETRY_MS: Final = 1000
_PRELUDE: Final = b"retry: %d\n\n" % RETRY_MS

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class StartBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run is begun with: `input` is a text, a list of parts, or a list of messages."""

    input: str | list[dict[str, Any]]
    session_id: Id | None = None
    run_id: Id | None = None
    permissions: Mode | None = None


class ResumeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answers to what a run waits for."""

    answers: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1, max_length=1000)]


class SteerBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words for the model before its next call: a text, or a list of parts."""

    content: str | list[dict[str, Any]]


class RunsAPI:
    """The handlers of runs."""

    def __init__(self, desk: Desk) -> None:
        """Take what they work with."""
        self._desk = desk

    async def start(self, ask: Ask) -> Answer:
        """Begin a run."""
        body = ask.json(StartBody)
        run_id, session_id = (
            None if given is None else checked_id(given, name) for given, name in ((body.run_id, "run_id"), (body.session_id, "session_id"))
        )
        messages = self._desk.inputs.messages(body.input)
        record = await self._desk.start(ask, messages, run_id=run_id, session_id=session_id, permissions=body.permissions)
        return await self._shown(record, 202)

    async def list(self, ask: Ask) -> Answer:
        """List the client's runs, the newest first."""
        return await self.page(ask, ask.text("session_id"))

    async def page(self, ask: Ask, session_id: str | None) -> Answer:
        """List runs, perhaps of one conversation."""
        desk = self._desk
        statuses: Any = ask.words("status", STATUSES)
        limit = ask.number("limit", min(50, desk.limits.max_page), least=1, most=desk.limits.max_page)
        before = ask.text("before")
        if before is not None:
            await desk.run_of(ask, before)
        records = await desk.store.runs(user=ask.user, session_id=session_id, statuses=statuses, before=before, limit=limit)
        return Whole(listed("runs", [await run_view(desk.store, record, is_whole=False) for record in records]))

    async def show(self, ask: Ask) -> Answer:
        """Show a run."""
        return await self._shown(await self._run(ask))

    async def events(self, ask: Ask) -> Answer:
        """Give a run's events, then live."""
        after, follow = _after(ask), ask.flag("follow")
        record = await self._run(ask)
        self._desk.streams.check(ask.key)
        entries: Any = self._desk.runs.read(record.id, after, follow=follow)
        return Stream(self._desk.streams, "events", entries, LogVoice(), prelude=_PRELUDE)

    async def resume(self, ask: Ask) -> Answer:
        """Answer what a run waits for."""
        replies = replies_of(ask.json(ResumeBody).answers)
        return await self._shown(await self._desk.resume(ask, ask.params["run_id"], replies), 202)

    async def interrupt(self, ask: Ask) -> Answer:
        """End a run as soon as possible."""
        record = await self._run(ask)
        await self._desk.runs.interrupt(record.id)
        return await self._shown(await self._run(ask), 202)

    async def steer(self, ask: Ask) -> Answer:
        """Say something to a run."""
        record = await self._run(ask)
        words = self._desk.inputs.words(ask.json(SteerBody).content, "content")
        await self._desk.runs.steer(record.id, list(words.parts))
        return await self._shown(await self._run(ask), 202)

    async def delete(self, ask: Ask) -> Answer:
        """Delete a run."""
        record = await self._run(ask)
        try:
            await self._desk.runs.delete(record.id)
        except NotFoundError as error:
            raise no_run(record.id) from error
        return Whole(status=204)

    async def _run(self, ask: Ask) -> RunRecord:
        return await self._desk.run_of(ask, ask.params["run_id"])

    async def _shown(self, record: RunRecord, status: int = 200) -> Answer:
        return Whole(await run_view(self._desk.store, record), status)


def _after(ask: Ask) -> int:
    """Return the last event that a reader has: what it says in the query, or in the header by which browsers say it."""
    header = ask.headers.get("last-event-id")
    last = 0 if not header else whole_number(header, "Last-Event-ID")
    return ask.number("after", last)
