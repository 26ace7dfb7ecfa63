"""The Messages protocol, as a client: frames in, chunks out. The grammar is the facts' section 3.

The rule of this file: it decides what a frame is and how the stream has ended; what events mean is `event_in.py`. Nothing that a peer
sends raises.
"""

from __future__ import annotations

from headrace.messages.chunk import AssistantMessageChunk
from headrace.wire.anthropic_messages.event_in import EventReader
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions


class MessagesDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self._events = EventReader(self.output, options, provider)
        self._json = JsonEvents(self.output, self._events)

    @property
    def is_done(self) -> bool:
        """Whether the message said that it is over, or `[DONE]` came: whatever follows is not read."""
        return self._events.is_stopped or self._json.is_done

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
        if self.is_done or self.output.is_dead:
            return
        self._events.raw, self._events.name = frame.data, frame.event
        self._json.read(frame, chunks)

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Body.kind`).
            complete: False if the transport broke off.
        """
        output, events = self.output, self._events
        output.is_dead = False
        is_terminated = self.is_done and events.has_message
        is_over = is_terminated or (events.has_finished and complete)
        if output.error is None:
            output.error = self._json.end_error(body_kind, is_over=is_over, is_understood=events.has_message)
        is_cut = output.error is not None and output.error.kind == "stream_truncated"
        output.flush(is_cut=is_cut)
        for delta in events.end():
            output.add(delta)
        if output.error is None and not is_terminated:
            output.warn("missing_terminal_event")
        return output.end(is_terminated=is_terminated and output.error is None)
