"""Ollama's native API, as a client: lines in, chunks out. The grammar is the facts' section 6.

The rule of this file: nearly all lines take the short way (`fast.py`); the general way (`line_in.py`) reads everything. The line with
`done: true` ends the answer; without it the answer was cut.
"""

from __future__ import annotations

from typing import Final

from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import TextDelta
from headrace.wire.decoder import Output
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents
from headrace.wire.limits import Limits
from headrace.wire.ollama.fast import REFUSED, FastLine, decode_line
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
            if self.is_done or self.output.is_dead:
                break
            if isinstance(frame, Batch):
                self._batch(frame, chunks)
            else:
                self._events.read(frame, chunks)
        return chunks

    def _batch(self, batch: Batch, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of lines: each the short way if it can go it, else the general way."""
        output, append = self.output, chunks.append
        offset, pieces = batch.offset, self._open_text()
        for data in batch.datas:
            line = self._fast_line(data) if self._tries > 0 and self._reader.is_understood else None
            message = None if line is None else line.message
            if message is not None and pieces is not None and message.content and not message.thinking:
                pieces.append(message.content)
                append(make_assistant_chunk((TextDelta(message.content),), 1, True))
                output.events += 1
            else:
                if line is None:
                    self._events.read(Frame(data, offset), chunks)
                else:
                    self._short(line, offset, chunks)
                if self.is_done or output.is_dead:
                    return
                pieces = self._open_text()
            offset += len(data) + batch.around

    def _fast_line(self, data: bytes) -> FastLine | None:
        """Decode a line the short way; None if it holds anything that needs thought. After some the stream stays on the general way."""
        try:
            line = decode_line(data)
        except REFUSED:
            self._tries -= 1
            return None
        return None if line.done or (line.message is not None and (line.response or line.thinking)) else line

    def _open_text(self) -> list[str] | None:
        """Return the pieces of the text that goes on, if nothing more needs to be asked."""
        choice = self.output.fold.choices.get(0)
        return None if choice is None or self.output.is_holding else choice.open_text

    def _short(self, line: FastLine, offset: int, chunks: list[AssistantMessageChunk]) -> None:
        """Take a line that is pieces of text or thinking."""
        output, message = self.output, line.message
        text, thinking = (line.response, line.thinking) if message is None else (message.content, message.thinking)
        output.offset = offset
        if thinking:
            output.text("reasoning", thinking, 0)
        if text:
            output.text("text", text, 0)
        output.chunk(chunks)
        output.events += 1

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
