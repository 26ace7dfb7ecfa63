"""The two protocols of web pages: AG-UI, and the UI message stream of the chat SDKs.

The rule of this file: a client that leaves stops nothing. In both protocols a page that is reloaded in mid-answer leaves the same trace as
one that is closed, and both have a way to come back: `Last-Event-ID` with the same run id here, the chat's own stream there. What is to stop
is told so: `POST /runs/{id}/interrupt`, or `POST /api/chat/{id}/stop`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from headrace.messages.message import SystemMessage
from headrace.server.app.asks import Ask, checked_id, whole_number
from headrace.server.app.desk import Desk
from headrace.server.app.faults import FaultError
from headrace.server.app.legs import Leg, Legs, SurfaceVoice
from headrace.server.app.routing import Answer, Whole
from headrace.server.app.streams import Stream
from headrace.server.asgi import Headers
from headrace.surfaces.agui import answers_in as agui_answers
from headrace.surfaces.agui import request_in as agui
from headrace.surfaces.agui.events_out import AguiOut
from headrace.surfaces.surface import Surface
from headrace.surfaces.vercel import request_in as vercel
from headrace.surfaces.vercel.chunks_out import VercelOut


class ChatsAPI:
    """The handlers of the protocols of pages."""

    def __init__(self, desk: Desk, *, secret: bytes | None) -> None:
        """Take what they work with, and what signs questions."""
        self._desk = desk
        self._legs = Legs(desk)
        self._secret = secret

    async def agui(self, ask: Ask) -> Answer:
        """Begin a run, or go on with one, in AG-UI."""
        request = agui.read_request(ask.body)
        thread_id, run_id = checked_id(request.thread_id, "threadId"), checked_id(request.run_id, "runId")
        header = ask.headers.get("last-event-id")
        seen = whole_number(header, "Last-Event-ID") if header else 0
        history, new = request.split
        self._desk.streams.check(ask.key)
        named = {entry.interrupt_id for entry in request.resume}
        if not new:  # else the results are old ones
            named |= {result.call_key for result in request.results}
        leg = await self._legs.back(ask, thread_id, named) if header else None
        leg = leg or await self._legs.begun(
            ask,
            thread_id,
            history=history,
            new=new,
            replies=partial(agui_answers.read_answers, request),
            run_id=run_id,
            context=(SystemMessage(request.context_text),) if request.context_text else (),
            tools=request.tools,
        )
        surface = AguiOut(
            thread_id,
            request.run_id,
            parent_run_id=request.parent_run_id,
            client_version=request.protocol_version,
            messages=request.forms,
            frontend_tools=[tool.name for tool in request.tools] or None,
        )
        return await self._told("agui", leg, surface, seen=seen)

    async def chat(self, ask: Ask) -> Answer:
        """Begin a run, or go on with one, in the UI message stream."""
        surface, request = self._vercel(ask), vercel.read_request(ask.body)
        chat_id = checked_id(request.chat_id, "id")
        history, new = request.split
        self._desk.streams.check(ask.key)
        leg = await self._legs.begun(
            ask,
            chat_id,
            history=history,
            new=new,
            replies=lambda pending: vercel.read_answers(request, pending, secret=self._secret),
        )
        return await self._told("chat", leg, surface)

    async def chat_stream(self, ask: Ask) -> Answer:
        """Give the answer of a chat that is on its way, from its start; nothing if none is."""
        surface = self._vercel(ask)
        record = await self._legs.latest(ask, checked_id(ask.params["chat_id"], "chat_id"))
        if record is None or record.status not in ("queued", "running"):
            return Whole(status=204)
        self._desk.streams.check(ask.key)
        return await self._told("chat_stream", await self._legs.last(record), surface)

    async def chat_stop(self, ask: Ask) -> Answer:
        """End the answer of a chat that is on its way."""
        record = await self._legs.latest(ask, checked_id(ask.params["chat_id"], "chat_id"))
        if record is None:
            raise FaultError("not_found", "there is no run of this chat")
        await self._desk.runs.interrupt(record.id)
        return Whole(status=204)

    def _vercel(self, ask: Ask) -> VercelOut:
        return VercelOut(secret=self._secret, sdk=6 if ask.words("sdk", ("6", "7")) == ("6",) else 7)

    async def _told(self, route: str, leg: Leg, surface: Surface[Any], *, seen: int | None = None) -> Answer:
        await self._legs.recalled(leg, surface)
        headers: Headers = (*surface.headers.items(), ("x-headrace-run-id", _printable(leg.run.id)))
        voice = SurfaceVoice(surface, seen=seen)
        return Stream(self._desk.streams, route, self._legs.read(leg), voice, headers=headers, prelude=b": hello\n\n")


def _printable(run_id: str) -> str:
    return "".join(one if 32 < ord(one) < 127 else "_" for one in run_id)
