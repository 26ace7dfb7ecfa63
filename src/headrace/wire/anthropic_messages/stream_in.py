"""The Messages protocol, as a client: frames in, chunks out. The grammar is the facts' section 3.

The rule of this file: it decides what a frame is and how the stream has ended; what events mean is `event_in.py`. Nothing that a peer
sends raises.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import Delta, ReasoningDelta, TextDelta, ToolCallFragment
from headrace.messages.growing import Growing
from headrace.wire.anthropic_messages.event_in import EventReader
from headrace.wire.anthropic_messages.fast import NAME, REFUSED, FastArguments, FastDelta, FastEvent, FastText, FastThinking, decode_event
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame, NamedBatch
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions

_FAST_TRIES: Final = 64
_NO_NAMES: Final = itertools.repeat(b"")
General: TypeAlias = Callable[[int, int], None]
"""Takes an event the general way, given its number in the run and where it begins in the body."""


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
        self._tries = _FAST_TRIES

    @property
    def is_done(self) -> bool:
        """Whether the message said that it is over, or `[DONE]` came: whatever follows is not read."""
        return self._events.is_stopped or self._json.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if self.is_done or self.output.is_dead:
                break
            if isinstance(frame, Frame):
                self._one(frame, chunks)
            else:
                names = frame.names if isinstance(frame, NamedBatch) else _NO_NAMES
                self._batch(frame, names, frame.datas, self._general(frame, chunks), chunks)
        return chunks

    def _general(self, batch: Batch, chunks: list[AssistantMessageChunk]) -> General:
        names = batch.names if isinstance(batch, NamedBatch) else None

        def take(n: int, offset: int) -> None:
            name = None if names is None else names[n].decode("utf-8", "replace") or None
            self._one(Frame(batch.datas[n], offset, name), chunks)

        return take

    def feed_inside(self, run: Batch, datas: list[bytes], general: General, chunks: list[AssistantMessageChunk]) -> int:
        """Take events that stand inside those of a run.

        Args:
            run: what they stand in; each begins where its surroundings do.
            datas: the events, one for each of the run, without names.
            general: takes what cannot go the short way, and appends to the chunks too.
            chunks: what they added is appended here.

        Returns:
            How many were taken; fewer than there are once the stream is over.
        """
        if self.is_done or self.output.is_dead:
            return 0
        return self._batch(run, _NO_NAMES, datas, general, chunks)

    def _batch(self, run: Batch, names: Iterable[bytes], datas: list[bytes], general: General, chunks: list[AssistantMessageChunk]) -> int:
        """Take a run of plain events: each the short way if it can go it, else the general way; returns how many were taken."""
        output, append = self.output, chunks.append
        offsets: list[int] | None = None  # asked for by the first event that is not the common case
        part, index, tries = None, -1, self._tries
        kind: type[FastDelta] = FastText
        for n, name, data in zip(itertools.count(), names, datas, strict=False):
            event = None
            if tries > 0 and (not name or name == NAME):
                try:
                    event = decode_event(data)
                except REFUSED:
                    if name or NAME in data:  # after some the stream is of another kind and stays on the general way
                        self._tries = tries = tries - 1
            if event is not None:
                delta = event.delta
                if part is None or event.index != index or type(delta) is not kind:
                    index, kind = event.index, type(delta)
                    part = self._open_part(index, kind)
                if part is not None and type(delta) is FastText and delta.text:  # the common case, inlined
                    part.pieces.append(delta.text)
                    append(make_assistant_chunk((TextDelta(delta.text, part.key),), 1, True))
                    output.events += 1
                    continue  # no piece ends the stream
            if offsets is None:
                offsets = run.offsets()
            if event is None:
                part = None
                general(n, offsets[n])
            elif part is not None and (piece := self._piece(part, event, offsets[n])) is not None:
                append(make_assistant_chunk((piece,), 1, True))
                output.events += 1
            else:
                self._short(event, offsets[n], chunks)
                part = None
            if self._events.is_stopped or self._json.is_done or output.is_dead:
                return n + 1
        return len(datas)

    def _piece(self, part: Growing, event: FastEvent, offset: int) -> Delta | None:
        """Let a piece join its part at once; None if it says nothing or more must be asked. The fold would do the same."""
        delta = event.delta
        if type(delta) is FastText:
            text = delta.text
            part.pieces.append(text)
            return TextDelta(text, part.key) if text else None
        if type(delta) is FastThinking:
            thinking = delta.thinking
            part.pieces.append(thinking)
            return ReasoningDelta(thinking, part.key) if thinking else None
        assert type(delta) is FastArguments
        piece, body, at = delta.partial_json, part.own_call().body, self.output.events
        size = body.size + len(piece)
        if not piece or size > self.output.limits.max_argument_bytes:
            return None
        body.pieces.append(piece)
        body.size = size
        part.event, part.offset = at, offset
        return ToolCallFragment(None, None, piece, event.index, None, part.key, 0, False, at, offset)

    def _open_part(self, index: int, kind: type[FastDelta]) -> Growing | None:
        """Return the part that goes on, if nothing more needs to be asked before a piece of this kind can join it."""
        if self._events.has_finished or self.output.is_holding:
            return None
        return self._events.blocks.open_part(index, kind)

    def _short(self, event: FastEvent, offset: int, chunks: list[AssistantMessageChunk]) -> None:
        """Take a delta without looking at its fields again."""
        output = self.output
        output.offset = offset
        self._json.has_event = True
        self._events.take(event)
        output.chunk(chunks)
        output.events += 1

    def _one(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
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
