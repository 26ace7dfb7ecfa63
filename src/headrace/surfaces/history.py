"""What clients give back of a conversation, made into messages of ours.

The rule of this file: one answer of a model is one message, however many messages a client makes of it, and each result stands behind the
call that it answers. What a client says of a model is taken as it is; encoders see to it that it can be sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import Part, TextPart, ToolCallPart, ToolResultPart, make


class Conversation:
    """Puts a history together, piece by piece; `messages` gives what it is by then."""

    def __init__(self) -> None:
        """Start without messages."""
        self._messages: list[Message] = []
        self._parts: list[Part] = []
        self._id: str | None = None
        self._provider: str | None = None
        self._results: list[ToolResultPart] = []
        self.names: dict[str, str] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages so far."""
        self._end_answer()
        self._end_results()
        return tuple(self._messages)

    def system(self, text: str, identifier: str | None = None) -> None:
        """Take instructions."""
        self._end()
        self._messages.append(SystemMessage.assemble([make(TextPart, text=text)], id=identifier))

    def user(self, parts: Sequence[Part], identifier: str | None = None, name: str | None = None) -> None:
        """Take what a person said."""
        self._end()
        self._messages.append(UserMessage.assemble(parts, id=identifier, name=name, origin="user"))

    def answer(self, parts: Iterable[Part], identifier: str | None = None, provider: str | None = None) -> None:
        """Take more of what the model said, thought or called; results, or anything else, end it."""
        self._end_results()
        held = list(parts)
        self._parts += held
        self._id = self._id or identifier
        self._provider = self._provider or provider
        self.names |= {part.id: part.name for part in held if isinstance(part, ToolCallPart)}

    def result(self, result: ToolResultPart) -> None:
        """Take the result of a call."""
        self._end_answer()
        self._results.append(result)

    def cut(self) -> None:
        """What comes next is another answer."""
        self._end()

    def _end(self) -> None:
        self._end_answer()
        self._end_results()

    def _end_answer(self) -> None:
        if self._parts:
            has_calls = any(isinstance(part, ToolCallPart) for part in self._parts)
            self._messages.append(
                AssistantMessage.assemble(
                    self._parts,
                    id=self._id,
                    provider=self._provider,
                    finish_reason="tool_calls" if has_calls else "stop",
                    origin="model",
                )
            )
        self._parts, self._id, self._provider = [], None, None

    def _end_results(self) -> None:
        if self._results:
            self._messages.append(ToolMessage.assemble(self._results, origin="tool"))
            self._results = []


def split_input(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the history, and what is new: the person's words at the end; without such, the run goes on with the history."""
    at = len(messages)
    while at and isinstance(messages[at - 1], UserMessage):
        at -= 1
    return tuple(messages[:at]), tuple(messages[at:])
