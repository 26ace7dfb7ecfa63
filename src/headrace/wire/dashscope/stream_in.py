"""DashScope's native API, as a client: frames in, chunks out. The grammar is the facts' section 7.

The rule of this file: the stream has no terminator; it is whole when each choice had its finish word and the connection ended well. The
status of an event stands in a comment inside of it, since the status of the answer is 200 whatever happens later.
"""

from __future__ import annotations

from headrace.messages.chunk import AssistantMessageChunk
from headrace.wire.dashscope.event_in import EventReader
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions


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

    @property
    def is_done(self) -> bool:
        """Whether `[DONE]` came, which relays add: whatever follows is not read."""
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
        if not self._events.is_done and not self.output.is_dead:
            self._reader.is_streamed = not frame.is_body
            self._events.read(frame, chunks)

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
