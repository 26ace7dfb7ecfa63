"""Blocks: a model's chunks as live events, a few operations for each delta.

The rule of this file: it asks the accumulator where a delta went and decides nothing itself, so events and messages cannot disagree
about which part or call a piece belongs to. Every block that it starts, `end` ends. Pure: times come in with the `Scribe`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from headrace._json import dumps_text
from headrace.agent import events
from headrace.agent.events import Event
from headrace.messages.accumulator import Accumulator
from headrace.messages.assembly import ordered
from headrace.messages.deltas import CitationDelta, Delta, PartDelta, ReasoningDelta, RefusalDelta, TextDelta, ToolCallFragment
from headrace.messages.growing import Growing
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


class Scribe:
    """Numbers and stamps the events of one run.

    Attributes:
        run_id: the run.
        round: the round that events belong to.
        at: the time that events get.
        made: the events that were made and not taken yet, in order.
        is_watched: somebody takes them; else only the sink gets events.
    """

    __slots__ = ("_sink", "at", "is_watched", "made", "round", "run_id", "seq")

    def __init__(self, run_id: str, *, at: datetime = _BEGINNING, sink: Callable[[Event], object] | None = None) -> None:
        """Start before the first event; `sink` sees each event as it is made."""
        self._sink = sink
        self.run_id = run_id
        self.seq = 0
        self.round = 0
        self.at = at
        self.made: deque[Event] = deque()
        self.is_watched = True

    @property
    def is_unseen(self) -> bool:
        """Whether events go nowhere."""
        return not self.is_watched and self._sink is None

    def add(self, kind: Callable[..., Event], *fields: Any) -> None:
        """Make the next event, of this class, with these fields of its own."""
        self.seq += 1
        if not self.is_watched and self._sink is None:
            return  # nobody would ever see it
        event = kind(self.seq, self.run_id, self.round, self.at, *fields)
        if self.is_watched:
            self.made.append(event)
        if self._sink is not None:
            self._sink(event)


class Blocks:
    """The blocks of one model's answer.

    Attributes:
        message_id: the message that they belong to.
        call_keys: the keys of the message's calls, in its order; known once it has ended.
    """

    __slots__ = (
        "_accumulator",
        "_calls",
        "_choice",
        "_free",
        "_reasoning",
        "_refusals",
        "_scribe",
        "_texts",
        "_waiting",
        "call_keys",
        "message_id",
    )

    def __init__(self, message_id: str, scribe: Scribe) -> None:
        """Start without blocks; events go to the scribe."""
        self.message_id = message_id
        self.call_keys: tuple[str, ...] = ()
        self._scribe = scribe
        self._accumulator = Accumulator(is_from_wire=True)
        self._choice = self._accumulator.choice(0)
        self._texts: set[int] = set()
        self._refusals: set[int] = set()
        self._reasoning: set[int] = set()
        self._calls: set[int] = set()
        self._waiting: dict[int, list[str]] = {}
        self._free = 0

    def feed(self, deltas: Iterable[Delta]) -> None:
        """Take the deltas of a chunk."""
        add, handlers = self._accumulator.add, self._HANDLERS
        for delta in deltas:
            key = add(delta)
            if type(delta) is TextDelta and key in self._texts and not delta.choice:  # the common case, inlined
                self._scribe.add(events.TextDelta, self.message_id, key, delta.text)
            elif key >= 0:
                handler = handlers.get(type(delta))
                if handler is not None:
                    handler(self, delta, key)

    def snapshot(self) -> AssistantMessage:
        """Return the message of what has come, in which nothing is runnable unless the stream itself has ended."""
        return self._accumulator.message()

    @property
    def has_begun(self) -> bool:
        """Whether something of the answer has come."""
        return bool(self._choice.parts)

    @property
    def parts(self) -> Sequence[Growing]:
        """The parts so far, in the order in which they came; it grows by itself."""
        return self._choice.parts

    def is_made_of(self, message: AssistantMessage) -> bool:
        """Return whether a message has as many parts as came here."""
        return len(message.parts) == len(self._choice.parts)

    def end(self, message: AssistantMessage) -> None:
        """The answer has ended as this message, made from the same deltas: end every block, in the order of the message."""
        call_keys: list[str] = []
        for growing, part in zip(ordered(self._choice), message.parts, strict=True):
            is_whole = growing.kind == "whole"
            match part:
                case TextPart():
                    self._end_text(self._place(growing.key, self._texts, is_whole=is_whole), part.text, "text", self._texts)
                case RefusalPart():
                    self._end_text(self._place(growing.key, self._refusals, is_whole=is_whole), part.text, "refusal", self._refusals)
                case ReasoningPart():
                    self._end_reasoning(self._place(growing.key, self._reasoning, is_whole=is_whole), part)
                case ToolCallPart():
                    call_keys.append(self._end_call(growing.key, part))
                case _:
                    pass
        self.call_keys = tuple(call_keys)

    def _place(self, key: int, taken: set[int], *, is_whole: bool) -> int:
        """Return the key of a block; a part that came whole under the key of another one gets one of its own."""
        if not is_whole or key not in taken:
            return key
        self._free = max(self._free, self._choice.next_key) + 1
        return self._free

    # ------------------------------------------------------------------------------------------ one delta each

    def _text(self, delta: TextDelta | CitationDelta, key: int) -> None:
        if delta.choice:
            return
        if key not in self._texts:
            self._texts.add(key)
            self._scribe.add(events.TextStarted, self.message_id, key)
        if type(delta) is TextDelta:
            self._scribe.add(events.TextDelta, self.message_id, key, delta.text)

    def _refusal(self, delta: RefusalDelta, key: int) -> None:
        if delta.choice:
            return
        if key not in self._refusals:
            self._refusals.add(key)
            self._scribe.add(events.TextStarted, self.message_id, key, "refusal")
        self._scribe.add(events.TextDelta, self.message_id, key, delta.text, "refusal")

    def _reason(self, delta: ReasoningDelta, key: int) -> None:
        if delta.choice:
            return
        if key not in self._reasoning:
            self._reasoning.add(key)
            self._scribe.add(events.ReasoningStarted, self.message_id, key)
        if delta.text:
            self._scribe.add(events.ReasoningDelta, self.message_id, key, delta.text)

    def _fragment(self, delta: ToolCallFragment, key: int) -> None:
        if delta.choice:
            return
        self._grow_call(key, dumps_text(delta.arguments) if isinstance(delta.arguments, dict) else delta.arguments)

    def _whole(self, delta: PartDelta, key: int) -> None:
        if not delta.choice and isinstance(delta.value, ToolCallPart):
            self._grow_call(key, delta.value.arguments)

    def _grow_call(self, key: int, arguments: str | None) -> None:
        if key in self._calls:
            if arguments:
                self._scribe.add(events.ToolCallArguments, self.call_key(key), arguments)
            return
        waiting = self._waiting.setdefault(key, [])
        if arguments:
            waiting.append(arguments)
        call = self._choice.by_key["tool_call", key].call
        if call is not None and call.name:
            self._start_call(key, call.id or "", call.name)

    _HANDLERS: ClassVar[dict[type[Any], Callable[[Blocks, Any, int], None]]] = {
        TextDelta: _text,
        CitationDelta: _text,
        RefusalDelta: _refusal,
        ReasoningDelta: _reason,
        ToolCallFragment: _fragment,
        PartDelta: _whole,
    }
    # What is missing here has no event of its own (media, usage) or only settles what came before. Whole texts and reasoning can be
    # replaced until the answer ends (`PartDelta`), so they start and end then.

    # ------------------------------------------------------------------------------------------ starting and ending

    def call_key(self, key: int) -> str:
        """Return the key of a call, by that of its part."""
        return f"{self.message_id}/{key}"

    def _start_call(self, key: int, call_id: str, name: str) -> None:
        self._calls.add(key)
        self._scribe.add(events.ToolCallStarted, self.call_key(key), call_id, name)
        arguments = "".join(self._waiting.pop(key, ()))
        if arguments:
            self._scribe.add(events.ToolCallArguments, self.call_key(key), arguments)

    def _end_call(self, key: int, part: ToolCallPart) -> str:
        if key not in self._calls:
            self._waiting.setdefault(key, [part.arguments])
            self._start_call(key, part.id, part.name)
        call_key = self.call_key(key)
        self._scribe.add(events.ToolCallEnded, call_key, part.id, part.name, part.arguments, part.parsed, part.runnable)
        return call_key

    def _end_text(self, key: int, text: str, kind: events.TextKind, started: set[int]) -> None:
        if key not in started:
            self._scribe.add(events.TextStarted, self.message_id, key, kind)
            if text:
                self._scribe.add(events.TextDelta, self.message_id, key, text, kind)
        self._scribe.add(events.TextEnded, self.message_id, key, kind)

    def _end_reasoning(self, key: int, part: ReasoningPart) -> None:
        if key not in self._reasoning:
            self._scribe.add(events.ReasoningStarted, self.message_id, key)
            if part.text:
                self._scribe.add(events.ReasoningDelta, self.message_id, key, part.text)
        self._scribe.add(events.ReasoningEnded, self.message_id, key, part.signature)
