"""Fold: the messages that a run stored, built again from its events (law 8).

The rule of this file: what was streamed is built from what was streamed: texts, reasoning and calls come from their blocks, also where
a log has joined neighbouring deltas. `round_ended` gives what no block carries (usage, ids, media, what a provider wants back), and so
the order of the parts. A log that breaks off in an answer gives that answer as far as it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import assert_never

import msgspec

from headrace.agent.events import (
    AttemptDiscarded,
    Event,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    ReminderAdded,
    RoundEnded,
    RoundStarted,
    RunEnded,
    RunStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallArguments,
    ToolCallEnded,
    ToolCallStarted,
    ToolEnded,
)
from headrace.messages.message import AssistantMessage, Message, ToolMessage
from headrace.messages.parts import Part, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart, make


def fold(events: Iterable[Event]) -> tuple[Message, ...]:
    """Return the messages that the events of one run make, in order: those that the run stored.

    Args:
        events: all events of the run from its start, in order; neighbouring deltas of one part may have been joined.
    """
    folder = Folder()
    for event in events:
        folder.feed(event)
    return folder.messages


def results_message(message_id: str, results: Sequence[ToolResultPart], at: datetime | None) -> ToolMessage:
    """Return the one tool message of a round: a result for each call, in the order of the calls.

    Args:
        message_id: the id of the assistant message with the calls.
        results: in order.
        at: when the last of them came.
    """
    return ToolMessage.assemble(results, id=f"{message_id}/results", created_at=at)


class _Block:
    """A text, a refusal, some reasoning or a call, as it comes in."""

    __slots__ = ("call", "key", "kind", "pieces", "signature")

    def __init__(self, kind: str, key: int) -> None:
        self.kind = kind
        self.key = key
        self.pieces: list[str] = []
        self.signature: str | None = None
        self.call: ToolCallEnded | ToolCallStarted | None = None


class _Answer:
    """One model's answer, as it comes in."""

    def __init__(self) -> None:
        self.message_id: str | None = None
        self.run_id: str | None = None
        self.blocks: dict[tuple[str, str | int], _Block] = {}
        self.ended: list[_Block] = []

    def open(self, kind: str, key: int, message_id: str) -> None:
        self.message_id = message_id
        self.blocks[kind, key] = _Block(kind, key)

    def open_call(self, event: ToolCallStarted) -> None:
        self.message_id, _, part = event.call_key.rpartition("/")
        block = self.blocks["call", event.call_key] = _Block("call", int(part))
        block.call = event

    @property
    def call_keys(self) -> tuple[str, ...]:
        """The keys of the calls, in the order of the message."""
        return tuple(block.call.call_key for block in self.ended if block.call is not None)

    def by_place(self) -> list[_Block]:
        """The blocks of an answer that did not end, by their place; the calls, in the places of calls, as they ended or started."""
        blocks = sorted(self.blocks.values(), key=lambda block: block.key)
        ended = [block for block in self.ended if block.kind == "call"]
        calls = iter(ended + [block for block in blocks if isinstance(block.call, ToolCallStarted)])
        return [next(calls) if block.kind == "call" else block for block in blocks]


