"""What every model gives: a stream of chunks with a message at its end. The seam that agents are typed against.

The rule of this file: whoever answers (a provider, a script), the caller sees the same items, the same facts and the same
ways to leave. An answer is opened by `async with`, read once, and closed when its block ends, however it ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, Self, TypeAlias, cast

import msgspec

from headrace._json import check_text
from headrace.errors import StateError, UsageError
from headrace.io.redact import redact_headers
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.copying import changed
from headrace.messages.fields import utc
from headrace.messages.message import AssistantMessage, Message, Timing, UserMessage
from headrace.messages.request import OutputFormat, Settings, ToolChoice, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word


class AttemptDiscarded(msgspec.Struct, frozen=True, tag_field="type", tag="attempt_discarded"):
    """A stream died after chunks had been given out, and is asked for again: forget those chunks.

    Attributes:
        attempt: which attempt died, from 1.
        reason: why, for a person.
    """

    attempt: int
    reason: str


StreamItem: TypeAlias = MessageChunk | AttemptDiscarded


class FailedAttempt(msgspec.Struct, frozen=True):
    """An attempt that failed and was tried again.

    Attributes:
        attempt: which one, from 1.
        error: what would have been raised.
        delay_s: how long was waited before the next one.
        chunks: how many chunks had been given out.
        model: the id of the model that was asked; "" where only one could be.
    """

    attempt: int
    error: Exception
    delay_s: float
    chunks: int = 0
    model: str = ""


class ResponseFacts(msgspec.Struct, frozen=True):
    """What is known of an answer beside its body.

    Attributes:
        status: the HTTP status.
        headers: names in lower case.
        request_id: the provider's name for the request, or None.
    """

    status: int
    headers: Mapping[str, str]
    request_id: str | None = None

    def __repr__(self) -> str:
        """Show no secrets, such as cookies."""
        return f"ResponseFacts({self.status}, {dict(redact_headers(self.headers.items()))!r}, request_id={self.request_id!r})"


class HasSpec(Protocol):
    """Anything that a model may call: it says how it looks to the model."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as requests carry it."""
        ...


Messages: TypeAlias = str | Message | Sequence[Message]
Tools: TypeAlias = Sequence[ToolSpec | HasSpec]
SettingsLike: TypeAlias = Settings | Mapping[str, Any] | None


class ModelLike(Protocol):
    """What an agent needs of a model; those of this package are made of it, and any other class of this shape will do."""

    @property
    def id(self) -> str:
        """The name that the caller gave it."""
        ...

    @property
    def provider(self) -> str:
        """Who answers."""
        ...

    def stream(
        self,
        messages: Messages,
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        output: OutputFormat | None = None,
        settings: SettingsLike = None,
        is_streamed: bool = True,
    ) -> AnswerStream:
        """Ask, and read the answer as it comes: `async with model.stream(…) as stream: async for item in stream`."""
        ...

    async def request(
        self,
        messages: Messages,
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        output: OutputFormat | None = None,
        settings: SettingsLike = None,
        is_streamed: bool = True,
    ) -> AssistantMessage:
        """Ask, and return the whole answer: `stream`, read to its end. Arguments as there.

        Raises:
            HeadraceError: as the items of a stream; what had come is its `partial`.
        """
        async with self.stream(
            messages, tools=tools, tool_choice=tool_choice, output=output, settings=settings, is_streamed=is_streamed
        ) as stream:
            return await stream.drain()

    async def aclose(self) -> None:
        """Close what is open."""
        ...


Take: TypeAlias = Callable[[list[AssistantMessageChunk]], bool]
"""Is given the chunks that came together; returns whether it wants more of them in this way. It must not wait."""


