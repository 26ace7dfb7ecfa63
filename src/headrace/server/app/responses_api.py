"""The Responses protocol: one leg of a run is one response, named by the run and the event before the leg.

The rule of this file: a response that is kept goes on when its client leaves, since it can be asked for again: whole, or as a stream from
`starting_after`. One that is not kept (`store: false`) ends with its client. What one goes on from (`previous_response_id`) is the run of that
response: answers to what it waits for go on with it, anything else is a new run after it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from headrace._json import EMPTY, dumps
from headrace.agent.event_codec import decode_event
from headrace.messages.message import Message
from headrace.server.app.asks import Ask
from headrace.server.app.completions_api import KINDS
from headrace.server.app.desk import Desk
from headrace.server.app.faults import FaultError
from headrace.server.app.gathered import Gathered
from headrace.server.app.legs import Leg, Legs, SurfaceVoice
from headrace.server.app.routing import Answer, Whole
from headrace.server.app.streams import Stream
from headrace.server.app.waiting import Waiting
from headrace.sessions.reading import is_end
from headrace.sessions.records import Entry, RunRecord
from headrace.sessions.request import Request
from headrace.sessions.restoring import log_of
from headrace.surfaces.openai_responses.events_out import QUESTION, ResponsesOut
from headrace.surfaces.openai_responses.request_in import ResponsesRequest, read_answers, read_request, references
from headrace.wire.openai_responses.stream_out import refuse

_ID: Final = re.compile(r"resp_([0-9a-f]{32})(?:_([0-9]{1,12}))?")
_ITEM: Final = re.compile(r"[a-z]+_([0-9a-f]{32}(?:_[0-9]{1,12})?)_[0-9]{1,6}")
_REMEMBERED: Final = 10_000
_MOST_NAMED: Final = 100
"""So many responses are read for the items that one request names."""
_WAITING: Final = 50
"""So many of the newest runs that wait are looked at for the question that a request answers."""


def refused(fault: FaultError) -> bytes:
    """Return a refusal in the protocol's form."""
    return refuse(fault.status, KINDS[fault.kind], str(fault), argument=fault.argument)[1]


class _Asked(msgspec.Struct, frozen=True):
    """What a response repeats of its request; forgotten when the server ends, and then what is usual stands there."""

    model: str
    echoed: dict[str, Any] = EMPTY
    previous_id: str | None = None
    is_background: bool = False
    client_tools: tuple[str, ...] = ()


