"""Runs told in other protocols: which leg of which run a request means, and a leg told by a surface.

Clients of these protocols send the whole conversation with each request. What is kept here is truer than their copy (signatures, results,
what a person denied), so it counts as long as theirs says the same; where theirs was cut or changed (an answer wanted anew, a word edited),
the conversation goes on as a copy that ends there (`chat~2`, `chat~3`, …), and the old one stays.

The rule of this file: it knows no protocol; a surface is what it is given.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from typing import Any, Final, TypeAlias, cast

import msgspec

from headrace.agent.approval import Pending, Reply
from headrace.agent.event_codec import decode_event
from headrace.agent.events import ApprovalGiven, Event
from headrace.errors import ConflictError
from headrace.messages.codec import encode_message
from headrace.messages.message import Message
from headrace.server.app.asks import Ask
from headrace.server.app.desk import Desk
from headrace.server.app.faults import FaultError
from headrace.server.app.views import end_of
from headrace.sessions.managing import fork
from headrace.sessions.reading import is_end, kept
from headrace.sessions.records import Entry, RunRecord
from headrace.surfaces.surface import BROKEN_OFF, Counted, Surface
from headrace.tools.tool import Tool

Replies: TypeAlias = Callable[[Sequence[Pending]], tuple[Reply, ...]]
_PAGE: Final = 1000


class Leg(msgspec.Struct, frozen=True):
    """A leg of a run.

    Attributes:
        run: the run.
        after: the last event before it.
    """

    run: RunRecord
    after: int = 0


class SurfaceVoice:
    """Tells a leg by a surface; see `streams.Voice`."""

    def __init__(self, surface: Surface[Any], *, seen: int | None = None) -> None:
        """Take the surface, which must be new.

        Args:
            surface: makes the items.
            seen: how many items the client has; then items are told with their numbers. None: all are told, without.
        """
        self._surface = surface
        self._counted: Counted[Any] | None = None if seen is None else Counted(surface, seen)

    @property
    def is_over(self) -> bool:
        """Whether the leg is over."""
        return self._surface.is_over

    def write(self, entry: Entry) -> bytes:
        """Return what the next event adds."""
        return self._written(decode_event(entry.data))

    def _written(self, event: Event) -> bytes:
        if self._counted is None:
            return b"".join([self._surface.write(item) for item in self._surface.feed(event)])
        return b"".join([self._surface.write(item, number=number) for number, item in self._counted.feed(event)])

    def close(self, reason: str | None) -> bytes:
        """Return what ends the answer, also where the leg has not ended."""
        rest = [self._surface.write(item) for item in self._surface.close(reason or BROKEN_OFF)]
        return b"".join((*rest, self._surface.tail))


class Legs:
    """Finds and begins legs."""

    def __init__(self, desk: Desk) -> None:
        """Take what is worked with."""
        self._desk = desk

    async def pending(self, record: RunRecord) -> tuple[Pending, ...]:
        """Return what a run waits for."""
        end = await end_of(self._desk.store, record) if record.status == "waiting" else None
        return () if end is None else msgspec.json.decode(end.pending, type=tuple[Pending, ...])

    async def recalled(self, leg: Leg, surface: Surface[Any]) -> None:
        """Give a surface the events before its leg, for what it refers to."""
        if not leg.after:
            return
        async for entries in kept(self._desk.store, leg.run.id):
            surface.recall(decode_event(entry.data) for entry in entries if entry.seq <= leg.after)
            if entries[-1].seq >= leg.after:
                return

    async def last(self, record: RunRecord) -> Leg:
        """Return the last leg of a run: the one that goes on, or the one that has ended."""
        start = 0
        async for entries in kept(self._desk.store, record.id):
            for entry in entries:
                if entry.seq < record.last_seq and is_end(entry):
                    start = entry.seq
        is_on = record.status in ("queued", "running")
        if is_on and record.last_seq and (last := await self._desk.store.entries(record.id, record.last_seq - 1, 1)):
            start = record.last_seq if is_end(last[0]) else start  # what comes next is a leg of its own
        return Leg(record, start)

    async def back(self, ask: Ask, chat_id: str, named: Collection[str]) -> Leg | None:
        """Return the last leg of a chat if it began with an answer to one of these calls or questions, or None.

        A client that lost its connection sends the same answers again; they are not to be taken for new ones.
        """
        record = await self.latest(ask, chat_id) if named else None
        leg = None if record is None else await self.last(record)
        if leg is None or not leg.after:
            return None
        for entry in await self._desk.store.entries(leg.run.id, leg.after, _PAGE):
            event = decode_event(entry.data)
            if isinstance(event, ApprovalGiven) and (event.answer.call_key in named or event.answer.digest in named):
                return leg
        return None

    def read(self, leg: Leg) -> AsyncGenerator[Entry]:
        """Read a leg, then live."""
        entries = self._desk.runs.read(leg.run.id, leg.after, follow=True)
        return cast("AsyncGenerator[Entry]", entries)

    # ------------------------------------------------------------------------------------------ a chat

    async def latest(self, ask: Ask, chat_id: str) -> RunRecord | None:
        """Return the latest run of a chat, or None."""
        name, _ = await self._branch(ask, chat_id)
        found = await self._desk.store.runs(user=ask.user, session_id=name, limit=1)
        return found[0] if found else None

    async def begun(
        self,
        ask: Ask,
        chat_id: str,
        *,
        history: Sequence[Message],
        new: Sequence[Message],
        replies: Replies,
        run_id: str | None = None,
        context: Sequence[Message] = (),
        tools: Sequence[Tool[..., Any]] = (),
    ) -> Leg:
        """Go on with the run of a chat that waits, if this answers it, or begin one.

        Args:
            ask: the request.
            chat_id: the client's name of the conversation.
            history: the conversation as the client has it.
            new: what is said now.
            replies: reads the answers to what a run waits for.
            run_id: the client's name of the run, if it is to be ours: asking twice is no second run.
            context: what the model is told for this run alone.
            tools: those that the client runs itself; a run that goes on has those that it began with.

        Raises:
            FaultError: the conversation is taken, or somebody works on it.
            HeadraceError: as `Runs.start` and `Runs.resume`.
        """
        if run_id is not None and (known := await self._desk.run_or_none(ask, run_id)) is not None:
            return Leg(known)
        record = await self.latest(ask, chat_id)
        waiting = record if record is not None and record.status == "waiting" else None
        given = replies(await self.pending(waiting) if waiting is not None else ())
        if waiting is not None:
            if given:
                return Leg(await self._desk.resume(ask, waiting.id, given), waiting.last_seq)
            # Who says something else instead of an answer has given the question up.
            await self._desk.runs.interrupt(waiting.id)
            await self._desk.runs.wait(waiting.id)
        for n, message in enumerate(new):
            self._desk.inputs.check(message.parts, f"messages[{n - len(new)}].parts")
        session_id = await self._session(ask, chat_id, history)
        return Leg(await self._desk.start(ask, self.stamped(new), run_id=run_id, session_id=session_id, history=context, tools=tools))

    def stamped(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return messages, each with an id that no other has."""
        return tuple(message.replace(id=self._desk.new_id(), created_at=self._desk.now()) for message in messages)

    async def _branch(self, ask: Ask, chat_id: str) -> tuple[str, str]:
        """Return the conversation by which a chat goes on, and the name of the next copy."""
        name, number = chat_id, 1
        while True:
            following = f"{chat_id}~{number + 1}"
            if not await self._is_there(ask, following):
                return name, following
            name, number = following, number + 1

    async def _is_there(self, ask: Ask, session_id: str) -> bool:
        try:
            return await self._desk.session_or_none(ask.key, session_id) is not None
        except FaultError as error:
            raise FaultError("conflict", "the id of the conversation is taken; use another") from error

    async def _session(self, ask: Ask, chat_id: str, history: Sequence[Message]) -> str:
        """Return the conversation that says the same as the client's, made if need be."""
        store = self._desk.store
        name, following = await self._branch(ask, chat_id)
        rows: tuple[bytes, ...] = ()
        if await self._is_there(ask, name):
            rows = await store.messages(name)
        starts = _turns([msgspec.json.decode(row, type=_Said) for row in rows])
        wanted = len(_turns([_Said(message.role, message.origin) for message in history]))
        if wanted == len(starts):
            return name
        made = following if rows else name
        try:
            if wanted < len(starts):
                await fork(store, name, made, starts[wanted])
            else:
                await store.put_session(made, [encode_message(message) for message in self.stamped(history)], user=ask.user)
        except ConflictError as error:
            raise FaultError("conflict", "another request works on this conversation") from error
        return made


class _Said(msgspec.Struct, frozen=True):
    """Who said a message."""

    role: str
    origin: str = "user"


def _turns(messages: Sequence[_Said]) -> list[int]:
    """Return where turns begin: where a person says something to an answer, or first; words that steer a run begin none."""
    starts: list[int] = []
    before = "assistant"
    for n, message in enumerate(messages):
        if message.role == "user" and message.origin != "framework" and before == "assistant":
            starts.append(n)
        if message.role != "system":
            before = message.role if message.origin != "framework" else "framework"
    return starts