class AnswerStream(ABC):
    """One answer on its way; the base of the streams of every model.

    `async with` opens it, `async for` reads it, once; nothing is sent before the first item is asked for. Leaving the block
    closes the connection, whether the answer was read to its end or not. `message` is there at any time, also after a failure:
    with what had come by then, and with no call that could be run unless the answer was whole.
    """

    def __init__(self) -> None:
        """Start nothing."""
        self._items: AsyncGenerator[StreamItem] | None = None
        self._is_closed = False
        self._poured_into: Take | None = None

    async def __aenter__(self) -> Self:
        if self._items is not None or self._is_closed:
            raise StateError("an answer can be read once; ask again with model.stream(…)")
        self._items = self._read()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._is_closed = True
        try:
            if self._items is not None:
                await self._items.aclose()
        finally:
            self._settle()

    def __aiter__(self) -> AsyncIterator[StreamItem]:
        """Return the items. It is the generator itself: a layer between would cost time on each chunk."""
        if self._items is None or self._is_closed:
            raise StateError("read an answer inside its block: async with model.stream(…) as stream: async for item in stream")
        return self._items

    def pour_into(self, take: Take) -> None:
        """Give chunks to a function when they come, for readers to whom a task that wakes for each of them is too dear.

        The items are to be read all the same: whatever does not come in this way is among them, before and behind what does. Where `take` says
        that it wants no more, an empty chunk is the next item, and after it chunks are given to `take` again. Nobody promises that any
        chunk comes in this way. What `take` raises is raised where the items are read.
        """
        self._poured_into = take

    async def drain(self) -> AssistantMessage:
        """Read what is left and return the message."""
        async for _ in self:
            pass
        return self.message

    @property
    @abstractmethod
    def message(self) -> AssistantMessage:
        """The message so far; whole once the items have ended."""

    @property
    @abstractmethod
    def choices(self) -> tuple[AssistantMessage, ...]:
        """The messages of all choices, by index; one where `n` was not asked for."""

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What could not be sent, then what was repaired or odd in the answer."""
        return self.message.warnings

    @property
    @abstractmethod
    def response(self) -> ResponseFacts | None:
        """Status and headers of the present attempt; None before they came."""

    @property
    @abstractmethod
    def attempts(self) -> tuple[FailedAttempt, ...]:
        """The attempts that failed before the present one, in order."""

    @abstractmethod
    def _read(self) -> AsyncGenerator[StreamItem]:
        """Give the items; a failure is raised after the last one."""

    @abstractmethod
    def _settle(self) -> None:
        """Nothing more will be read: make `message` final."""


def messages_of(messages: Messages) -> tuple[Message, ...]:
    """Return what is asked as messages: a text is one user message.

    Raises:
        UsageError: it is none of the three.
    """
    if isinstance(messages, str):
        return (UserMessage(messages),)
    if isinstance(messages, Message):
        return (messages,)
    if not isinstance(messages, Sequence):
        raise UsageError(f"messages is a {type(messages).__name__}; give a text, a message or a list of messages", argument="messages")
    history: tuple[Any, ...] = tuple(messages)
    if not all(issubclass(kind, Message) for kind in set(map(type, history))):  # a history is long and has few types
        n, wrong = next((n, message) for n, message in enumerate(history) if not isinstance(message, Message))
        raise UsageError(f"messages[{n}] is a {type(wrong).__name__}, not a message", argument=f"messages[{n}]")
    return history


def specs_of(tools: Tools) -> tuple[ToolSpec, ...]:
    """Return tools as requests carry them.

    Raises:
        UsageError: one of them is no tool, or two have one name.
    """
    specs: dict[str, ToolSpec] = {}
    is_plain = isinstance(tools, tuple)
    for n, tool in enumerate(tools):
        is_plain = is_plain and isinstance(tool, ToolSpec)
        spec = tool if isinstance(tool, ToolSpec) else getattr(tool, "spec", None)
        if not isinstance(spec, ToolSpec):
            raise UsageError(
                f"tools[{n}] is a {type(tool).__name__}, not a tool: make one with @tool or ToolSpec(…)", argument=f"tools[{n}]"
            )
        if spec.name in specs:
            raise UsageError(f"two tools are called {spec.name!r}", argument=f"tools[{n}]")
        specs[spec.name] = spec
    # The very same value where it is one already, so that an encoder recognises it.
    return cast("tuple[ToolSpec, ...]", tools) if is_plain else tuple(specs.values())


def finished(
    message: AssistantMessage,
    *,
    id: str,  # noqa: A002 - the field's name
    provider: str,
    created_at: datetime,
    timing: Timing,
    warnings: tuple[Warning, ...] = (),
) -> AssistantMessage:
    """Add to a decoder's message what only a shell knows; what the wire said of id and time stays."""
    return changed(
        message,
        id=message.id or check_text(id, "id"),
        created_at=message.created_at or utc(created_at),
        provider=message.provider or provider,
        timing=timing,
        warnings=(*warnings, *message.warnings),
    )
