"""Chat Completions, as a client: frames in, chunks out. The grammar and its dialects are the facts' section 1.

The rule of this file: nearly all events take the short way (`fast.py`); the general way (`event_in.py`) reads everything. Here it is
decided which way an event goes and how the stream has ended; nothing that a peer sends raises.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final

from headrace._json import JSON
from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import ReasoningDelta, StreamError, TextDelta, ToolCallFragment, UsageDelta
from headrace.wire.decoder import Output
from headrace.wire.event_data import EventData
from headrace.wire.frames import Batch, Frame
from headrace.wire.limits import Limits
from headrace.wire.openai_chat import delta_in
from headrace.wire.openai_chat.event_in import EventReader
from headrace.wire.openai_chat.fast import REFUSED, FastCall, FastChoice, FastEvent, decode_event, decode_tail, head_of
from headrace.wire.openai_chat.usage_in import usage_in
from headrace.wire.options import DecodeOptions

_HEAD_NAMES: Final = ("id", "object", "model", "created", "system_fingerprint", "service_tier")
_FAST_TRIES: Final = 16
_PLAIN_TYPES: Final = (None, "function", "")


class ChatDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self._events = EventReader(self.output, provider)
        self._data = EventData(self.output)
        self._head: bytes | None = None
        self._head_fields: dict[str, Any] = {}
        self._tries = _FAST_TRIES

    @property
    def is_done(self) -> bool:
        """Whether `[DONE]` came: whatever follows is not read."""
        return self._data.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if self._data.is_done or self.output.is_dead:
                break
            if isinstance(frame, Batch):
                self._batch(frame, chunks)
            else:
                self._one(frame, chunks)
        return chunks

    def _one(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        output = self.output
        output.offset = frame.offset
        self._frame(frame)
        output.chunk(chunks)
        output.events += 1

    # ------------------------------------------------------------------------------------------ the short way

    def _batch(self, batch: Batch, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of plain events: each the short way if it can go it, else the general way."""
        output, append = self.output, chunks.append
        known, offset, first = 0, batch.offset, output.events
        for n, data in enumerate(batch.datas):
            head = self._head
            event = self._event(data, head) if head is not None and data.startswith(head) else None
            calls: list[FastCall] | None = None
            if event is not None and event.usage is None and event.choices and event.choices[0].finish_reason is None:
                delta = event.choices[0].delta
                text, calls = delta.content, delta.tool_calls
                if delta.reasoning_content or delta.reasoning or (text and calls):
                    calls = None
                elif text and calls is None:
                    open_text = output.fold.choices[0].open_text
                    if open_text is not None:
                        open_text.append(text)
                        append(make_assistant_chunk((TextDelta(text),), 1, True))
                        continue
            offset = offset + len(batch.datas[known]) + batch.around if known == n - 1 else batch.offset_of(n, known=known, at=offset)
            known = n
            if calls and self._continues(calls, first + n, offset, chunks):
                continue
            if event is None or not self._short(event, first + n, offset, chunks):
                output.events = first + n
                self._one(Frame(data, offset), chunks)
            if self._data.is_done or output.is_dead:
                return
        output.events = first + len(batch.datas)

    def _event(self, data: bytes, head: bytes) -> FastEvent | None:
        """Decode an event the short way; None if it holds anything that needs thought."""
        at = len(head)
        try:
            event = decode_event(b"{" + data[at:]) if at > 1 else decode_tail(data)
        except REFUSED:
            self._miss()
            return None
        choices = event.choices
        if choices and (len(choices) != 1 or choices[0].index != 0):
            return None
        return event if at > 1 or self._is_same_head(event) else None

    def _short(self, event: FastEvent, number: int, offset: int, chunks: list[AssistantMessageChunk]) -> bool:
        """Take an event that is one piece of text, of reasoning, or of calls, or how the answer ended; returns whether it was."""
        output, choice = self.output, event.choices[0] if event.choices else None
        if choice is not None and not self._events.open[0]:
            return False  # what comes behind the finish word needs thought
        output.events, output.offset = number, offset
        if event.usage is not None or choice is None or choice.finish_reason is not None:
            return self._end(choice, event.usage, chunks)
        text, calls, reasoning = choice.delta.content, choice.delta.tool_calls, choice.delta.reasoning_content or choice.delta.reasoning
        if calls:
            return not text and not reasoning and self._calls(calls, chunks)
        if text and reasoning:
            return False
        if text:
            output.add(TextDelta(text))
        elif reasoning:
            output.add(ReasoningDelta(reasoning))
        output.chunk(chunks)
        return True

    def _end(self, choice: FastChoice | None, usage: dict[str, Any] | None, chunks: list[AssistantMessageChunk]) -> bool:
        """Take a finish word, the usage, or both, beside which nothing else is said; returns whether it was."""
        if choice is not None and (
            choice.delta.content or choice.delta.tool_calls or choice.delta.reasoning_content or choice.delta.reasoning
        ):
            return False
        try:
            found = None if usage is None else usage_in(delta_in.kept_strict(usage))
        except UsageError:
            return False
        if choice is not None and choice.finish_reason is not None:
            self._events.finish(choice.finish_reason, 0)
        if found is not None:
            self.output.add(UsageDelta(found))
        self.output.chunk(chunks)
        return True

    def _continues(self, calls: list[FastCall], number: int, offset: int, chunks: list[AssistantMessageChunk]) -> bool:
        """Take one more piece of the arguments of a call that is open; returns whether that is all."""
        call = calls[0]
        function, index = call.function, call.index
        arguments = function.arguments
        if not arguments or call.id or function.name or index is None or index < 0 or len(calls) > 1 or call.type not in _PLAIN_TYPES:
            return False
        if not self._events.open[0] or not self.output.fold.continue_call(index, arguments, number, offset):
            return False
        fragment = ToolCallFragment(call.id, function.name, arguments, index, None, None, 0, False, number, offset)
        chunks.append(make_assistant_chunk((fragment,), 1, True))
        return True

    def _calls(self, calls: list[FastCall], chunks: list[AssistantMessageChunk]) -> bool:
        output = self.output
        event, offset = output.events, output.offset
        items: list[ToolCallFragment] = []
        for call in calls:
            index, function = call.index, call.function
            if index is None or index < 0 or call.type not in _PLAIN_TYPES:
                return False
            arguments = function.arguments
            items.append(ToolCallFragment(call.id, function.name, arguments, index, None, None, 0, False, event, offset))
        for fragment in items:
            output.add(fragment)
        output.chunk(chunks)
        return True

    def _is_same_head(self, event: FastEvent) -> bool:
        fields = self._head_fields
        return all(getattr(event, name, None) == fields.get(name) for name in _HEAD_NAMES)

    def _miss(self) -> None:
        """Count an event that the short way refused; after some the stream is of another kind and stays on the general way."""
        self._tries -= 1
        if self._tries <= 0:
            self._head = None

    def _learn(self, data: bytes, event: JSON) -> None:
        """Learn the head of events for the short way; it rests while a choice has finished or a filter is at work."""
        events, output = self._events, self.output
        is_plain = isinstance(event, dict) and 0 in events.streamed and all(events.open.values())
        if self._tries <= 0 or not is_plain or output.is_holding:
            self._head = None
            return
        output.fold.choice(0)  # it is there, even if nothing of it came yet
        if self._head is None or not data.startswith(self._head):
            self._tries -= 1
            self._head = head_of(data)
        if self._head is not None and len(self._head) == 1:
            self._head_fields = {name: event.get(name) for name in _HEAD_NAMES}

    # ------------------------------------------------------------------------------------------ the general way

    def _frame(self, frame: Frame) -> None:
        for value, is_error in self._data.read(frame):
            for item in value if isinstance(value, list) else [value]:
                self._item(item, is_error=is_error)
            self._learn(frame.data, value)

    def _item(self, item: JSON, *, is_error: bool) -> None:
        if isinstance(item, dict):
            self._events.read(item, is_error=is_error)
        elif is_error:
            self._events.fail(item)
        elif item is not None:
            self.output.kill(StreamError("invalid_event", f"event {self.output.events} is JSON, but no object"))

    # ------------------------------------------------------------------------------------------ the end

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Body.kind`).
            complete: False if the transport broke off.
        """
        output, events = self.output, self._events
        output.is_dead = False
        is_terminated = self._data.is_done or (body_kind == "json" and self._data.is_answer and bool(events.open) and not events.has_delta)
        has_finished = bool(events.open) and not any(events.open.values())
        if output.error is None:
            output.error = self._end_error(is_over=is_terminated or (has_finished and complete))
        output.flush(is_cut=output.error is not None and output.error.kind == "stream_truncated")
        for delta in events.rest():
            output.add(delta)
        return output.end(is_terminated=is_terminated and output.error is None)

    def _end_error(self, *, is_over: bool) -> StreamError | None:
        events = self._events
        if not events.has_event:
            return StreamError("stream_truncated", "the body ended before any event came", retryable=True)
        if self._data.is_answer and not events.open:
            return StreamError("invalid_event", "the body is JSON, but neither an answer nor an error")
        if not is_over:
            return StreamError("stream_truncated", "the stream ended before it said that it was finished", retryable=True)
        return None
