"""Chunks: what one wire event added; chunks add up to the message that the provider meant.

The rule of this file: merging is concatenation of deltas, meaning is the fold of `accumulator.py`. So `+` is associative,
`MessageChunk()` is its identity, nothing is mutated, and any grouping of the same chunks means the same message.

A sum keeps its deltas in a shared buffer that only grows; a chunk is a prefix of it. `a + b` appends where `a` is the whole buffer
(so a left fold costs constant time per chunk) and copies where it is not. Only the thread that made a buffer appends to it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import msgspec

from headrace._json import JSON, freeze
from headrace.errors import UsageError, UsageTypeError
from headrace.messages.accumulator import Accumulator, NewId
from headrace.messages.assembly import assemble_content, merge_metadata
from headrace.messages.deltas import (
    Delta,
    FinishDelta,
    LogprobsDelta,
    MessageStart,
    MetadataDelta,
    ParsedDelta,
    PartDelta,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    TokenIdsDelta,
    ToolCallFragment,
    ToolResultDelta,
    UsageDelta,
)
from headrace.messages.finish import FinishReason, first_said
from headrace.messages.message import AssistantMessage, Message, Role, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ResultState, ToolCallPart, parts_of
from headrace.messages.usage import Usage
from headrace.messages.value_merge import merge_all
from headrace.messages.warning import Warning  # noqa: A004 - the field's word


class _Buffer(list[Delta]):
    """Deltas that several chunks share, each a prefix of it; it only grows, and only on the thread that made it."""

    __slots__ = ("owner",)

    def __init__(self, deltas: Iterable[Delta]) -> None:
        super().__init__(deltas)
        self.owner = threading.get_ident()


class ChunkMeta(msgspec.StructMeta):
    """Gives chunks the constructor that people call; decoders make theirs from deltas."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        """Make a chunk from what a person wrote."""
        kind = cast("type[MessageChunk]", cls)
        try:
            deltas = kind._deltas_of(*args, **fields)
        except TypeError as error:
            raise UsageTypeError(f"{cls.__name__}: {str(error).replace('_deltas_of() ', '')}", argument=cls.__name__) from error
        return kind.from_deltas(deltas)


class MessageChunk(msgspec.Struct, frozen=True, gc=False, eq=False, metaclass=ChunkMeta):
    """A piece of a message; the base of the four classes, and as `MessageChunk()` the identity of `+`."""

    _items: Sequence[Delta]
    _size: int
    _is_from_wire: bool = False

    _ROLE: ClassVar[Role | None] = None

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
    def _deltas_of() -> list[Delta]:
        return []

    @staticmethod
    def join(chunks: Iterable[MessageChunk]) -> MessageChunk:
        """Return the sum of chunks, in order; of none, the identity.

        Raises:
            UsageError: one of them is no chunk, or their roles differ.
        """
        total = MessageChunk()
        for chunk in chunks:
            total = total + chunk
        return total

    # ------------------------------------------------------------------------------------------ the algebra

    def __add__(self, other: MessageChunk) -> Self:
        """Return both together, this one first.

        Raises:
            UsageError: (also a `TypeError`) the other is no chunk, or has another role.
        """
        kind = type(self)
        other_kind = type(other)
        if kind is not other_kind:
            kind = _common(self, other)
        items, size = self._items, self._size
        if type(items) is not _Buffer or len(items) != size or items.owner != threading.get_ident():
            items = _Buffer(items if len(items) == size else items[:size])
        more = other._items
        items.extend(more if len(more) == other._size else more[: other._size])
        return _MAKE[kind](items, len(items), self._is_from_wire or other._is_from_wire)

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

    def __hash__(self) -> int:
        """Hash by role and length; chunks are rarely keys."""
        return hash((self._ROLE, self._size))

    def __bool__(self) -> bool:
        """Return True: also an empty chunk is a chunk."""
        return True

    def __repr__(self) -> str:
        """Show the deltas, at most eight."""
        shown = ", ".join(repr(delta) for delta in self._items[: min(self._size, 8)])
        return f"{type(self).__name__}<{shown}{', …' if self._size > 8 else ''}>"  # noqa: PLR2004

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by deltas."""
        return (_rebuild, (type(self), self.deltas, self._is_from_wire))

    @property
    def deltas(self) -> tuple[Delta, ...]:
        """The deltas, in the order in which they came."""
        return tuple(self._items[: self._size])

    @property
    def role(self) -> Role | None:
        """The role; None for the identity."""
        return self._ROLE

    # ------------------------------------------------------------------------------------------ reading

    def _fold(self) -> Accumulator:
        fold = Accumulator(is_from_wire=self._is_from_wire)
        fold.extend(self.deltas)
        return fold

    @property
    def text(self) -> str:
        """The text so far."""
        if self._size == 1:
            (delta,) = self._items[:1]
            if type(delta) is TextDelta:
                return delta.text
        return self.to_message().text

    @property
    def name(self) -> str | None:
        """The name, if one came."""
        return self._fold().head.name

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata so far."""
        return merge_metadata(self._fold().choice(0).metadata)

    def to_message(self, new_id: NewId | None = None) -> Message:
        """Return the message that this chunk makes; `new_id` makes the call ids that are missing."""
        return self._fold().message(new_id=new_id)


class AssistantMessageChunk(MessageChunk, frozen=True, gc=False, eq=False):
    """A piece of what the model says.

    `AssistantMessageChunk(content=…, reasoning=…, refusal=…, tool_calls=[ToolCallFragment(…)], usage=…, finish_reason=…, metadata=…,
    snapshot_keys=…, parsed=…, logprobs=…, prompt_token_ids=…, completion_token_ids=…, name=…, id=…, model=…)`
    """

    _ROLE = "assistant"

    @staticmethod
    def _deltas_of(
        content: object = None,
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
    ) -> list[Delta]:
        deltas: list[Delta] = []
        if name or id or model:
            deltas.append(MessageStart(id=id, model=model, name=name))
        if reasoning:
            deltas.append(ReasoningDelta(reasoning))
        deltas += _content(content)
        if refusal:
            deltas.append(RefusalDelta(refusal))
        deltas += [_fragment(call, n) for n, call in enumerate(tool_calls or ())]
        deltas += _metadata(metadata, snapshot_keys)
        if parsed is not None:
            deltas.append(ParsedDelta(parsed))
        if logprobs is not None:
            deltas.append(LogprobsDelta(freeze(logprobs, "logprobs")))
        if prompt_token_ids is not None or completion_token_ids is not None:
            deltas.append(TokenIdsDelta(_ids(prompt_token_ids), _ids(completion_token_ids)))
        if usage is not None:
            deltas.append(UsageDelta(Usage.of(usage)))
        if finish_reason is not None:
            deltas.append(FinishDelta(_text(finish_reason, "finish_reason")))
        return deltas

    @property
    def reasoning(self) -> str | None:
        """The reasoning so far, or None if there is none."""
        return self.to_message().reasoning or None

    @property
    def refusal(self) -> str | None:
        """The refusal so far, or None if there is none."""
        return self.to_message().refusal or None

    @property
    def tool_calls(self) -> tuple[ToolCallFragment, ...]:
        """The calls so far, each joined from its fragments: raw arguments, the wire's index."""
        calls = self.to_message().tool_calls
        return tuple(
            ToolCallFragment(id="" if call.id_made_up else call.id, name=call.name, arguments=call.arguments, index=call.index, kind=call.kind)
            for call in calls
        )

    @property
    def usage(self) -> Usage | None:
        """The usage so far."""
        return self._fold().head.usage

    @property
    def finish_reason(self) -> FinishReason | None:
        """What the finish word that counts says so far, neutral; only a whole message weighs it against the calls that came."""
        said = first_said(self._fold().choice(0).words)
        return said[1] if said else None

    @property
    def finish_reason_raw(self) -> str | None:
        """The finish word that counts so far."""
        said = first_said(self._fold().choice(0).words)
        return said[0] if said else None

    @property
    def parsed(self) -> Any:
        """The parser's value so far."""
        return merge_all(self._fold().choice(0).parsed)

    @property
    def logprobs(self) -> JSON:
        """The log-probabilities so far."""
        return self.to_message().logprobs

    @property
    def prompt_token_ids(self) -> tuple[int, ...] | None:
        """The prompt's token ids, if they came."""
        return self.to_message().prompt_token_ids

    @property
    def completion_token_ids(self) -> tuple[int, ...] | None:
        """The completion's token ids so far, if any came."""
        return self.to_message().completion_token_ids

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What was repaired or odd so far."""
        return self.to_message().warnings

    def to_message(self, new_id: NewId | None = None) -> AssistantMessage:
        """Return the message that this chunk makes (choice 0); `new_id` makes the call ids that are missing."""
        return self._fold().message(new_id=new_id)

    def to_messages(self, new_id: NewId | None = None) -> tuple[AssistantMessage, ...]:
        """Return the messages of all choices, by index."""
        return self._fold().messages(new_id=new_id)


class ToolMessageChunk(MessageChunk, frozen=True, gc=False, eq=False):
    """A piece of a tool's result: `ToolMessageChunk(content, call_id=…, name=…, state=…, metadata=…)`."""

    _ROLE = "tool"

    @staticmethod
    def _deltas_of(
        content: object = None,
        *,
        call_id: str | None = None,
        name: str | None = None,
        state: ResultState | None = None,
        metadata: Mapping[str, Any] | None = None,
        snapshot_keys: Iterable[str] = (),
    ) -> list[Delta]:
        deltas: list[Delta] = []
        if name:
            deltas.append(MessageStart(name=name))
        if call_id or name or state:
            deltas.append(ToolResultDelta(call_id or None, name or None, state))
        return [*deltas, *_content(content), *_metadata(metadata, snapshot_keys)]

    @property
    def call_id(self) -> str:
        """The id of the call that this answers: the last non-empty one; "" if none came."""
        return self._fold().head.call_id or ""

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What was odd so far: two different call ids."""
        return tuple(self._fold().choice(0).warnings)

    def to_message(self, new_id: NewId | None = None) -> ToolMessage:  # noqa: ARG002 - results make no ids
        """Return the tool message that this chunk makes."""
        return self._fold().tool_message()


class UserMessageChunk(MessageChunk, frozen=True, gc=False, eq=False):
    """A piece of what a person says: `UserMessageChunk(content, name=…, metadata=…)`."""

    _ROLE = "user"

    @staticmethod
    def _deltas_of(
        content: object = None, *, name: str | None = None, metadata: Mapping[str, Any] | None = None, snapshot_keys: Iterable[str] = ()
    ) -> list[Delta]:
        start: list[Delta] = [MessageStart(name=name)] if name else []
        return [*start, *_content(content), *_metadata(metadata, snapshot_keys)]

    def to_message(self, new_id: NewId | None = None) -> UserMessage:  # noqa: ARG002 - no ids to make
        """Return the user message that this chunk makes."""
        fold = self._fold()
        choice = fold.choice(0)
        return UserMessage.assemble(assemble_content(choice), name=fold.head.name, metadata=merge_metadata(choice.metadata))


class SystemMessageChunk(MessageChunk, frozen=True, gc=False, eq=False):
    """A piece of instructions: `SystemMessageChunk(content, name=…, metadata=…)`."""

    _ROLE = "system"
    _deltas_of = UserMessageChunk._deltas_of  # noqa: RUF012 - a method, not data

    def to_message(self, new_id: NewId | None = None) -> SystemMessage:  # noqa: ARG002 - no ids to make
        """Return the system message that this chunk makes."""
        fold = self._fold()
        choice = fold.choice(0)
        return SystemMessage.assemble(assemble_content(choice), name=fold.head.name, metadata=merge_metadata(choice.metadata))


_MAKE: dict[type[MessageChunk], Any] = {
    kind: msgspec.StructMeta.__call__.__get__(kind)
    for kind in (MessageChunk, AssistantMessageChunk, ToolMessageChunk, UserMessageChunk, SystemMessageChunk)
}
"""The bare constructor of each class; it takes the stored fields and costs a third of the friendly one."""
make_assistant_chunk = _MAKE[AssistantMessageChunk]
"""`make_assistant_chunk(items, size, is_from_wire)`: for decoders, which make one per event."""


def _rebuild(kind: type[MessageChunk], deltas: tuple[Delta, ...], is_from_wire: bool) -> MessageChunk:  # noqa: FBT001 - pickle gives positions
    return kind.from_deltas(deltas, is_from_wire=is_from_wire)


def _common(left: MessageChunk, right: object) -> type[MessageChunk]:
    """Return the class of the sum of chunks of two classes: one of them must be the identity's."""
    kinds = {type(left), type(right)} - {MessageChunk}
    if not isinstance(right, MessageChunk) or len(kinds) != 1:
        raise UsageTypeError(
            f"cannot merge {type(left).__name__} and {type(right).__name__}: only chunks of one role add up", argument="other"
        )
    return cast("type[MessageChunk]", kinds.pop())


def _content(content: object) -> list[Delta]:
    if content is None:
        return []
    if isinstance(content, str):
        return [TextDelta(_text(content, "content"))] if content else []
    return [PartDelta(part) for part in parts_of(content)]


def _metadata(metadata: Mapping[str, Any] | None, snapshot_keys: Iterable[str]) -> list[Delta]:
    if not metadata:
        return []
    return [MetadataDelta(freeze(metadata, "metadata"), tuple(snapshot_keys))]


def _fragment(call: object, n: int) -> ToolCallFragment:
    if isinstance(call, ToolCallFragment):
        return call
    if isinstance(call, ToolCallPart):
        return ToolCallFragment(call.id, call.name, call.arguments, call.index, call.kind, provider_data=call.provider_data)
    raise UsageError(f"tool_calls[{n}] is a {type(call).__name__}, not a ToolCallFragment", argument=f"tool_calls[{n}]")


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name} is a {type(value).__name__}, not text", argument=name)
    return value


def _ids(values: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if values is None else tuple(values)
