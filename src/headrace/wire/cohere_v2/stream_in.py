"""Cohere v2, as a client: frames in, chunks out. The grammar is the facts' section 8.

The rule of this file: nearly all events take the short way (`fast.py`); the general way (`event_in.py`) reads everything. `message-end` is
the end: it says the finish word and the usage; `[DONE]` behind it is not documented and may be missing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Final

from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import TextDelta, ToolCallFragment
from headrace.wire.cohere_v2.event_in import EventReader
from headrace.wire.cohere_v2.fast import REFUSED, FastEvent, decode_event
from headrace.wire.decoder import Output
from headrace.wire.frames import AROUND_NAMED, Batch, Frame, NamedBatch
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions

_FAST_TRIES: Final = 16
_SHORT: Final = frozenset({b"", b"content-delta", b"tool-call-delta", b"tool-plan-delta"})


class CohereDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self._reader = EventReader(self.output, provider)
        self._events = JsonEvents(self.output, self._reader)
        self._tries = _FAST_TRIES

    @property
    def is_done(self) -> bool:
        """Whether `[DONE]` came: whatever follows is not read."""
        return self._events.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if isinstance(frame, Frame):
                if not self.is_done and not self.output.is_dead:
                    self._events.read(frame, chunks)
            elif isinstance(frame, NamedBatch):
                self._batch(frame, frame.names, AROUND_NAMED, chunks)
            else:
                self._batch(frame, itertools.repeat(b""), frame.around, chunks)
        return chunks

    def _batch(self, batch: Batch, names: Iterable[bytes], around: int, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of plain events: each the short way if it can go it, else the general way."""
        output, events = self.output, self._events
        append, offset = chunks.append, batch.offset
        for name, data in zip(names, batch.datas, strict=False):
            if events.is_done or output.is_dead:
                return
            event = self._fast_event(name, data) if self._tries > 0 else None
            if event is None or not self._text(event, append):
                output.offset = offset
                if event is not None and self._short(event):
                    output.chunk(chunks)
                    output.events += 1
                else:
                    events.read(Frame(data, offset, name.decode("utf-8", "replace") or None), chunks)
            offset += len(name) + len(data) + around

    def _fast_event(self, name: bytes, data: bytes) -> FastEvent | None:
        """Decode an event the short way; None if it holds anything that needs thought. After some the stream stays on the general way."""
        if name not in _SHORT:
            return None
        try:
            return decode_event(data)
        except REFUSED:
            self._tries -= 1
            return None

    def _text(self, event: FastEvent, append: Callable[[AssistantMessageChunk], None]) -> bool:
        """Take more text of a block that holds some already; returns whether it was that."""
        message = event.delta.message
        content = message.content
        if content is None or not content.text or content.thinking or message.tool_calls is not None or message.tool_plan is not None:
            return False
        found = self._reader.open_text(event.index) if event.type == "content-delta" else None
        if found is None:
            return False
        key, pieces = found
        pieces.append(content.text)
        append(make_assistant_chunk((TextDelta(content.text, key),), 1, True))
        self.output.events += 1
        return True

    def _short(self, event: FastEvent) -> bool:
        """Take an event that is one piece of one thing; returns whether it was."""
        output, message = self.output, event.delta.message
        content, call, plan = message.content, message.tool_calls, message.tool_plan
        if (content is not None) + (call is not None) + (plan is not None) != 1:
            return False
        if content is not None and event.type == "content-delta":
            key = self._reader.key_of(event.index)
            if key is None:
                return False
            if content.thinking:
                output.text("reasoning", content.thinking, 0, key)
            if content.text:
                output.text("text", content.text, 0, key)
        elif call is not None and event.type == "tool-call-delta" and event.index is not None:
            arguments = output.arguments(event.index, call.function.arguments, 0)
            output.add(ToolCallFragment("", "", arguments, event.index, event=output.events, offset=output.offset))
        elif plan is not None and event.type == "tool-plan-delta":
            self._reader.plan(plan)
        else:
            return False
        self._events.has_event = self._reader.is_understood = True
        return True

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Body.kind`).
            complete: False if the transport broke off; after `message-end` that changes nothing.
        """
        del complete  # a stream without its own end is cut, however the connection ended
        output, reader = self.output, self._reader
        output.is_dead = False
        is_terminated = reader.has_ended or (self._events.is_done and reader.is_understood)
        if output.error is None:
            output.error = self._events.end_error(body_kind, is_over=is_terminated, is_understood=reader.is_understood)
        is_cut = output.error is not None and output.error.kind == "stream_truncated"
        output.flush(is_cut=is_cut)
        for delta in reader.rest(is_cut=is_cut):
            output.add(delta)
        return output.end(is_terminated=is_terminated and output.error is None)
