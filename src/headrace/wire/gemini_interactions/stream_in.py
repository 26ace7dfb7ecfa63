"""The Interactions API, as a client: frames in, chunks out. The grammar is the facts' section 4.3.

The rule of this file: pieces of text take the short way (`fast.py`), everything else the general one (`event_in.py`). The stream is whole
if the interaction's end came, or `[DONE]`, or the body ended after a state that is final.

Source: https://ai.google.dev/gemini-api/docs/interactions.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final

from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import StreamError, TextDelta
from headrace.wire.decoder import Output
from headrace.wire.event_data import EventData
from headrace.wire.frames import AROUND_NAMED, Batch, Frame, NamedBatch
from headrace.wire.gemini_interactions.event_in import EventReader
from headrace.wire.gemini_interactions.fast import REFUSED, decode_event
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions

_FAST_TRIES: Final = 16
_SHORT_NAMES: Final = (b"step.delta", b"")


class InteractionsDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self._data = EventData(self.output)
        self._events = EventReader(self.output, provider)
        self._tries = _FAST_TRIES

    @property
    def is_done(self) -> bool:
        """Whether `[DONE]` came: whatever follows is not read."""
        return self._data.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if isinstance(frame, NamedBatch):
                self._batch(frame, frame.names, AROUND_NAMED, chunks)
            elif isinstance(frame, Batch):
                self._batch(frame, itertools.repeat(b""), frame.around, chunks)
            else:
                self._one(frame, chunks)
        return chunks

    def _batch(self, batch: Batch, names: Iterable[bytes], around: int, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of plain events: each the short way if it can go it, else the general way."""
        output, offset = self.output, batch.offset
        for name, data in zip(names, batch.datas, strict=False):
            if self._tries > 0 and name in _SHORT_NAMES and self._short(data, chunks):
                output.events += 1
            else:
                self._one(Frame(data, offset, name.decode("utf-8", "replace") or None), chunks)
            offset += len(name) + len(data) + around

    def _one(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        output = self.output
        if self.is_done or output.is_dead:
            return
        if self._tries > 0 and frame.event in (None, "step.delta") and self._short(frame.data, chunks):
            output.events += 1
            return
        output.offset = frame.offset
        for value, is_error in self._data.read(frame):
            if isinstance(value, dict):
                self._events.read(value, name=frame.event, is_error=is_error)
            elif is_error:
                self._events.fail(value)
            elif value is not None:
                output.kill(StreamError("invalid_event", f"event {output.events} is JSON, but no object"))
        output.chunk(chunks)
        output.events += 1

    def _short(self, data: bytes, chunks: list[AssistantMessageChunk]) -> bool:
        """Take an event that is one more piece of the text at hand; returns whether it was."""
        if self.output.is_holding or self.output.is_dead or self.is_done:
            return False
        try:
            event = decode_event(data)
        except REFUSED:
            self._tries -= 1
            return False
        step, text = self._events.steps.steps.get(event.index), event.delta.text
        if step is None or step.is_stopped or step.run != "text" or step.part is None or not text:
            return False
        self._tries = _FAST_TRIES
        self.output.fold.choices[0].by_key["text", step.part].pieces.append(text)
        chunks.append(make_assistant_chunk((TextDelta(text, step.part),), 1, True))
        return True

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Body.kind`).
            complete: False if the transport broke off.
        """
        output, events = self.output, self._events
        output.is_dead = False
        is_terminated = self.is_done or events.is_completed
        if output.error is None:
            output.error = self._end_error(body_kind, is_over=is_terminated or (events.has_finished and complete))
        output.flush(is_cut=output.error is not None and output.error.kind == "stream_truncated")
        events.finish()
        return output.end(is_terminated=is_terminated and output.error is None)

    def _end_error(self, body_kind: str, *, is_over: bool) -> StreamError | None:
        if body_kind == "other":
            return StreamError("not_event_stream", "the body is neither an event stream nor JSON")
        if not self._events.has_event:
            return StreamError("stream_truncated", "the body ended before any event came", retryable=True)
        if self._data.is_answer and not self._events.is_completed:
            return StreamError("invalid_event", "the body is JSON, but neither an answer nor an error")
        if not is_over:
            return StreamError("stream_truncated", "the stream ended before it said that it was finished", retryable=True)
        return None
