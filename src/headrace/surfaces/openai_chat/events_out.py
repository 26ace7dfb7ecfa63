"""A run as an answer of Chat Completions, streamed or whole, by the wire's own writer.

The rule of this file: streamed and whole are made of the same chunks. The vendor's wire cannot be gone on with: whoever comes back asks anew,
with the whole conversation.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.agent.events import Event
from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.surfaces.openai_chat.chunks import RunChunks
from headrace.surfaces.surface import BROKEN_OFF, Surface
from headrace.wire.openai_chat.stream_out import StreamOut
from headrace.wire.server_side import AnswerOptions, Head


class ChatOut(Surface[bytes]):
    """One leg of a run as a stream."""

    _HANDLERS = {}  # noqa: RUF012 - the chunks' are meant

    def __init__(self, head: Head, options: AnswerOptions | None = None, *, chunks: RunChunks | None = None) -> None:
        """Start before the first event.

        Args:
            head: the answer's id, the name of the model, the time.
            options: what the request asked of the form.
            chunks: says what is told of the run; by default words, thinking, and calls that the client runs.
        """
        super().__init__()
        self._chunks = chunks or RunChunks()
        self.known = self._chunks.known
        self._stream = StreamOut(head, options)

    def feed(self, event: Event) -> list[bytes]:
        """Return what the next event adds."""
        if self._is_over:
            return []
        self._add(self._chunks.feed(event))
        if self._chunks.is_over:
            self._end()
        return self._take()

    def close(self, message: str = BROKEN_OFF) -> list[bytes]:
        """Return what ends an answer that goes no further."""
        if self._is_over:
            return []
        self._chunks.close(message)
        self._end()
        return self._take()

    def write(self, item: bytes, *, number: int | None = None) -> bytes:  # noqa: ARG002 - it is not told here
        """Return an item, which is server-sent events already."""
        return item

    def _add(self, chunks: Iterable[MessageChunk]) -> None:
        self._out += [data for chunk in chunks if (data := self._stream.feed(chunk))]

    def _end(self) -> None:
        self._is_over = True
        data = self._stream.close(self._chunks.error)
        if data:
            self._out.append(data)

    def _begin(self, event: Event) -> None:
        """Nothing comes first: the wire's writer begins by itself."""

    def _break_off(self, message: str) -> None:
        """Nothing is said here: see `close`."""


class ChatWhole:
    """One leg of a run as a body: fed with the same events, asked once when it is over.

    Attributes:
        error: why there is no answer, once the leg is over, or None; then the request is refused (`wire.openai_chat.stream_out.refuse`).
    """

    def __init__(self, head: Head, *, chunks: RunChunks | None = None) -> None:
        """Start before the first event; the arguments are those of `ChatOut`."""
        self._head = head
        self._chunks = chunks or RunChunks()
        self._made: list[MessageChunk] = []

    @property
    def error(self) -> StreamError | None:
        """Why there is no answer."""
        return self._chunks.error

    def recall(self, earlier: Iterable[Event]) -> None:
        """Take the events of the legs before this one."""
        self._chunks.recall(earlier)

    def feed(self, event: Event) -> None:
        """Take the next event."""
        self._made += self._chunks.feed(event)

    @property
    def message(self) -> AssistantMessage:
        """The answer, as a model would have given it."""
        message = MessageChunk.join(self._made).to_message()
        assert isinstance(message, AssistantMessage)
        return message

    @property
    def body(self) -> bytes:
        """The body of the answer."""
        return StreamOut(self._head).whole(self.message)
