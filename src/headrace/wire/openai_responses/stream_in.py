"""OpenAI Responses, as a client: frames in, chunks out. The grammar and its dialects are the facts' section 2.

The rule of this file: it decides which way a frame goes and how the stream has ended. A stream is whole when the response itself has said
how it ended; `[DONE]` says nothing here. Nothing that a peer sends raises.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Final

from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import Delta, ReasoningDelta, RefusalDelta, StreamError, TextDelta, ToolCallFragment
from headrace.wire.decoder import Output
from headrace.wire.frames import AROUND_NAMED, Batch, Frame, NamedBatch
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.openai_responses.event_in import EventReader
from headrace.wire.openai_responses.fast import MARK, REFUSED, TEXTS, FastEvent, decode_event
from headrace.wire.options import DecodeOptions
from headrace.wire.text_filters import Kind

_FAST_TRIES: Final = 64
_TEXT: Final = TEXTS["response.output_text.delta"]
_DELTAS: Final[dict[Kind, Callable[[str, int], Delta]]] = {"text": TextDelta, "reasoning": ReasoningDelta, "refusal": RefusalDelta}


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
        self._tries = _FAST_TRIES

    @property
    def is_done(self) -> bool:
        """Whether the response has said how it ended, or `[DONE]` came: whatever follows is not read."""
        return self._events.is_over or self._json.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if self.is_done or self.output.is_dead:
                break
            if isinstance(frame, Frame):
                self._one(frame, chunks)
            elif isinstance(frame, NamedBatch):
                self._batch(frame, frame.names, AROUND_NAMED, chunks)
            else:
                self._batch(frame, itertools.repeat(b""), frame.around, chunks)
        return chunks

    def _one(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        """Take an event the general way."""
        self._events.at(frame)
        self._json.read(frame, chunks)

    # ------------------------------------------------------------------------------------------ the short way

    def _batch(self, batch: Batch, names: Iterable[bytes], around: int, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of plain events: each the short way if it can go it, else the general way."""
        offset = batch.offset
        place: tuple[object, ...] = ()
        pieces: list[str] | None = None
        key, make = -1, _DELTAS["text"]
        append, output = chunks.append, self.output
        for name, data in zip(names, batch.datas, strict=False):
            output.offset = offset
            event = self._piece(name, data)
            here = None if event is None else (event.type, event.output_index, event.item_id, event.content_index, event.summary_index)
            if event is not None and here != place:
                key, pieces = self._open(event)
                make, place = _DELTAS[TEXTS.get(event.type, _TEXT)[0]], here or ()
            if event is None or not event.delta or (pieces is None and not self._call(event, key, offset, chunks)):
                self._one(Frame(data, offset, name.decode("utf-8", "replace") or None), chunks)
                place = ()
            elif pieces is not None:
                pieces.append(event.delta)
                append(make_assistant_chunk((make(event.delta, key),), 1, True))
                output.events += 1
            if output.is_dead or self.is_done:
                return
            offset += len(name) + len(data) + around

    def _piece(self, name: bytes, data: bytes) -> FastEvent | None:
        """Decode an event the short way; None if it holds anything that needs thought."""
        if self._tries <= 0 or (name and not name.endswith(MARK)):
            return None
        try:
            return decode_event(data)
        except REFUSED:
            if name or MARK in data:
                self._tries -= 1  # after some the stream is of another kind and stays on the general way
            return None

    def _open(self, event: FastEvent) -> tuple[int, list[str] | None]:
        """Return the key of the part that a piece goes on with, or -1; and its pieces, where it is text that needs no more thought."""
        if self.output.is_holding:
            return -1, None
        return self._events.pieces.open_part(event)

    def _call(self, event: FastEvent, key: int, offset: int, chunks: list[AssistantMessageChunk]) -> bool:
        """Take a piece of a call's arguments, if it goes on with a call."""
        if key < 0:
            return False
        output = self.output
        output.add(ToolCallFragment(None, None, event.delta, event.output_index, "function", key, event=output.events, offset=offset))
        output.chunk(chunks)
        output.events += 1
        return True

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
