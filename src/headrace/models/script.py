"""Scripted answers: what a `ScriptedModel` is given, as the steps that it plays.

The rule of this file: a text or a message becomes the chunks that a decoder would have made of it, with an end, so that whoever
reads them cannot tell the difference; what is given as chunks stays as it is. Pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import (
    Delta,
    Ended,
    FinishDelta,
    MessageStart,
    MetadataDelta,
    PartDelta,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallFragment,
    UsageDelta,
)
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import Part, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from headrace.messages.request import Request
from headrace.models.answer import AttemptDiscarded

Step: TypeAlias = MessageChunk | AttemptDiscarded | asyncio.Event | Exception | bytes
"""A chunk to give, a mark that all before is void, an event to wait for, an error to raise, bytes to decode."""


class Scripted(msgspec.Struct, frozen=True):
    """One answer, and how it comes.

    Attributes:
        answer: what to give; see `ScriptedModel`.
        slice_chars: cut texts and arguments into deltas of so many characters; None: one delta for each part. For bytes: into
            reads of so many bytes.
        gates: by the number of a chunk, counted from 0: what to wait for before it.
        dies_after: die after so many chunks; None: never.
        error: what to raise then; None: a `ConnectionLostError`.
    """

    answer: Any
    slice_chars: int | None = None
    gates: Mapping[int, asyncio.Event] = {}
    dies_after: int | None = None
    error: Exception | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be played."""
        for name, least in (("slice_chars", 1), ("dies_after", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} is {value}; it must be at least {least}", argument=name)


PlainAnswer: TypeAlias = str | AssistantMessage | bytes | Exception | MessageChunk | Sequence[Step] | Scripted
Answer: TypeAlias = PlainAnswer | Callable[[Request], PlainAnswer | Awaitable[PlainAnswer]]


def steps_of(answer: object, slice_chars: int | None) -> list[Step]:
    """Return the steps of an answer.

    Raises:
        UsageError: it is nothing that can be played.
    """
    if isinstance(answer, str):
        return [*chunks_of(AssistantMessage.assemble((TextPart(answer),) if answer else ()), slice_chars)]
    if isinstance(answer, AssistantMessage):
        return [*chunks_of(answer, slice_chars)]
    if isinstance(answer, bytes):
        size = slice_chars or len(answer) or 1
        return [answer[at : at + size] for at in range(0, len(answer), size)] or [b""]  # an empty body is a body, and broken
    if isinstance(answer, (Exception, MessageChunk)):
        return [answer]
    if isinstance(answer, Sequence):
        steps: list[Any] = list(answer)  # pyright: ignore[reportUnknownArgumentType] - checked below
        for n, step in enumerate(steps):
            if not isinstance(step, (MessageChunk, AttemptDiscarded, asyncio.Event, Exception, bytes)):
                raise UsageError(f"step {n} of a scripted answer is a {type(step).__name__}", argument=f"answer[{n}]")
        return steps
    raise UsageError(
        f"a {type(answer).__name__} is no scripted answer: give a text, a message, chunks, bytes or an error", argument="answer"
    )


def chunks_of(message: AssistantMessage, slice_chars: int | None = None) -> Iterator[AssistantMessageChunk]:
    """Give the chunks that a decoder would have made of a message, the end included.

    The message that they make has the same parts; a call may be run if its arguments are an object and nothing ended it early.
    """
    start = MessageStart(message.id, message.model, message.created_at, message.name)
    if start != MessageStart():
        yield _chunk(start)
    for key, part in enumerate(message.parts):
        for delta in _deltas(part, key, slice_chars):
            yield _chunk(delta)
    if message.metadata:
        yield _chunk(MetadataDelta(message.metadata))
    word = message.finish_reason_raw or message.finish_reason or ("tool_calls" if message.tool_calls else "stop")
    yield _chunk(FinishDelta(word, reason=message.finish_reason))
    if message.usage is not None:
        yield _chunk(UsageDelta(message.usage))
    yield _chunk(Ended(is_terminated=True))


def _chunk(delta: Delta) -> AssistantMessageChunk:
    return AssistantMessageChunk.from_deltas((delta,), is_from_wire=True)


def _deltas(part: Part, key: int, slice_chars: int | None) -> Iterable[Delta]:
    if isinstance(part, ToolCallPart):
        yield ToolCallFragment(
            part.id, part.name, index=part.index, kind=part.kind, part=key, is_id_optional=True, provider_data=part.provider_data
        )
        yield from (ToolCallFragment(arguments=piece, part=key) for piece in _slices(part.arguments, slice_chars))
    elif isinstance(part, TextPart) and not part.citations and not part.provider_data:
        yield from (TextDelta(piece, key) for piece in _slices(part.text, slice_chars))
    elif isinstance(part, RefusalPart) and not part.provider_data:
        yield from (RefusalDelta(piece, key) for piece in _slices(part.text, slice_chars))
    elif isinstance(part, ReasoningPart) and not part.provider_data:
        yield from (ReasoningDelta(piece, key) for piece in _slices(part.text, slice_chars))
        if part.signature or part.encrypted or part.details:
            yield ReasoningDelta("", key, signature=part.signature, encrypted=part.encrypted, details=part.details)
    else:
        yield PartDelta(part, key)


def _slices(text: str, size: int | None) -> Iterable[str]:
    if size is None:
        return (text,) if text else ()
    return (text[at : at + size] for at in range(0, len(text), size))
