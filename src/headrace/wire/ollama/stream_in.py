"""Ollama's native API, as a client: lines in, chunks out. The grammar is the facts' section 6.

The rule of this file: nearly all lines take the short way (`fast.py`); the general way (`line_in.py`) reads everything. The line with
`done: true` ends the answer; without it the answer was cut.
"""

from __future__ import annotations

from typing import Final

from headrace.messages.chunk import AssistantMessageChunk
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.ollama.fast import REFUSED, decode_line
from headrace.wire.ollama.line_in import LineReader
from headrace.wire.options import DecodeOptions


_FAST_TRIES: Final = 16


class OllamaDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first line."""
        self.output = Output(limits, options)
        self._reader = LineReader(self.output, provider)
        self._events = JsonEvents(self.output, self._reader)
        self._tries = _FAST_TRIES

    @property
    def is_done(self) -> bool:
        """Whether the last line came: whatever follows is not read."""
        return self._reader.is_done or self._events.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these lines added, a chunk a line."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if isinstance(frame, Batch):
                self._batch(frame, chunks)
            elif not self.is_done and not self.output.is_dead:
                self._events.read(frame, chunks)
        return chunks

    def _batch(self, batch: Batch, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of lines: each the short way if it can go it, else the general way."""
        output = self.output
        offset = batch.offset
        for data in batch.datas:
            if self.is_done or output.is_dead:
                return
            if not self._short(data, offset, chunks):
                self._events.read(Frame(data, offset), chunks)
            offset += len(data) + batch.around

    def _short(self, data: bytes, offset: int, chunks: list[AssistantMessageChunk]) -> bool:
        """Take a line that is one piece of text or thinking; returns whether it was. The first line has the head, so it is none."""
        if not self._reader.is_understood or self._tries <= 0:
            return False
        try:
            line = decode_line(data)
        except REFUSED:
            self._tries -= 1
            return False
        message = line.message
        if line.done or (message is not None and (line.response or line.thinking)):
            return False
        text, thinking = (line.response, line.thinking) if message is None else (message.content, message.thinking)
        output = self.output
        output.offset = offset
        if thinking:
            output.text("reasoning", thinking, 0)
        if text:
            output.text("text", text, 0)
        output.chunk(chunks)
        output.events += 1
        return True

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`LineBody.kind`).
            complete: False if the transport broke off; after the last line that changes nothing.
        """
        del complete  # an answer without its last line is cut, however the connection ended
        output, reader = self.output, self._reader
        output.is_dead = False
        is_terminated = reader.is_done or (self._events.is_done and reader.is_understood)
        if output.error is None:
            output.error = self._events.end_error(body_kind, is_over=is_terminated, is_understood=reader.is_understood)
        output.flush(is_cut=output.error is not None and output.error.kind == "stream_truncated")
        for delta in reader.rest():
            output.add(delta)
        return output.end(is_terminated=is_terminated and output.error is None)