class ResponsesAPI:
    """The handlers of the Responses protocol."""

    def __init__(self, desk: Desk, *, name: str) -> None:
        """Take what they work with, and the model's name."""
        self._desk = desk
        self._legs = Legs(desk)
        self._waiting = Waiting(desk, self._legs)
        self._name = name
        self._asked: OrderedDict[str, _Asked] = OrderedDict()

    async def create(self, ask: Ask) -> Answer:
        """Begin a response."""
        named, kept = await self._named(ask)
        request = read_request(ask.body, kept)
        self._desk.streams.check(ask.key)
        leg = await self._leg(ask, request, named)
        if request.previous_id is None:
            self._waiting.remember(ask, request, leg.run.id)
        response_id = _name(leg)
        self._remember(
            response_id,
            _Asked(
                model=request.request.model or self._name,
                echoed=dict(request.incoming.options.echoed),
                previous_id=request.previous_id,
                is_background=request.is_background,
                client_tools=tuple(tool.name for tool in request.tools),
            ),
        )
        leave = None if request.stores else self._leaving(leg)
        if request.request.is_streamed:
            return await self._stream(leg, 0, leave)
        if request.is_background:
            return Whole(await self._now(leg))
        return await self._whole(leg, leave)

    async def show(self, ask: Ask) -> Answer:
        """Give a response as it stands, or as a stream, perhaps from one of its events on."""
        leg = await self._found(ask, ask.params["response_id"])
        is_streamed, after = ask.flag("stream"), ask.number("starting_after", -1)
        if not is_streamed:
            return Whole(await self._now(leg))
        self._desk.streams.check(ask.key)
        return await self._stream(leg, after + 1, None)

    async def cancel(self, ask: Ask) -> Answer:
        """End a response, and give it as it is then."""
        leg = await self._found(ask, ask.params["response_id"])
        await self._desk.runs.interrupt(leg.run.id)
        await self._desk.runs.wait(leg.run.id)
        return Whole(await self._now(leg))

    async def delete(self, ask: Ask) -> Answer:
        """Delete a response, and with it its run."""
        leg = await self._found(ask, ask.params["response_id"])
        await self._desk.runs.delete(leg.run.id)
        return Whole(dumps({"id": ask.params["response_id"], "object": "response", "deleted": True}))

    # ------------------------------------------------------------------------------------------ legs

    async def _named(self, ask: Ask) -> tuple[RunRecord | None, dict[str, dict[str, Any]]]:
        """Return the items that a request names instead of giving them, and the run that said the last of them."""
        last: RunRecord | None = None
        legs: dict[str, dict[str, dict[str, Any]]] = {}
        found: dict[str, dict[str, Any]] = {}
        for name in references(ask.body):
            match = _ITEM.fullmatch(name)
            response_id = "" if match is None else f"resp_{match[1]}"
            if match is not None and response_id not in legs and len(legs) < _MOST_NAMED:
                leg = await self._found(ask, response_id, argument="input")
                last = leg.run
                legs[response_id] = {item.get("id", ""): item for item in (await self._standing(leg)).get("output", ())}
            if name in legs.get(response_id, EMPTY):
                found[name] = legs[response_id][name]
        return last, found

    async def _asking(self, ask: Ask, request: ResponsesRequest) -> RunRecord | None:
        """Return the run that waits for the decisions of a request."""
        wanted = {decision.question_id.removeprefix(QUESTION) for decision in request.decisions}
        for record in await self._desk.store.runs(user=ask.user, statuses=("waiting",), limit=_WAITING):
            if wanted & {one.digest for one in await self._legs.pending(record)}:
                return record
        return None

    async def _leg(self, ask: Ask, request: ResponsesRequest, named: RunRecord | None) -> Leg:
        history, new = request.split
        earlier: tuple[Message, ...] = ()
        if request.previous_id is not None:
            record = (await self._found(ask, request.previous_id, argument="previous_response_id")).run
            if record.status in ("queued", "running"):
                raise FaultError("conflict", "the previous response is in progress", argument="previous_response_id")
            replies = read_answers(request, await self._legs.pending(record))
            if replies:
                return Leg(await self._desk.resume(ask, record.id, replies), record.last_seq)
            if record.status == "waiting":  # who says something else instead of an answer has given the question up
                await self._desk.runs.interrupt(record.id)
                record = await self._desk.runs.wait(record.id)
            earlier = await self._said(record)
        else:  # a client that names no response, but items of it, or a question
            asking = await self._asking(ask, request) if request.decisions else named
            replies = read_answers(request, () if asking is None else await self._legs.pending(asking))
            if asking is not None and replies:
                return Leg(await self._desk.resume(ask, asking.id, replies), asking.last_seq)
            found = await self._waiting.find(ask, request, partial(read_answers, request))  # or that gives the whole conversation
            if found is not None:
                return found
        for n, message in enumerate(new):
            self._desk.inputs.check(message.parts, f"input[{n - len(new)}].content")
        return Leg(await self._desk.start(ask, self._legs.stamped(new), history=_joined(earlier, history), tools=request.tools))

    async def _said(self, record: RunRecord) -> tuple[Message, ...]:
        """Return what was said before and in a run."""
        result = await self._desk.runs.result(record.id)
        return (*Request.decoded(record.request).history, *result.messages)

    async def _found(self, ask: Ask, response_id: str, *, argument: str | None = None) -> Leg:
        match = _ID.fullmatch(response_id)
        record = None if match is None else await self._desk.run_or_none(ask, match[1])
        if record is None or match is None:
            raise FaultError("not_found", "there is no such response", argument=argument)
        after = int(match[2] or 0)
        if after:
            entries = await self._desk.store.entries(record.id, after - 1, 1)
            if not entries or entries[0].seq != after or not is_end(entries[0]):
                raise FaultError("not_found", "there is no such response", argument=argument)
        return Leg(record, after)

    def _leaving(self, leg: Leg) -> Callable[[], object]:
        return lambda: self._desk.runs.interrupt(leg.run.id)

    # ------------------------------------------------------------------------------------------ answers

    async def _surface(self, leg: Leg) -> ResponsesOut:
        asked = self._asked.get(_name(leg)) or _Asked(model=self._name)
        surface = ResponsesOut(
            _name(leg),
            asked.model,
            echoed=asked.echoed,
            previous_id=asked.previous_id,
            is_background=asked.is_background,
            client_tools={*asked.client_tools, *self._desk.external_tools},
        )
        await self._legs.recalled(leg, surface)
        return surface

    async def _stream(self, leg: Leg, seen: int, leave: Callable[[], object] | None) -> Answer:
        surface = await self._surface(leg)
        voice = SurfaceVoice(surface, seen=seen)
        headers = tuple(surface.headers.items())
        return Stream(self._desk.streams, "responses", self._legs.read(leg), voice, headers=headers, prelude=b": hello\n\n", on_left=leave)

    async def _whole(self, leg: Leg, leave: Callable[[], object] | None) -> Answer:
        surface = await self._surface(leg)

        def take(entry: Entry) -> bool:
            surface.feed(decode_event(entry.data))
            return surface.is_over

        def answer() -> Whole:
            surface.close()
            return Whole(surface.body)

        return Gathered(self._desk.streams, "responses", self._legs.read(leg), take, answer, on_left=leave)

    async def _now(self, leg: Leg) -> bytes:
        return dumps(await self._standing(leg))

    async def _standing(self, leg: Leg) -> dict[str, Any]:
        """Return a response as it stands."""
        surface = await self._surface(leg)
        async for event in log_of(self._desk.store, leg.run.id, leg.after):
            surface.feed(event)
            if surface.is_over:
                break
        form = surface.response
        if not form["created_at"]:  # nothing has happened yet
            form |= {"created_at": int(leg.run.created_at.timestamp()), "status": "queued"}
        return form

    def _remember(self, response_id: str, asked: _Asked) -> None:
        self._asked[response_id] = asked
        while len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)


def _name(leg: Leg) -> str:
    return f"resp_{leg.run.id}" + (f"_{leg.after}" if leg.after else "")


def _joined(earlier: Sequence[Message], history: Sequence[Message]) -> tuple[Message, ...]:
    """Return what was kept, and what the request says beside it; instructions are those of the request alone."""
    return (*history, *(message for message in earlier if message.role != "system")) if earlier else tuple(history)
