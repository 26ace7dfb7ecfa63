"""Conversations that are kept in memory.

The rule of this file: one run at a time works on a conversation; a second one is refused, since two would each answer without knowing
what the other said. A run that waits for somebody still holds its conversation, and takes it up again when it goes on. What a run adds is
kept when it has ended, however it ended, and always as a legal history.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias, get_args

import msgspec

from headrace._json import dumps_text, thaw
from headrace.errors import ConflictError, UsageError
from headrace.messages.message import AssistantMessage, Message, UserMessage
from headrace.messages.parts import ReasoningPart, TextPart, ToolCallPart

Keep: TypeAlias = Literal["rounds", "answers"]


class SessionStore(Protocol):
    """Where conversations are kept, by their ids."""

    async def begin(self, session_id: str, run_id: str) -> tuple[Message, ...]:
        """Return the conversation so far and hold it for one run, which may hold it already; one that is not there is empty.

        Raises:
            ConflictError: another run holds it.
        """
        ...

    async def commit(self, session_id: str, run_id: str, added: Sequence[Message]) -> None:
        """Append what the run added, and let go."""
        ...


class Session:
    """One conversation; it may be handed to any agent as `session=`.

        session = Session("trip", store)   # kept in a store, such as SQLiteStore("trips.db")
        session = Session()                # kept here, as long as this object lives

    Attributes:
        id: its name.
        store: where it is kept, or None: here.
    """

    def __init__(
        self,
        id: str | None = None,  # noqa: A002 - the field's name
        store: SessionStore | None = None,
        *,
        messages: Iterable[Message] = (),
    ) -> None:
        """Start a conversation, or go on with these messages, or with what the store has under the id.

        Raises:
            UsageError: the store is none, or messages are given beside one.
        """
        given: object = store
        if given is not None and not all(callable(getattr(given, name, None)) for name in ("begin", "commit")):
            raise UsageError(f"store is a {type(given).__name__}; it must have begin and commit", argument="store")
        self.id = uuid.uuid4().hex if id is None else id
        self.store = store
        self._messages: list[Message] = list(messages)
        self._holder: str | None = None
        if store is not None and self._messages:
            raise UsageError("messages are given beside a store; what the store has under the id comes first", argument="messages")

    @property
    def holder(self) -> str | None:
        """The id of the run that works on it or waits in it, or None."""
        return self._holder

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, without that of a run that goes on; of one in a store, what this object has seen of it."""
        return tuple(self._messages)

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {len(self._messages)} messages)"

    async def begin(self, session_id: str, run_id: str) -> tuple[Message, ...]:
        """Return the messages and hold the conversation; see `SessionStore`."""
        if self.store is not None:
            self._messages = list(await self.store.begin(session_id, run_id))
            self._holder = run_id
            return self.messages
        if self._holder not in (None, run_id):
            help_ = "wait for it (if it waits itself, for an answer: agent.resume, or agent.give_up), or use another session"
            raise ConflictError(f"another run works on session {session_id!r}: {self._holder}; {help_}")
        self._holder = run_id
        return self.messages

    async def commit(self, session_id: str, run_id: str, added: Sequence[Message]) -> None:
        """Append what the run added, and let go; see `SessionStore`."""
        if self.store is not None:
            await self.store.commit(session_id, run_id, added)
        self._messages += added
        if self._holder == run_id:
            self._holder = None


class MemorySessions:
    """Keeps conversations in memory, as long as it lives."""

    def __init__(self) -> None:
        """Start without conversations."""
        self._sessions: dict[str, Session] = {}

    def get(self, session_id: str) -> Session:
        """Return a conversation, a new one if there is none of this id."""
        return self._sessions.setdefault(session_id, Session(session_id))

    def forget(self, session_id: str) -> None:
        """Drop a conversation; nothing happens if there is none."""
        self._sessions.pop(session_id, None)

    async def begin(self, session_id: str, run_id: str) -> tuple[Message, ...]:
        """Return the conversation and hold it; see `SessionStore`."""
        return await self.get(session_id).begin(session_id, run_id)

    async def commit(self, session_id: str, run_id: str, added: Sequence[Message]) -> None:
        """Append what the run added, and let go; see `SessionStore`."""
        await self.get(session_id).commit(session_id, run_id, added)


def checked_keep(keep: str) -> Keep:
    """Return what is to be kept.

    Raises:
        UsageError: there is no such way.
    """
    if keep not in get_args(Keep):
        raise UsageError(f"keep is {keep!r}; it is 'rounds' or 'answers'", argument="keep")
    return keep  # type: ignore[return-value] # pyright: ignore[reportReturnType]


def kept(messages: Sequence[Message], keep: Keep) -> tuple[Message, ...]:
    """Return what of a run's messages goes into the conversation.

    `rounds`: all of them. `answers`: the user's words and the answers, without the calls, their results, the thinking that went
    with them, and reminders of our own; a typed answer that came as a call stays as its JSON.
    """
    if keep == "rounds":
        return tuple(messages)
    return tuple(short for message in messages if (short := _as_answer(message)) is not None)


def _as_answer(message: Message) -> Message | None:
    if isinstance(message, UserMessage):
        return message if message.origin != "framework" else None
    if not isinstance(message, AssistantMessage):
        return None
    # A run's own answer without a reason was empty or paused; one that was made by hand, for the input, has neither run nor reason.
    is_by_hand = message.run_id is None and not message.has(ToolCallPart)
    if message.generate_reason == "tool_calls" or (message.generate_reason is None and not is_by_hand):
        return None
    if not message.has(ToolCallPart):
        return message if message.parts else None
    # Signed thinking belongs to its calls; without them no provider takes it.
    parts = tuple(part for part in message.parts if not isinstance(part, (ToolCallPart, ReasoningPart)))
    if message.has_structured:  # the answer came as a call; it stays as the JSON that it is
        parts = (*parts, TextPart(dumps_text(thaw(message.structured_output))))
    return msgspec.structs.replace(message, parts=parts) if parts else None
