"""Chunks, told to a protocol's writer piece by piece: which part each belongs to, when a call begins, what ended and how.

The rule of this file: it asks the accumulator where a delta went and never decides that itself, so the stream that leaves and the message
agree. What cannot be taken back is not said too early: a call waits until its id and name are known, a part that its wire may replace
waits until the next one begins. Every wait and every made-up id is said. Pure: ids come in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from headrace._json import dumps_text, has_lone_surrogate, replace_surrogates
from headrace.messages.accumulator import Accumulator
from headrace.messages.assembly import content_part, ordered
from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import (
    CitationDelta,
    Ended,
    LogprobsDelta,
    MediaDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    StreamError,
    TextDelta,
    ToolCallFragment,
    ToolCallSettled,
)
from headrace.messages.growing import Choice, Growing
from headrace.messages.parts import ToolCallPart
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.call_out import CallOut
from headrace.wire.parts_writer import CHANGED, HELD_CALL, LEFT_OUT, MADE_ID, Verdict, Writer
from headrace.wire.server_side import broken_call

_CALL: Final = "tool_call"
_WAITING_KINDS: Final = frozenset({"whole", "provider_tool"})


class PartsOut:
    """Tells a writer what chunks add.

    Attributes:
        fold: the message so far.
        has_said: whether anything of substance went out.
        error: why nothing more can be said, where that is known before the end.
    """

    def __init__(self, writer: Writer, new_id: Callable[[], str] | None, *, prefix: str, tool_names: frozenset[str] | None = None) -> None:
        """Start before the first chunk.

        Args:
            writer: is told.
            new_id: makes the ids of calls that have none; by default `prefix` and a number, unique in the answer.
            prefix: what such ids begin with.
            tool_names: see `AnswerOptions`.
        """
        self.fold = Accumulator()
        self.has_said = False
        self.error: StreamError | None = None
        self._writer = writer
        self._new_id = new_id
        self._prefix = prefix
        self._tool_names = tool_names
        self._made = 0
        self._begin()
        self._own: list[Warning] = []
        self._said: set[tuple[str, str, int, int]] = set()
        self._final: tuple[Warning, ...] | None = None

    def _begin(self) -> None:
        self._calls: dict[tuple[int, int], CallOut] = {}
        self._indexes: dict[int, int] = {}
        self._ids: set[str] = set()
        self._waiting: dict[tuple[int, str, int], Growing] = {}
        self._last: dict[int, tuple[str, int]] = {}

    # ------------------------------------------------------------------------------------------ what comes

    def feed(self, chunk: MessageChunk) -> None:
        """Take a chunk; after an error nothing is taken."""
        deltas = chunk.deltas
        if len(deltas) == 1 and type(deltas[0]) is TextDelta and self._goes_on(deltas[0]):
            return
        add, handlers = self.fold.add, self._HANDLERS
        self.fold.is_from_wire = self.fold.is_from_wire or chunk.is_from_wire
        for delta in deltas:
            if self.error is not None:
                return
            key = add(delta)
            handler = handlers.get(type(delta))
            if handler is not None:
                handler(self, delta, key)

    def _goes_on(self, delta: TextDelta) -> bool:
        """Take more of the text that came last, the short way; returns whether it is that."""
        choice = self.fold.choices.get(delta.choice)
        if choice is None or choice.open_text is None or choice.last is None or not delta.text or delta.part is not None:
            return False
        key = choice.last.key
        if self._last.get(delta.choice) != ("text", key) or self.error is not None:
            return False
        choice.open_text.append(delta.text)
        self._writer.text(delta.choice, key, _whole(delta.text))
        return True

    def _text(self, delta: TextDelta, key: int) -> None:
        if key >= 0:
            self._move(delta.choice, "text", key)
            self._writer.text(delta.choice, key, _whole(delta.text))

    def _refusal(self, delta: RefusalDelta, key: int) -> None:
        if key >= 0:
            self._move(delta.choice, "refusal", key)
            self._writer.refusal(delta.choice, key, _whole(delta.text))

    def _reason(self, delta: ReasoningDelta, key: int) -> None:
        if key >= 0:
            if delta.text:
                self._move(delta.choice, "reasoning", key)
            self._writer.reasoning(delta.choice, key, delta)

    def _cite(self, delta: CitationDelta, key: int) -> None:
        if delta.part is not None:  # else it is one of the last text, wherever that stands
            self._move(delta.choice, "text", key)
        self._writer.citation(delta.choice, key, delta.citation)

    def _media(self, delta: MediaDelta, key: int) -> None:
        self._move(delta.choice, "media", key)
        self._writer.media(key, delta)

    def _logprobs(self, delta: LogprobsDelta, _key: int) -> None:
        self._writer.logprobs(delta.choice, delta.logprobs)

    def _restart(self, _delta: Restarted, _key: int) -> None:
        if self.has_said:
            self.error = StreamError("invalid_event", "the model's answer began anew after a part of it had been passed on", retryable=True)
        self._begin()

    def _waits(self, delta: PartDelta | ProviderToolFragment, key: int) -> None:
        if key < 0:
            return
        if isinstance(delta, PartDelta) and isinstance(delta.value, ToolCallPart):
            self._move(delta.choice, _CALL, key)  # it may be replaced, so it goes out at the end
            return
        kind = "whole" if isinstance(delta, PartDelta) else "provider_tool"
        self._move(delta.choice, kind, key)
        self._waiting[delta.choice, kind, key] = self.fold.choice(delta.choice).by_key[kind, key]

    def _fragment(self, delta: ToolCallFragment | ToolCallSettled, key: int) -> None:
        if key < 0:
            return
        choice = self.fold.choice(delta.choice)
        growing = choice.by_key[_CALL, key]
        self._move(delta.choice, _CALL, key)
        call = self._call_of(delta.choice, growing)
        self._grow(call, growing.provider_data, is_forced=growing.is_settled, is_settled=growing.is_settled)

    _HANDLERS: ClassVar[dict[type[Any], Callable[[PartsOut, Any, int], None]]] = {
        TextDelta: _text,
        ReasoningDelta: _reason,
        RefusalDelta: _refusal,
        CitationDelta: _cite,
        MediaDelta: _media,
        LogprobsDelta: _logprobs,
        Restarted: _restart,
        PartDelta: _waits,
        ProviderToolFragment: _waits,
        ToolCallFragment: _fragment,
        ToolCallSettled: _fragment,
    }

    def _move(self, choice: int, kind: str, key: int) -> None:
        """A delta went to this part: what waited for another one to begin goes out."""
        self.has_said = True
        place = (kind, key)
        before = self._last.get(choice)
        if before == place:
            return
        self._last[choice] = place
        if before is None:
            return
        if before[0] == _CALL:
            call = self._calls.get((choice, before[1]))
            if call is not None and not call.is_started:
                self._grow(call, self.fold.choice(choice).by_key[before].provider_data, is_forced=True)
        elif before[0] in _WAITING_KINDS:
            growing = self._waiting.pop((choice, *before), None)
            if growing is not None:
                self._writer.part(choice, growing.key, content_part(growing, self.fold.choice(choice), []))

    # ------------------------------------------------------------------------------------------ calls

    def _grow(self, call: CallOut, data: dict[str, Any], *, is_forced: bool, is_settled: bool = False) -> None:
        if not call.is_started:
            if not self._may_start(call, is_forced=is_forced):
                self._say(HELD_CALL, call, "it has no name or no id yet") if call.has_arguments else None
                return
            self._start(call, data)
        elif call.call.name != call.name and self._writer.takes_late_names and call.call.name.startswith(call.name):
            more, call.name = call.call.name[len(call.name) :], call.call.name
            self._writer.call_renamed(call, _whole(more))
        text = call.news() + (call.settle() if is_settled else "")
        if text and self._streams(call):
            self._writer.call_arguments(call, _whole(text))
        if call.has_ended:
            self._writer.call_ended(call)

    def _call_of(self, choice: int, growing: Growing) -> CallOut:
        """Return a call on its way; one that came anew under its key before anything went out begins anew here too."""
        call = self._calls.get((choice, growing.key))
        if call is None or (call.call is not growing.call and not call.is_started):
            call = self._calls[choice, growing.key] = CallOut(choice, growing.key, growing.own_call(), is_numbered=growing.is_numbered)
        return call

    def _streams(self, call: CallOut) -> bool:
        return call.kind != "custom" or self._writer.takes_free_text

    def _may_start(self, call: CallOut, *, is_forced: bool) -> bool:
        known = call.call
        if not known.has_name:
            return False
        if is_forced:
            return True
        if known.id is None and not known.is_id_optional:
            return False
        return call.is_numbered or call.has_arguments or self._is_whole_name(known.name)

    def _is_whole_name(self, name: str) -> bool:
        if self._tool_names is None:
            return self._writer.takes_late_names
        return name in self._tool_names and not any(other.startswith(name) and other != name for other in self._tool_names)

    def _start(self, call: CallOut, data: dict[str, Any]) -> None:
        known = call.call
        identifier = _whole(known.id or "")
        if not identifier or identifier in self._ids:
            identifier = self._make_id()
            self._say(MADE_ID, call, identifier)
        self._ids.add(identifier)
        call.id, call.name, call.kind, call.is_started = identifier, known.name, known.kind or "function", True
        call.index = self._indexes.get(call.choice, 0)
        self._indexes[call.choice] = call.index + 1
        self._writer.call_started(call, data)

    def _make_id(self) -> str:
        while True:
            self._made += 1
            identifier = self._new_id() if self._new_id is not None else f"{self._prefix}{self._made}"
            if identifier not in self._ids:
                return identifier

    # ------------------------------------------------------------------------------------------ the end

    def finish(self, error: StreamError | None) -> Verdict:
        """Nothing more comes: tell what waited, and judge.

        Args:
            error: why the stream broke off, where the chunks did not say so.
        """
        self._end(error)
        ended = self.fold.ended
        verdict = Verdict({}, self.error or (ended.error if ended is not None else None))
        final: list[Warning] = []
        for index in sorted({0, *self.fold.choices}):
            choice = self.fold.choice(index)
            message = verdict.messages[index] = self.fold.message(choice=index)
            final += message.warnings
            if message.finish_reason == "error" and verdict.error is None:
                verdict.error = StreamError(
                    "provider_error", f"the model's answer failed: {message.finish_reason_raw}", message.finish_reason_raw
                )
            for growing, part in zip(ordered(choice), message.parts, strict=True):
                if isinstance(part, ToolCallPart):
                    self._finish_call(choice, growing, part, verdict)
                elif self._waiting.pop((index, growing.kind, growing.key), None) is not None:
                    self._writer.part(index, growing.key, part)
        self._final = tuple(final)
        return verdict

    def _end(self, error: StreamError | None) -> None:
        if self.fold.ended is None:
            choices = self.fold.choices.values()
            is_whole = not self.fold.is_from_wire and bool(choices) and all(choice.words for choice in choices)
            if error is None and not is_whole:
                error = StreamError("stream_truncated", "the answer ended before it said that it was finished", retryable=True)
            self.fold.add(Ended(error))
        elif error is not None:
            self.error = self.error or error

    def _finish_call(self, choice: Choice, growing: Growing, part: ToolCallPart, verdict: Verdict) -> None:
        call = self._call_of(choice.index, growing)
        self._grow(call, growing.provider_data, is_forced=True)
        rest = call.finish(part)
        if call.is_started:
            if not self._streams(call):
                rest = "" if call.is_faulty else dumps_text({"input": part.arguments})
            if rest:
                self._writer.call_arguments(call, _whole(rest))
                call.is_faulty = call.is_faulty or call.is_cut_short
            if part.name != call.name or (not part.id_made_up and part.id != call.id and not self._is_own_id(call)):
                self._say(CHANGED, call, f"{call.id} {call.name} became {part.id} {part.name}")
                call.is_faulty = call.is_faulty or part.name != call.name
            if (part.kind == "custom") != (call.kind == "custom"):
                self._say(CHANGED, call, f"a call of the kind {call.kind} became {part.kind}")
                call.is_faulty = True
        if call.is_faulty and verdict.error is None:
            self._judge(call, part, verdict)

    def _judge(self, call: CallOut, part: ToolCallPart, verdict: Verdict) -> None:
        """Say a call that must not run: as cut off, where a client sees that by its arguments and the finish reason, else as an error."""
        message = verdict.messages[call.choice]
        if message.finish_reason in ("content_filter", "error", None):
            return  # nothing of such an answer runs
        is_length = message.finish_reason == "length"
        is_cut = any(item.code == "truncated_tool_arguments" and item.part == call.key for item in message.warnings)
        is_mixed = (part.kind == "custom") != (call.kind == "custom")
        if not call.is_started:
            verdict.error = None if is_length else broken_call(part.name)
        elif call.is_whole or is_mixed or part.runnable or not (is_length or is_cut):
            verdict.error = broken_call(part.name)
        elif not is_length:
            verdict.cut.add(call.choice)

    def _is_own_id(self, call: CallOut) -> bool:
        return (MADE_ID, "", call.choice, call.key) in self._said

    # ------------------------------------------------------------------------------------------ what is said

    def note(self, code: str, detail: str, choice: int = 0, key: int = -1) -> None:
        """Keep a warning, once for each part."""
        place = (code, detail if code == LEFT_OUT else "", choice, key)
        if place not in self._said:
            self._said.add(place)
            self._own.append(Warning(code, None, None, choice, key if key >= 0 else None, detail))

    def leave_out(self, what: str, choice: int = 0, key: int = -1) -> None:
        """Say that something has no place on this wire."""
        self.note(LEFT_OUT, what, choice, key)

    def _say(self, code: str, call: CallOut, detail: str) -> None:
        self.note(code, detail, call.choice, call.key)

    @property
    def repairs(self) -> tuple[Warning, ...]:
        """What was repaired or left out so far."""
        seen = self._final
        if seen is None:
            seen = tuple(warning for index in sorted(self.fold.choices) for warning in self.fold.choices[index].warnings)
        return seen + tuple(self._own)


def _whole(text: str) -> str:
    """Return a text that can be written as UTF-8; chunks made by hand may hold half a character."""
    if text.isascii() or not has_lone_surrogate(text):
        return text
    mended: str = replace_surrogates(text)
    return mended
