"""Chunks: what one wire event added; chunks add up to the message that the provider meant.

The rule of this file: merging is concatenation of deltas, meaning is the fold of `accumulator.py`. So `+` is associative,
`MessageChunk()` is its identity, nothing is mutated, and any grouping of the same chunks means the same message.

A sum keeps its deltas in a shared buffer that only grows; a chunk is a prefix of it. `a + b` appends where `a` is the whole buffer
(so a left fold costs constant time per chunk) and copies where it is not. Only the thread that made a buffer appends to it.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, Unpack, cast

import msgspec

from headrace._json import JSON
from headrace.errors import UsageTypeError
from headrace.messages import handmade
from headrace.messages.accumulator import Accumulator, NewId
from headrace.messages.assembly import Judged, assemble_content, judge, merge_metadata, text_of
from headrace.messages.deltas import Delta, TextDelta, ToolCallFragment
from headrace.messages.fields import Content
from headrace.messages.finish import FinishReason, first_said
from headrace.messages.growing import Choice
from headrace.messages.message import AssistantMessage, Message, Role, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ResultState, ToolCallPart
from headrace.messages.usage import Usage
from headrace.messages.value_merge import merge_all
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

_MAKE: Final[dict[type[Any], Any]] = {}


class _Buffer(list[Delta]):
    """Deltas that several chunks share, each a prefix of it; it only grows, and only on the thread that made it."""

    __slots__ = ("owner",)

    def __init__(self, deltas: Iterable[Delta]) -> None:
        super().__init__(deltas)
        self.owner = threading.get_ident()


class MessageChunk(msgspec.Struct, frozen=True, gc=False, eq=False, metaclass=handmade.ChunkMeta):
    """A piece of a message; the base of the four classes, and as `MessageChunk()` the identity of `+`."""

    _items: Sequence[Delta]
    _size: int
    _is_from_wire: bool = False

    _ROLE: ClassVar[Role | None] = None
    _MAKE_DELTAS: ClassVar[Callable[..., list[Delta]]] = staticmethod(handmade.no_deltas)

    if TYPE_CHECKING:  # what its metaclass takes

        def __init__(self) -> None:
            """Make the identity."""

    def __init_subclass__(cls) -> None:
        """Remember the bare constructor, which takes the stored fields and costs a third of the friendly one."""
        _MAKE[cls] = msgspec.StructMeta.__call__.__get__(cls)

    @classmethod
    def from_deltas(cls, deltas: Iterable[Delta], *, is_from_wire: bool = False) -> Self:
        """Make a chunk from deltas.

        Args:
            deltas: in the order in which they came.
            is_from_wire: they come from a decoder: then only `Ended` ends the message, and a sum without it is a snapshot.
        """
        items = tuple(deltas)
        return cast("Self", msgspec.StructMeta.__call__(cls, items, len(items), is_from_wire))

    @staticmethod
    def join(chunks: Iterable[MessageChunk]) -> MessageChunk:
        """Return the sum of chunks, in order; of none, the identity.

        Raises:
            UsageError: one of them is no chunk, or their roles differ.
        """
        kind: type[MessageChunk] = MessageChunk
        items, is_from_wire = _Buffer(()), False
        for chunk in chunks:
            if type(chunk) is not kind:
                kind = _common(kind, chunk)
            more = chunk._items
            items.extend(more if len(more) == chunk._size else more[: chunk._size])
            is_from_wire = is_from_wire or chunk._is_from_wire
        total: MessageChunk = _MAKE[kind](items, len(items), is_from_wire)
        return total

    # ------------------------------------------------------------------------------------------ the algebra

    def __add__(self, other: MessageChunk) -> Self:
        """Return both together, this one first.

        Raises:
            UsageError: (also a `TypeError`) the other is no chunk, or has another role.
        """
        kind: type[MessageChunk] = type(self)
        if kind is not type(other):
            kind = _common(kind, other)
        items, size = self._items, self._size
        if type(items) is not _Buffer or len(items) != size or items.owner != threading.get_ident():
            items = _Buffer(items if len(items) == size else items[:size])
        more = other._items
        items.extend(more if len(more) == other._size else more[: other._size])
        total: Self = _MAKE[kind](items, len(items), self._is_from_wire or other._is_from_wire)
        return total

    def __radd__(self, other: object) -> Self:
        """Let `sum()` start from 0."""
        if other == 0 and isinstance(other, int):
            return self
        raise UsageTypeError(f"cannot merge {type(other).__name__} and {type(self).__name__}: only chunks add up", argument="other")

    def merge(self, other: MessageChunk) -> Self:
        """Return `self + other`."""
        return self + other

    def __eq__(self, other: object) -> bool:
        """Return whether the other is of the same role and holds the same deltas."""
        if not isinstance(other, MessageChunk):
            return NotImplemented
        return type(self) is type(other) and self._is_from_wire == other._is_from_wire and self.deltas == other.deltas

    def __ne__(self, other: object) -> bool:
        """Return the contrary of `==`; without this, msgspec's own would compare by identity."""
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        """Hash by role and length; chunks are rarely keys."""
        return hash((self._ROLE, self._size))

    def __bool__(self) -> bool:
        """Return True: also an empty chunk is a chunk."""
        return True

    def __repr__(self) -> str:
        """Show the deltas, at most eight."""
        shown = ", ".join(repr(delta) for delta in self._items[: min(self._size, 8)])
        return f"{type(self).__name__}<{shown}{', …' if self._size > 8 else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by deltas."""
        return (_rebuild, (type(self), self.deltas, self._is_from_wire))

    @property
    def deltas(self) -> tuple[Delta, ...]:
        """The deltas, in the order in which they came."""
        return tuple(self._items[: self._size])

    @property
    def is_from_wire(self) -> bool:
        """Whether a decoder made it or a part of it: then only `Ended` ends the message."""
        return self._is_from_wire

    @property
    def role(self) -> Role | None:
        """The role; None for the identity."""
        return self._ROLE

    # ------------------------------------------------------------------------------------------ reading

    def _fold(self) -> Accumulator:
        fold = Accumulator(is_from_wire=self._is_from_wire)
        fold.extend(self.deltas)
        return fold

    def _first(self) -> Choice:
        return self._fold().choice(0)

    @property
    def text(self) -> str:
        """The text so far."""
        if self._size == 1:
            (delta,) = self._items[:1]
            if type(delta) is TextDelta and delta.choice == 0 and delta.text.isascii():
                return delta.text
        return text_of(self._first(), "text")

    @property
    def name(self) -> str | None:
        """The name, if one came."""
        return self._fold().head.name

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata so far; a copy."""
        return dict(merge_metadata(self._first().metadata))

    def to_message(self, new_id: NewId | None = None) -> Message:
        """Return the message that this chunk makes; `new_id` makes the call ids that are missing."""
        return self._fold().message(new_id=new_id)


class AssistantMessageChunk(MessageChunk, frozen=True, gc=False, eq=False):
    """A piece of what the model says.

    `AssistantMessageChunk(content=…, reasoning=…, refusal=…, tool_calls=[ToolCallFragment(…)], usage=…, finish_reason=…, metadata=…,
    snapshot_keys=…, parsed=…, logprobs=…, prompt_token_ids=…, completion_token_ids=…, name=…, id=…, model=…)`
    """

    _ROLE = "assistant"
    _MAKE_DELTAS = staticmethod(handmade.assistant_deltas)

    if TYPE_CHECKING:  # what its metaclass takes

        def __init__(
            self,
            content: Content = None,
            *,
            reasoning: str | None = None,
            refusal: str | None = None,
            tool_calls: Iterable[ToolCallFragment | ToolCallPart] | None = None,
            usage: Usage | Mapping[str, Any] | None = None,
            finish_reason: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            snapshot_keys: Iterable[str] = (),
            parsed: object = None,
            logprobs: JSON = None,
            prompt_token_ids: Iterable[int] | None = None,
            completion_token_ids: Iterable[int] | None = None,
            name: str | None = None,
            id: str | None = None,  # noqa: A002 - the field's name
            model: str | None = None,
        ) -> None:
            """Take the content, and the rest by keyword."""

    @property
    def reasoning(self) -> str | None:
        """The reasoning so far, or None if there is none."""
        return text_of(self._first(), "reasoning") or None

    @property
    def refusal(self) -> str | None:
        """The refusal so far, or None if there is none."""
        return text_of(self._first(), "refusal") or None

    @property
    def tool_calls(self) -> tuple[ToolCallFragment, ...]:
        """The calls so far, each joined from its fragments: raw arguments, the wire's index; an id only if the wire gave one."""
        return tuple(
            ToolCallFragment(None if part.id_made_up else part.id, part.name, part.arguments, part.index, part.kind)
            for part in self._judged().parts
            if isinstance(part, ToolCallPart)
        )

    def _judged(self) -> Judged:
        fold = self._fold()
        choice = fold.choice(0)
        return judge(choice, fold.ending(choice))

    @property
    def usage(self) -> Usage | None:
        """The usage so far."""
        return self._fold().head.usage

    @property
    def finish_reason(self) -> FinishReason | None:
        """What the finish word that counts says so far, neutral; only a whole message weighs it against the calls that came."""
        said = first_said(self._first().words)
        return said[1] if said else None

    @property
    def finish_reason_raw(self) -> str | None:
        """The finish word that counts so far."""
        said = first_said(self._first().words)
        return said[0] if said else None

    @property
    def parsed(self) -> Any:
        """The parser's value so far; a copy."""
        return copy.deepcopy(merge_all(self._first().parsed))

    @property
    def logprobs(self) -> JSON:
        """The log-probabilities so far; a copy."""
        return merge_all(self._first().logprobs)

    @property
    def prompt_token_ids(self) -> tuple[int, ...] | None:
        """The prompt's token ids, if they came."""
        return self._first().prompt_ids

    @property
    def completion_token_ids(self) -> tuple[int, ...] | None:
        """The completion's token ids so far, if any came."""
        return self._first().all_completion_ids()

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What was repaired or odd so far."""
        return self._judged().warnings

    def to_message(self, new_id: NewId | None = None) -> AssistantMessage:
        """Return the message that this chunk makes (choice 0); `new_id` makes the call ids that are missing."""
        return self._fold().message(new_id=new_id)

    def to_messages(self, new_id: NewId | None = None) -> tuple[AssistantMessage, ...]:
        """Return the messages of all choices, by index."""
        return self._fold().messages(new_id=new_id)


class ToolMessageChunk(MessageChunk, frozen=True, gc=False, eq=False):
    """A piece of a tool's result: `ToolMessageChunk(content, call_id=…, name=…, state=…, metadata=…)`."""

    _ROLE = "tool"
    _MAKE_DELTAS = staticmethod(handmade.tool_deltas)

    if TYPE_CHECKING:  # what its metaclass takes

        def __init__(
            self,
            content: Content = None,
            *,
            call_id: str | None = None,
            name: str | None = None,
            state: ResultState | None = None,
            metadata: Mapping[str, Any] | None = None,
            snapshot_keys: Iterable[str] = (),
        ) -> None:
            """Take the content, and the rest by keyword."""

    @property
    def call_id(self) -> str:
        """The id of the call that this answers: the last non-empty one; "" if none came."""
        return self._fold().head.call_id or ""

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What was odd so far: two different call ids."""
        return tuple(self._first().warnings)

    def to_message(self, new_id: NewId | None = None) -> ToolMessage:  # noqa: ARG002 - results make no ids
        """Return the tool message that this chunk makes."""
        return self._fold().tool_message()


class UserMessageChunk(MessageChunk, frozen=True, gc=False, eq=False):
    """A piece of what a person says: `UserMessageChunk(content, name=…, metadata=…)`."""

    _ROLE = "user"
    _MAKE_DELTAS = staticmethod(handmade.user_deltas)

    if TYPE_CHECKING:  # what its metaclass takes

        def __init__(self, content: Content = None, **fields: Unpack[handmade.PlainFields]) -> None:
            """Take the content, and the rest by keyword."""

    def to_message(self, new_id: NewId | None = None) -> UserMessage:  # noqa: ARG002 - no ids to make
        """Return the user message that this chunk makes."""
        fold = self._fold()
        choice, head = fold.choice(0), fold.head
        metadata = merge_metadata(choice.metadata)
        return UserMessage.assemble(assemble_content(choice), id=head.id, name=head.name, created_at=head.created_at, metadata=metadata)


class SystemMessageChunk(MessageChunk, frozen=True, gc=False, eq=False):
    """A piece of instructions: `SystemMessageChunk(content, name=…, metadata=…)`."""

    _ROLE = "system"
    _MAKE_DELTAS = staticmethod(handmade.system_deltas)

    if TYPE_CHECKING:  # what its metaclass takes

        def __init__(self, content: Content = None, **fields: Unpack[handmade.PlainFields]) -> None:
            """Take the content, and the rest by keyword."""

    def to_message(self, new_id: NewId | None = None) -> SystemMessage:  # noqa: ARG002 - no ids to make
        """Return the system message that this chunk makes."""
        fold = self._fold()
        choice, head = fold.choice(0), fold.head
        metadata = merge_metadata(choice.metadata)
        return SystemMessage.assemble(assemble_content(choice), id=head.id, name=head.name, created_at=head.created_at, metadata=metadata)


_MAKE[MessageChunk] = msgspec.StructMeta.__call__.__get__(MessageChunk)
make_assistant_chunk = _MAKE[AssistantMessageChunk]
"""`make_assistant_chunk(items, size, is_from_wire)`: for decoders, which make one per event."""


def _rebuild(kind: type[MessageChunk], deltas: tuple[Delta, ...], is_from_wire: bool) -> MessageChunk:  # noqa: FBT001 - pickle gives positions
    return kind.from_deltas(deltas, is_from_wire=is_from_wire)


def _common(left: type[MessageChunk], right: object) -> type[MessageChunk]:
    """Return the class of the sum of chunks of two classes: one of them must be the identity's."""
    if isinstance(right, MessageChunk):
        if left is MessageChunk:
            return type(right)
        if type(right) is MessageChunk:
            return left
    raise UsageTypeError(f"cannot merge {left.__name__} and {type(right).__name__}: only chunks of one role add up", argument="other")
