"""Which run a whole conversation goes on with, for protocols whose clients keep the conversation and run tools of their own.

Such a client sends the conversation again, with what its tools gave at the end; nothing in it names the run that waits for that. A run is known
by the conversation that began its leg, as long as this process remembers it; else it is looked for among the newest that wait.

The rule of this file: only a run that waits for just these calls, after just this question, goes on; any other conversation begins a new run.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from headrace.agent.approval import Pending
from headrace.messages.codec import encode_message
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import ToolCallPart
from headrace.server.app.asks import Ask
from headrace.server.app.desk import Desk
from headrace.server.app.legs import Leg, Legs, Replies
from headrace.sessions.records import RunRecord
from headrace.sessions.request import Request
from headrace.surfaces.asked import Asked

_REMEMBERED: Final = 10_000
_LOOKED_AT: Final = 50
"""So many of the newest runs that wait are looked at for one that is not remembered."""


class Waiting:
    """Finds the run that waits for the results at the end of a conversation."""

    def __init__(self, desk: Desk, legs: Legs) -> None:
        """Take what is worked with."""
        self._desk = desk
        self._legs = legs
        self._begun: OrderedDict[bytes, str] = OrderedDict()

    def remember(self, ask: Ask, request: Asked, run_id: str) -> None:
        """A run goes on after this conversation. One that can wait for nothing of its client's needs not be found again."""
        if not request.tools and not self._desk.external_tools:
            return
        *_, said = _said(ask.user, request.messages)
        self._begun[said] = run_id
        self._begun.move_to_end(said)
        while len(self._begun) > _REMEMBERED:
            self._begun.popitem(last=False)

    async def find(self, ask: Ask, request: Asked, replies: Replies) -> Leg | None:
        """Return the leg that goes on with the results at the end of a conversation, begun, or None: then it is a conversation like any other.

        Args:
            ask: the request.
            request: what it says.
            replies: reads the answers to what a run waits for.
        """
        _, new = request.split
        if new or not request.results:
            return None
        messages = request.messages
        looked_at: set[str] = set()
        asked = max((n for n, message in enumerate(messages) if message.role == "user"), default=-1)
        said = _said(ask.user, messages)
        for n in reversed(range(asked + 1, len(messages))):
            run_id = self._begun.get(said[n]) if messages[n].role == "assistant" else None
            if run_id is not None and run_id not in looked_at:
                looked_at.add(run_id)
                record = await self._desk.run_or_none(ask, run_id)
                if record is not None and (leg := await self._gone_on(ask, record, messages, replies)) is not None:
                    return leg
        for record in await self._desk.store.runs(user=ask.user, statuses=("waiting",), limit=_LOOKED_AT):
            if record.id not in looked_at and (leg := await self._gone_on(ask, record, messages, replies)) is not None:
                return leg
        return None

    async def _gone_on(self, ask: Ask, record: RunRecord, messages: Sequence[Message], replies: Replies) -> Leg | None:
        pending = await self._legs.pending(record)
        if not _is_meant(record, pending, messages) or not (given := replies(pending)):
            return None
        return Leg(await self._desk.resume(ask, record.id, given), record.last_seq)


def _is_meant(record: RunRecord, pending: Sequence[Pending], messages: Sequence[Message]) -> bool:
    """Whether a conversation has the calls that a run waits for, after the last thing that the run was asked."""
    own = [one.call for one in pending if one.kind == "external"]
    asked = [n for n, message in enumerate(messages) if message.role == "user"]
    since = messages[asked[-1] + 1 :] if asked else messages
    called = {
        (call.name, call.arguments) for message in since if isinstance(message, AssistantMessage) for call in message.parts_of(ToolCallPart)
    }
    if not own or any((call.name, call.arguments) not in called for call in own):
        return False
    question = [message.text for message in Request.decoded(record.request).input if message.role == "user"]
    return question[-1:] == [messages[n].text for n in asked[-1:]]


def _said(user: str, messages: Sequence[Message]) -> list[bytes]:
    """Return a digest of a conversation before each of its messages, and of the whole."""
    digest = hashlib.sha256(user.encode())
    digests = [digest.digest()]
    for message in messages:
        encoded = encode_message(message.replace(id=None, created_at=None))
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
        digests.append(digest.digest())
    return digests
