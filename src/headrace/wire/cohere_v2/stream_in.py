"""Cohere v2, as a client: frames in, chunks out. The grammar is the facts' section 8.

The rule of this file: nearly all events take the short way (`fast.py`); the general way (`event_in.py`) reads everything. `message-end` is
the end: it says the finish word and the usage; `[DONE]` behind it is not documented and may be missing.
"""

from __future__ import annotations

from typing import Final

from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import ToolCallFragment
from headrace.wire.cohere_v2.event_in import EventReader
from headrace.wire.cohere_v2.fast import REFUSED, FastEvent, decode_event
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions


_FAST_TRIES: Final = 16
_SHORT: Final = frozenset({None, "content-delta", "tool-call-delta", "tool-plan-delta"})


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
            if isinstance(frame, Batch):
                for n, data in enumerate(frame.datas):
                    self._one(Frame(data, frame.offset_of(n)), chunks)
            else:
                self._one(frame, chunks)
        return chunks

    def _one(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        output = self.output
        if self._events.is_done or output.is_dead:
            return
        event = self._fast_event(frame.data) if self._tries > 0 and frame.event in _SHORT else None
        if event is not None:
            output.offset = frame.offset
            if self._short(event):
                self._events.has_event = self._reader.is_understood = True
                output.chunk(chunks)
                output.events += 1
                return
        self._events.read(frame, chunks)

    def _fast_event(self, data: bytes) -> FastEvent | None:
        """Decode an event the short way; None if it holds anything that needs thought. After some the stream stays on the general way."""
        try:
            return decode_event(data)
        except REFUSED:
            self._tries -= 1
            return None

    def _short(self, event: FastEvent) -> bool:
        """Take an event that is one piece of one thing; returns whether it was."""
        output, message = self.output, event.delta.message
        if event.type == "content-delta":
            content = message.content
            key = self._reader.key_of(event.index)
            if content is None or key is None or message.tool_calls is not None or message.tool_plan is not None:
                return False
            if content.thinking:
                output.text("reasoning", content.thinking, 0, key)
            if content.text:
                output.text("text", content.text, 0, key)
            return True
        if event.type == "tool-call-delta":
            call = message.tool_calls
            if call is None or event.index is None or message.content is not None or message.tool_plan is not None:
                return False
            arguments = call.function.arguments
            output.add(ToolCallFragment("", "", arguments, event.index, event=output.events, offset=output.offset))
            return True
        if event.type == "tool-plan-delta":
            if message.tool_plan is None or message.content is not None or message.tool_calls is not None:
                return False
            self._reader.plan(message.tool_plan)
            return True
        return False

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
