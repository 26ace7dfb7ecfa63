"""Bedrock's InvokeModel, as a client: frames whose chunks hold the model's own events. The facts' section 5.2.

The rule of this file: it opens the envelopes, finds out which stream is inside (`dialects.py`) and hands its events on; what Bedrock
itself says is only a supplement. The model's own usage wins and the invocation metrics fill gaps; a guardrail's mark is a finish word
only where the model gave none.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec

from headrace._json import EMPTY, JSON, JSONError, loads_lenient
from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import FinishDelta, MetadataDelta, StreamError, UsageDelta
from headrace.messages.usage import COUNTS, Usage
from headrace.wire.anthropic_messages.stream_in import MessagesDecoder
from headrace.wire.aws_frames import AwsBatch
from headrace.wire.bedrock_converse.error_in import exception_in
from headrace.wire.bedrock_converse.payload import decoded_base64, usage_in
from headrace.wire.bedrock_invoke.completion_in import CompletionDecoder
from headrace.wire.bedrock_invoke.dialects import as_chat, dialect_of, says_nothing
from headrace.wire.decoder import Output, WireDecoder
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import kept
from headrace.wire.limits import Limits
from headrace.wire.openai_chat.stream_in import ChatDecoder
from headrace.wire.options import DecodeOptions

_MARK: Final = b'"amazon-bedrock-'
_METRICS: Final = "amazon-bedrock-invocationMetrics"
_GUARDRAIL: Final = "amazon-bedrock-guardrailAction"
_TRACE: Final = "amazon-bedrock-trace"
_STOP_REASON: Final = b'"stop_reason"'


class _Chunk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An envelope."""

    inside: bytes = msgspec.field(name="bytes")
    p: str | None = None


_open: Final = msgspec.json.Decoder(_Chunk).decode
_REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


def _open_all(datas: list[bytes]) -> list[bytes]:
    """Return what is inside of each plain envelope; nothing where it is none."""
    try:
        return [_open(data).inside for data in datas]
    except _REFUSED:
        return [_open_one(data) for data in datas]


def _open_one(data: bytes) -> bytes:
    try:
        return _open(data).inside
    except _REFUSED:
        return b""


class InvokeDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where the deltas of the stream inside go.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self._limits = limits
        self._options = options
        self._provider = provider
        self._inner: WireDecoder = CompletionDecoder(limits=limits, options=options, provider=provider)
        self._is_chosen = False
        self._is_chat = False
        self._is_cut = False
        self._metrics: JSON = None
        self._is_last = False  # an event came that Bedrock marks as the last one
        self._guardrail: str | None = None
        self.output: Output = self._inner.output

    @property
    def is_done(self) -> bool:
        """Never: what Bedrock adds may come behind the end of the stream inside."""
        return False

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            if isinstance(frame, Frame):
                self._one(frame, chunks)
            elif isinstance(frame, AwsBatch):
                self._run(frame, chunks)
            else:
                for single in frame.frames():
                    self._one(single, chunks)
        return chunks

    def _run(self, run: AwsBatch, chunks: list[AssistantMessageChunk]) -> None:
        """Take a run of envelopes: one by one until it is known what is inside, then the short way, where the stream inside has one."""
        at, first = run.offset, 0
        while not self._is_chosen and first < len(run.datas):
            data = run.datas[first]
            self._one(Frame(data, at, run.event), chunks)
            at, first = at + len(data) + run.around, first + 1
        rest = run if first == 0 else AwsBatch(run.datas[first:], at, run.around, run.event)
        insides = _open_all(rest.datas)
        inner = self._inner

        def take(n: int, offset: int) -> None:
            self._take(Frame(rest.datas[n], offset, rest.event), insides[n], chunks)

        # The short way of the Messages protocol takes no event that holds anything of Bedrock's own.
        first = inner.feed_inside(rest, insides, take, chunks) if isinstance(inner, MessagesDecoder) else 0
        if first < len(insides):
            offsets = rest.offsets()
            for n in range(first, len(insides)):
                take(n, offsets[n])

    def _take(self, frame: Frame, inside: bytes, chunks: list[AssistantMessageChunk]) -> None:
        """Take an envelope: what is plainly the stream's next event goes on at once."""
        if not inside or _MARK in inside or (self._is_chat and _STOP_REASON in inside):
            self._one(frame, chunks)
        elif not self.output.is_dead:
            chunks += self._inner.feed([Frame(inside, frame.offset)])

    def _one(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        if self.output.is_dead:
            return
        if frame.kind != "event" or (frame.is_unterminated and not frame.data):
            self._fault(frame, chunks)
            return
        inside = self._look(self._inside(frame))  # this may change who reads it
        chunks += self._inner.feed([inside])

    def _inside(self, frame: Frame) -> Frame:
        """Open an envelope, be it not quite one; what is none is the model's own event."""
        with suppress(JSONError):
            value, _ = loads_lenient(frame.data)
            held = value.get("bytes") if isinstance(value, dict) else None
            data = decoded_base64(held) if isinstance(held, str) else None
            if data is not None:
                rest = {name: item for name, item in value.items() if name not in ("bytes", "p")}
                if rest:
                    self._keep({"envelope": rest})
                return Frame(data, frame.offset)
        return frame

    def _look(self, frame: Frame) -> Frame:
        """Look into an event that tells which stream this is, or holds something of Bedrock's own."""
        try:
            event, _ = loads_lenient(frame.data)
        except JSONError:
            return frame
        if not self._is_chosen and not says_nothing(event):
            self._choose(event)
        if not isinstance(event, dict):
            return frame
        self._metrics = event.get(_METRICS) or self._metrics
        self._is_last = self._is_last or _METRICS in event or _TRACE in event
        action = event.get(_GUARDRAIL)
        self._guardrail = action if isinstance(action, str) else self._guardrail
        if self._is_chat and isinstance(event.get("choices"), list) and _STOP_REASON in frame.data:
            return Frame(as_chat(event), frame.offset, is_body=frame.is_body)
        return frame

    def _choose(self, event: JSON) -> None:
        self._is_chosen = True
        dialect = dialect_of(event)
        self._is_chat = dialect is ChatDecoder
        if dialect is CompletionDecoder:
            return
        before = self.output
        self._inner = dialect(limits=self._limits, options=self._options, provider=self._provider)
        self.output = self._inner.output
        self.output.events, self.output.error = before.events, before.error

    # ------------------------------------------------------------------------------------------ faults and the end

    def _fault(self, frame: Frame, chunks: list[AssistantMessageChunk]) -> None:
        """Take a frame that is no event: an exception, an error, a broken one, one that was cut off."""
        output = self.output
        output.offset = frame.offset
        words = frame.data.decode("utf-8", "replace")
        if frame.kind == "event":
            self._is_cut = True
        elif frame.kind == "broken":
            output.kill(StreamError("invalid_event", words))
        else:
            body: JSON = words
            with suppress(JSONError, UsageError):  # what cannot be read or kept as an object stays as its words
                body = kept(loads_lenient(frame.data)[0]) if frame.kind == "exception" else words
            output.fail(exception_in(frame.event, body))
            self._keep({"error": body} if isinstance(body, dict) else {})
        output.chunk(chunks)
        output.events += 1

    def _keep(self, values: dict[str, Any]) -> None:
        with suppress(UsageError):
            if values:
                self.output.add(MetadataDelta(kept(values), tuple(values)))

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunks, of which the very last says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Framer.kind`).
            complete: False if the transport broke off.
        """
        output = self.output
        if self._is_cut:
            output.fail(StreamError("stream_truncated", "the body ended inside an event", retryable=True))
        chunks: list[AssistantMessageChunk] = []
        if not output.is_dead:
            if self._is_chat and self._is_last:  # this shape has no other end here
                chunks += self._inner.feed([Frame(b"[DONE]", output.offset)])
            self._supplement()
        return chunks + self._inner.close(body_kind, complete=complete)

    def _supplement(self) -> None:
        """Add what Bedrock says and the model did not."""
        output = self.output
        metrics = usage_in(self._metrics)
        if metrics is not None:
            own = output.fold.head.usage
            known = {} if own is None else own.counts()
            gaps: dict[str, Any] = {name: getattr(metrics, name) for name in COUNTS if known.get(name) is None}
            if any(count is not None for count in gaps.values()):
                output.add(UsageDelta(Usage(**gaps, raw=metrics.raw if own is None else EMPTY)))
        is_last = self._is_last
        if isinstance(self._inner, CompletionDecoder):
            reader = self._inner.reader
            is_last = reader.is_finished = reader.is_finished or is_last
        choice = output.fold.choices.get(0)
        if self._guardrail == "INTERVENED" and is_last and (choice is None or not choice.words):
            output.add(FinishDelta(self._guardrail, 0, "content_filter", output.events, output.offset))
