"""Bedrock's Converse, as a client: frames in, chunks out. The grammar is the facts' section 5.1.

The rule of this file: a delta of text, thinking or arguments takes the short way, everything else the general one (`event_in.py`), and
both say the same. Here it is decided what a frame is (an event, an exception, a fault) and how the stream has ended; nothing that a
peer sends raises.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec

from headrace._json import JSON, JSONError, loads_lenient
from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import ReasoningDelta, StreamError, TextDelta, ToolCallFragment
from headrace.wire.aws_frames import AwsBatch
from headrace.wire.bedrock_converse.event_in import EventReader
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents, kept
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions

_DELTA: Final = "contentBlockDelta"


class FastInput(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of a call's arguments."""

    input: str


class FastReasoning(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of thinking."""

    text: str


class FastDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A delta that needs no thought."""

    text: str | None = None
    tool_use: FastInput | None = msgspec.field(default=None, name="toolUse")
    reasoning: FastReasoning | None = msgspec.field(default=None, name="reasoningContent")


class FastEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`contentBlockDelta` with such a delta."""

    delta: FastDelta
    index: int = msgspec.field(name="contentBlockIndex")
    p: str | None = None

    @property
    def is_text(self) -> bool:
        """Whether it is a piece of text and nothing else."""
        return self.delta.text is not None and self.delta.tool_use is None and self.delta.reasoning is None


def _event_of(data: bytes) -> FastEvent | None:
    try:
        return _decode(data)
    except _REFUSED:
        return None


_decode: Final = msgspec.json.Decoder(FastEvent).decode
_REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


class ConverseDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
        has_short_way: whether frames may take the short way.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self.has_short_way = True
        self._events = EventReader(self.output, provider)
        self._json = JsonEvents(self.output, self._events)
        self._is_cut = False

    @property
    def is_done(self) -> bool:
        """Never: what follows `messageStop` is read too, since the usage does."""
        return False

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if self.output.is_dead:
                break
            if isinstance(frame, Frame):
                self._one(frame, chunks)
            elif isinstance(frame, AwsBatch) and frame.event == _DELTA and self.has_short_way:
                self._deltas(frame, chunks)
            else:
                for single in frame.frames():
                    self._one(single, chunks)
        return chunks

    def _one(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        """Take a frame the general way."""
        output, events = self.output, self._events
        if output.is_dead:
            return
        output.offset = frame.offset
        if frame.kind != "event" or (frame.is_unterminated and not frame.data):
            self._fault(frame)
            output.chunk(chunks)
            output.events += 1
        else:
            events.name, events.is_body = frame.event, frame.is_body
            self._json.read(frame, chunks)

    # ------------------------------------------------------------------------------------------ the short way

    def _deltas(self, batch: AwsBatch, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of deltas: each the short way if it can go it, else the general way."""
        output, append = self.output, chunks.append
        offset, around = batch.offset, batch.around
        number, pieces = -1, None
        for data in batch.datas:
            event = _event_of(data)
            text = None if event is None else event.delta.text
            if event is not None and text and pieces is not None and event.index == number and event.is_text:
                pieces.append(text)
                append(make_assistant_chunk((TextDelta(text, number),), 1, True))
                output.events += 1
            elif event is None or not self._short(event, offset, chunks):
                self._one(Frame(data, offset, _DELTA), chunks)
                pieces = None
                if output.is_dead:
                    return
            else:
                number, pieces = event.index, self._open_text(event.index)
            offset += len(data) + around

    def _open_text(self, number: int) -> list[str] | None:
        """Return the pieces of a text that goes on, if nothing more needs to be asked."""
        choice = self.output.fold.choices.get(0)
        part = None if choice is None or choice.has_finished else choice.by_key.get(("text", number))
        return None if part is None else part.pieces

    def _short(self, event: FastEvent, offset: int, chunks: list[AssistantMessageChunk]) -> bool:
        """Take a delta that is one piece of one thing; returns whether it was."""
        output, blocks, number, delta = self.output, self._events.blocks, event.index, event.delta
        if output.is_holding or not self._json.has_event or number < 0 or not blocks.continues(number):
            return False
        output.offset = offset
        if event.is_text:
            if delta.text:
                output.add(TextDelta(delta.text, number))
        elif delta.reasoning is not None and delta.tool_use is None and delta.text is None:
            if delta.reasoning.text:
                output.add(ReasoningDelta(delta.reasoning.text, number))
        elif delta.tool_use is not None and delta.text is None and blocks.is_call(number):
            if delta.tool_use.input:
                output.add(ToolCallFragment(None, None, delta.tool_use.input, number, None, number, 0, False, output.events, offset))
        else:
            return False
        output.chunk(chunks)
        output.events += 1
        return True

    # ------------------------------------------------------------------------------------------ faults

    def _fault(self, frame: Frame) -> None:
        """Take a frame that is no event: an exception, an error, a broken one, one that was cut off."""
        if frame.kind == "event":
            self._is_cut = True
            return
        words = frame.data.decode("utf-8", "replace")
        if frame.kind == "broken":
            self.output.kill(StreamError("invalid_event", words))
            return
        body: JSON = words
        # What cannot be read or kept as an object stays as its words.
        with suppress(JSONError, UsageError):
            body = kept(loads_lenient(frame.data)[0]) if frame.kind == "exception" else words
        self._events.fail(frame.event, body)

    # ------------------------------------------------------------------------------------------ the end

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Framer.kind`).
            complete: False if the transport broke off; `messageStop` makes the message whole all the same.
        """
        del complete
        output, events = self.output, self._events
        output.is_dead = False
        if output.error is None:
            output.error = self._end_error(body_kind)
        output.flush(is_cut=output.error is not None and output.error.kind == "stream_truncated")
        events.blocks.release()
        for delta in events.rest():
            output.add(delta)
        return output.end(is_terminated=events.is_finished and output.error is None)

    def _end_error(self, body_kind: str) -> StreamError | None:
        if self._is_cut:
            return StreamError("stream_truncated", "the body ended inside an event", retryable=True)
        is_over = self._events.is_finished
        return self._json.end_error(body_kind, is_over=is_over, is_understood=is_over)
