"""Chat Completions, and the list of models that its clients ask for first.

The rule of this file: a client that leaves ends its run. The protocol has no way to come back, and its clients close the connection for
"stop": nobody would ever read what such a run went on to say. A run that waits for the client's own tools goes on with their results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from headrace.agent.event_codec import decode_event
from headrace.server.app.asks import Ask
from headrace.server.app.desk import Desk
from headrace.server.app.faults import FaultError, Kind
from headrace.server.app.gathered import Gathered
from headrace.server.app.legs import Leg, Legs, SurfaceVoice
from headrace.server.app.routing import Answer, Whole
from headrace.server.app.streams import Stream
from headrace.server.app.waiting import Waiting
from headrace.server.model_list import list_body
from headrace.sessions.records import Entry
from headrace.surfaces.openai_chat.events_out import ChatOut, ChatWhole
from headrace.surfaces.openai_chat.request_in import ChatRequest, read_answers, read_request
from headrace.wire.openai_chat.stream_out import refuse
from headrace.wire.server_side import Head, RefusalKind

KINDS: Final[dict[Kind, RefusalKind]] = {
    "usage": "invalid_request",
    "authentication": "authentication",
    "forbidden": "permission",
    "not_found": "not_found",
    "method": "invalid_request",
    "timeout": "timeout",
    "conflict": "invalid_request",
    "state": "invalid_request",
    "too_large": "too_large",
    "media_type": "invalid_request",
    "limit": "rate_limit",
    "fault": "server",
    "unavailable": "overloaded",
}
"""What our refusals are called in these protocols."""


def refused(fault: FaultError) -> bytes:
    """Return a refusal in the protocol's form."""
    return refuse(fault.status, KINDS[fault.kind], str(fault), argument=fault.argument)[1]


class CompletionsAPI:
    """The handlers of Chat Completions."""

    def __init__(self, desk: Desk, *, name: str) -> None:
        """Take what they work with, and the model's name."""
        self._desk = desk
        self._legs = Legs(desk)
        self._waiting = Waiting(desk, self._legs)
        self._name = name
        self._began_s = int(desk.now().timestamp())

    async def models(self, ask: Ask) -> Answer:  # noqa: ARG002 - every handler gets it
        """List the one model that there is: the agent."""
        return Whole(list_body((self._name,), self._began_s))

    async def complete(self, ask: Ask) -> Answer:
        """Answer a conversation."""
        request = read_request(ask.body)
        self._desk.streams.check(ask.key)
        leg = await self._leg(ask, request)
        head = Head(id=leg.run.id, model=request.request.model or self._name, created_s=int(leg.run.created_at.timestamp()))
        leave = self._leaving(leg)
        if request.request.is_streamed:
            surface = ChatOut(head, request.incoming.options)
            await self._legs.recalled(leg, surface)
            headers = tuple(surface.headers.items())
            voice = SurfaceVoice(surface)
            return Stream(
                self._desk.streams, "completions", self._legs.read(leg), voice, headers=headers, prelude=b": hello\n\n", on_left=leave
            )
        whole = ChatWhole(head)

        def take(entry: Entry) -> bool:
            event = decode_event(entry.data)
            whole.feed(event)
            return event.type == "run_ended"

        def answer() -> Whole:
            if whole.error is not None:
                status, body = refuse(502, "server", whole.error.message)
                return Whole(body, status)
            return Whole(whole.body)

        return Gathered(self._desk.streams, "completions", self._legs.read(leg), take, answer, on_left=leave)

    def _leaving(self, leg: Leg) -> Callable[[], object]:
        return lambda: self._desk.runs.interrupt(leg.run.id)

    async def _leg(self, ask: Ask, request: ChatRequest) -> Leg:
        leg = await self._waiting.find(ask, request, partial(read_answers, request))
        if leg is None:
            history, new = request.split
            for n, message in enumerate(new):
                self._desk.inputs.check(message.parts, f"messages[{n - len(new)}].content")
            leg = Leg(await self._desk.start(ask, self._legs.stamped(new), history=history, tools=request.tools))
        self._waiting.remember(ask, request, leg.run.id)
        return leg
