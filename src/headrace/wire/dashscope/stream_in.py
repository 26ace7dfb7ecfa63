"""DashScope's native API, as a client: frames in, chunks out. The grammar is the facts' section 7.

The rule of this file: the stream has no terminator; it is whole when each choice had its finish word and the connection ended well. The
status of an event stands in a comment inside of it, since the status of the answer is 200 whatever happens later.
"""

from __future__ import annotations

from typing import Final

from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import TextDelta
from headrace.wire.dashscope.event_in import EventReader
from headrace.wire.dashscope.fast import REFUSED, decode_event
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions

_FAST_TRIES: Final = 16
_FINE: Final = frozenset({None, 200})
_NAMES: Final = frozenset({None, "result"})


class DashScopeDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self._reader = EventReader(self.output, provider, is_incremental=options.incremental_output)
        self._events = JsonEvents(self.output, self._reader)
        self._tries = _FAST_TRIES

    @property
    def is_done(self) -> bool:
        """Whether `[DONE]` came, which relays add: whatever follows is not read."""
        return self._events.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            for one in frame.frames() if isinstance(frame, Batch) else (frame,):
                if self._events.is_done or self.output.is_dead:
                    break
                if not self._short(one, chunks):
                    self._reader.is_streamed = not one.is_body
                    self._events.read(one, chunks)
        return chunks

    def _short(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> bool:
        """Take an event that is one piece of one text; returns whether it was. What needs thought, or has ended, takes the general way."""
        output = self.output
        if self._tries <= 0 or frame.status not in _FINE or frame.event not in _NAMES or not self._reader.is_plain:
            return False
        try:
            event = decode_event(frame.data)
        except REFUSED:
            self._tries -= 1
            return False
        if len(event.output.choices) != 1 or (event.request_id and not self._reader.has_id):
            return False
        message = event.output.choices[0].message
        text = message.content
        output.offset = frame.offset
        self._reader.usage = event.usage
        if message.reasoning_content:
            output.text("reasoning", message.reasoning_content, 0)
        elif text and not output.is_holding and (choice := output.fold.choices.get(0)) and choice.open_text is not None:
            choice.open_text.append(text)
            chunks.append(make_assistant_chunk((TextDelta(text),), 1, True))
            output.events += 1
            return True
        if text:
            output.text("text", text, 0)
        output.chunk(chunks)
        output.events += 1
        return True

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Body.kind`).
            complete: False if the transport broke off.
        """
        output, reader, events = self.output, self._reader, self._events
        output.is_dead = False
        is_understood = bool(reader.open)
        is_terminated = is_understood and (events.is_done or (body_kind == "json" and events.is_answer))
        has_finished = is_understood and not any(reader.open.values())
        if output.error is None:
            is_over = is_terminated or (has_finished and complete)
            output.error = events.end_error(body_kind, is_over=is_over, is_understood=is_understood)
        output.flush(is_cut=output.error is not None and output.error.kind == "stream_truncated")
        for delta in reader.rest():
            output.add(delta)
        return output.end(is_terminated=is_terminated and output.error is None)