class Folder:
    """The fold, one event at a time.

    Attributes:
        messages: what the events so far make; results that are still on their way count once their round is over.
    """

    def __init__(self) -> None:
        """Start before the first event."""
        self._messages: list[Message] = []
        self._answer = _Answer()
        self._round: tuple[str, tuple[str, ...]] = ("", ())
        self._results: dict[str, ToolResultPart] = {}
        self._results_at: datetime | None = None
        self._is_paused = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages so far."""
        # While a run waits for somebody, the round is open: its results come together once all are there.
        return (*self._messages, *self._broken_off(), *(() if self._is_paused else self._open_results()))

    def settled(self, count: int) -> tuple[Message, ...] | None:
        """Return the first messages of the run, as its state has them: those of rounds that are over, and the present round's answer.

        Args:
            count: how many the state has. The results of a round that is just over are counted before an event says so.

        Returns:
            The messages, or None if the events make fewer.
        """
        messages = self._messages if count <= len(self._messages) else [*self._messages, *self._open_results()]
        return tuple(messages[:count]) if count <= len(messages) else None

    def feed(self, event: Event) -> None:
        """Take the next event."""
        self._is_paused = isinstance(event, RunEnded) and bool(event.pending)
        match event:
            case RunStarted():
                self._messages.extend(event.input)
            case TextDelta() | ReasoningDelta() | ToolCallArguments():
                self._block_of(event).pieces.append(event.text)
            case TextStarted() | ReasoningStarted() | ToolCallStarted():
                self._open(event)
            case TextEnded() | ReasoningEnded() | ToolCallEnded():
                self._close(event)
            case AttemptDiscarded():
                self._answer = _Answer()
            case RoundEnded():
                self._end_answer(event.message)
            case ToolEnded():
                self._results[event.call_key] = event.result
                self._results_at = event.at
            case ReminderAdded():
                self._settle()
                self._messages.append(event.message)
            case RunEnded() if event.pending:
                pass
            case RoundStarted() | RunEnded():
                self._settle()
            case _:
                pass

    def _open(self, event: TextStarted | ReasoningStarted | ToolCallStarted) -> None:
        self._answer.run_id = event.run_id
        match event:
            case ToolCallStarted():
                self._answer.open_call(event)
            case TextStarted():
                self._answer.open(event.kind, event.part, event.message_id)
            case ReasoningStarted():
                self._answer.open("reasoning", event.part, event.message_id)
            case _:
                assert_never(event)

    def _close(self, event: TextEnded | ReasoningEnded | ToolCallEnded) -> None:
        block = self._block_of(event)
        self._answer.ended.append(block)
        if isinstance(event, ToolCallEnded):
            block.call = event
        elif isinstance(event, ReasoningEnded):
            block.signature = event.signature

    def _block_of(self, event: TextDelta | TextEnded | ReasoningDelta | ReasoningEnded | ToolCallArguments | ToolCallEnded) -> _Block:
        match event:
            case TextDelta() | TextEnded():
                return self._answer.blocks[event.kind, event.part]
            case ReasoningDelta() | ReasoningEnded():
                return self._answer.blocks["reasoning", event.part]
            case ToolCallArguments() | ToolCallEnded():
                return self._answer.blocks["call", event.call_key]
            case _:
                assert_never(event)

    def _end_answer(self, message: AssistantMessage | None) -> None:
        answer, self._answer = self._answer, _Answer()
        if message is None:
            return
        self._messages.append(_filled(message, answer.ended))
        self._round = (message.id or "", answer.call_keys)

    def _settle(self) -> None:
        """The round is over: its results are a message."""
        self._messages += self._open_results()
        self._results = {}

    def _open_results(self) -> list[Message]:
        if not self._results:
            return []
        message_id, calls = self._round
        results = [self._results[key] for key in calls if key in self._results]
        return [results_message(message_id, results, self._results_at)]

    def _broken_off(self) -> list[Message]:
        blocks = self._answer.by_place()
        if not blocks:
            return []
        parts = [_part(block) for block in blocks]
        return [AssistantMessage.assemble(parts, id=self._answer.message_id, run_id=self._answer.run_id)]


def _filled(message: AssistantMessage, blocks: list[_Block]) -> AssistantMessage:
    """Return the message with what the blocks say, in the order in which they ended, in the place of its own texts, reasoning and calls."""
    by_kind: dict[str, Iterator[_Block]] = {
        kind: iter([block for block in blocks if block.kind == kind]) for kind in ("text", "refusal", "reasoning", "call")
    }
    parts = [_filled_part(part, by_kind) for part in message.parts]
    return msgspec.structs.replace(message, parts=tuple(parts))


def _filled_part(part: Part, blocks: dict[str, Iterator[_Block]]) -> Part:
    match part:
        case TextPart():
            block = next(blocks["text"])
        case RefusalPart():
            block = next(blocks["refusal"])
        case ReasoningPart():
            block = next(blocks["reasoning"])
        case ToolCallPart():
            ended = next(blocks["call"]).call
            assert isinstance(ended, ToolCallEnded)
            return msgspec.structs.replace(
                part, id=ended.call_id, name=ended.name, arguments=ended.arguments, parsed=ended.parsed, runnable=ended.runnable
            )
        case _:
            return part
    return msgspec.structs.replace(part, text="".join(block.pieces))


def _part(block: _Block) -> Part:
    """Build a part from its block alone."""
    text = "".join(block.pieces)
    match block.call:
        case ToolCallEnded() as ended:
            return make(
                ToolCallPart,
                id=ended.call_id,
                name=ended.name,
                arguments=ended.arguments,
                parsed=ended.parsed,
                runnable=ended.runnable,
            )
        case ToolCallStarted() as started:
            return make(ToolCallPart, id=started.call_id, name=started.name, arguments=text)
        case _ if block.kind == "reasoning":
            return make(ReasoningPart, text=text, signature=block.signature)
        case _ if block.kind == "refusal":
            return make(RefusalPart, text=text)
        case _:
            return make(TextPart, text=text)
