"""generateContent, as a client: frames in, chunks out. The grammar is the facts' section 4.

The rule of this file: nearly all events take the short way (`fast.py`); the general way (`event_in.py`) reads everything. There is no
terminator: the stream is whole if its body ended after each candidate's finish word, with nothing of substance behind that word.

Source: https://ai.google.dev/api/generate-content.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Final

from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import ReasoningDelta, StreamError, TextDelta
from headrace.wire.decoder import Output
from headrace.wire.event_data import EventData
from headrace.wire.frames import Batch, Frame
from headrace.wire.gemini.event_in import EventReader
from headrace.wire.gemini.fast import REFUSED, FastPart, decode_event
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions

_FAST_TRIES: Final = 16


class GeminiDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self._data = EventData(self.output)
        self._events = EventReader(self.output, provider)
        self._tries = 0 if self.output.is_holding else _FAST_TRIES
        self._ratings = b""  # those that are kept, as long as events go the short way
        self._next_ratings = b""
        self._is_cut = False

    @property
    def is_done(self) -> bool:
        """Whether a terminator came, which some gateways put behind the stream."""
        return self._data.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if isinstance(frame, Batch):
                self._batch(frame, chunks)
            elif not (self.is_done or self.output.is_dead):
                self._one(frame, chunks)
        return chunks

    def _batch(self, batch: Batch, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of plain events: each the short way if it can go it, else the general way."""
        output, offset = self.output, batch.offset
        for data in batch.datas:
            if self.is_done or output.is_dead:
                break
            if self._tries > 0 and self._short(data, chunks):
                output.events += 1
            else:
                self._general(Frame(data, offset), chunks)
            offset += len(data) + batch.around

    def _one(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        if self._tries > 0 and frame.event is None and not frame.is_unterminated and self._short(frame.data, chunks):
            self.output.events += 1
        else:
            self._general(frame, chunks)

    def _general(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        self._ratings, self._next_ratings = self._next_ratings, b""
        self.output.offset = frame.offset
        self._frame(frame)
        self.output.chunk(chunks)
        self.output.events += 1

    # ------------------------------------------------------------------------------------------ the short way

    def _short(self, data: bytes, chunks: list[AssistantMessageChunk]) -> bool:
        """Take an event that is one more piece of the part at hand; returns whether it was."""
        events = self._events
        candidate = events.candidates.get(0)
        if candidate is None or candidate.run is None or not candidate.is_open or self.output.is_holding:
            return False
        try:
            event = decode_event(data)
        except REFUSED:
            self._tries -= 1
            return False
        found = event.candidates
        if not events.has_head and (event.model_version or event.response_id):
            return False
        if len(found) != 1 or found[0].index != 0 or len(found[0].content.parts) != 1:
            return False
        part: FastPart = found[0].content.parts[0]
        text = part.text
        kind, key = candidate.run
        if not text or kind != ("reasoning" if part.thought else "text"):
            return False
        ratings = bytes(found[0].safety_ratings)
        if ratings and ratings != self._ratings:  # the general way keeps them
            self._next_ratings = ratings
            return False
        if event.usage_metadata is not None:
            events.take_usage(event.usage_metadata)
        self.output.fold.choices[0].by_key[candidate.run].pieces.append(text)
        delta = ReasoningDelta(text, key) if part.thought else TextDelta(text, key)
        chunks.append(make_assistant_chunk((delta,), 1, True))
        self._tries = _FAST_TRIES
        return True

    # ------------------------------------------------------------------------------------------ the general way

    def _frame(self, frame: Frame) -> None:
        if frame.is_body and frame.is_unterminated:  # the end of an array that was cut off
            self._is_cut = True
            frame = Frame(frame.data, frame.offset, is_unterminated=True)
        for value, is_error in self._data.read(frame):
            for item in value if isinstance(value, list) and value else [value]:
                if isinstance(item, dict):
                    self._events.read(item, frame.data, is_error=is_error)
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
        candidates = events.candidates.values()
        is_answer = self._data.is_answer and bool(candidates)
        is_terminated = self.is_done or is_answer
        has_finished = bool(candidates) and not any(candidate.is_open for candidate in candidates)
        if output.error is None:
            is_over = is_terminated or (has_finished and complete and not self._is_cut)
            output.error = self._end_error(body_kind, is_over=is_over)
        output.error = output.error or events.malformed_call()
        output.flush(is_cut=output.error is not None and output.error.kind == "stream_truncated")
        events.finish(is_whole=output.error is None)
        return output.end(is_terminated=is_terminated and output.error is None)

    def _end_error(self, body_kind: str, *, is_over: bool) -> StreamError | None:
        if body_kind == "other":
            return StreamError("not_event_stream", "the body is neither an event stream nor JSON")
        if not self._events.has_event:
            return StreamError("stream_truncated", "the body ended before any event came", retryable=True)
        if self._data.is_answer and not self._events.candidates:
            return StreamError("invalid_event", "the body is JSON, but neither an answer nor an error")
        if not is_over:
            return StreamError("stream_truncated", "the stream ended before it said that it was finished", retryable=True)
        return None
