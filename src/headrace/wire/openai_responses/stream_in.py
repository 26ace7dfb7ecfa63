"""OpenAI Responses, as a client: frames in, chunks out. The grammar and its dialects are the facts' section 2.

The rule of this file: it decides which way a frame goes and how the stream has ended. A stream is whole when the response itself has said
how it ended; `[DONE]` says nothing here. Nothing that a peer sends raises.
"""

from __future__ import annotations

from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import StreamError
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.openai_responses.event_in import EventReader
from headrace.wire.options import DecodeOptions


class ResponsesDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self._events = EventReader(self.output, provider)
        self._json = JsonEvents(self.output, self._events)

    @property
    def is_done(self) -> bool:
        """Whether the response has said how it ended, or `[DONE]` came: whatever follows is not read."""
        return self._events.is_over or self._json.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if isinstance(frame, Frame):
                self._frame(frame, chunks)
                continue
            offset = frame.offset
            for data in frame.datas:
                self._frame(Frame(data, offset), chunks)
                offset += len(data) + frame.around
        return chunks

    def _frame(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        if self.is_done or self.output.is_dead:
            return
        self._events.name = frame.event
        self._events.data = frame.data
        self._json.read(frame, chunks)

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:  # noqa: ARG002 - only the response's own word counts
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Body.kind`).
            complete: False if the transport broke off; that changes nothing here.
        """
        output, events = self.output, self._events
        output.is_dead = False
        if output.error is None:
            output.error = self._end_error(body_kind)
        output.flush(is_cut=output.error is not None and output.error.kind == "stream_truncated")
        events.items.close()
        for delta in events.rest():
            output.add(delta)
        return output.end(is_terminated=events.is_over and output.error is None)

    def _end_error(self, body_kind: str) -> StreamError | None:
        events = self._events
        error = self._json.end_error(body_kind, is_over=events.is_over, is_understood=events.has_answer)
        if error is None or error.kind != "stream_truncated" or not events.has_answer:
            return error
        if self._json.is_answer:
            return StreamError("stream_truncated", f"the response is {events.status}: ask for it again by its id", retryable=True)
        if self._json.is_done:
            self.output.warn("missing_terminal_event", "[DONE] came, but no event that says how the response ended")
        return error
