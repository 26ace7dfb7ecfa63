"""Completions: the streams of models that send text and little else, each with words of its own.

The rule of this file: a table says which member is text, which a finish word and which a count; what stands in no table is kept in the
message's metadata. A repeat of the whole at the end fills gaps and never adds.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import JSON, dumps_text, replace_surrogates
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import CitationDelta, FinishDelta, MessageStart, MetadataDelta, ToolCallFragment, UsageDelta
from headrace.messages.finish import FinishReason, is_word
from headrace.messages.usage import Usage
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.frames import Batch, Frame
from headrace.wire.json_events import JsonEvents, count_of, kept, word_of
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions

_TEXTS: Final = ("outputText", "generation", "completion", "text")
_WORDS: Final = ("completionReason", "completion_reason", "stop_reason", "finish_reason", "finishReason")
_LISTS: Final = ("outputs", "results", "generations", "completions")
_INPUTS: Final = ("inputTextTokenCount", "prompt_token_count")
_TOTAL: Final = "totalOutputTextTokenCount"  # stands in the last event alone
_OUTPUTS: Final = (_TOTAL, "generation_token_count", "tokenCount")
_IDS: Final = ("generation_id", "response_id", "id")
_KNOWN: Final = frozenset(
    {
        *_TEXTS,
        *_WORDS,
        *_LISTS,
        *_INPUTS,
        *_OUTPUTS,
        *_IDS,
        "index",
        "is_finished",
        "event_type",
        "tool_calls",
        "citations",
        "response",
        "data",
        "p",
    }
)
_REASONS: Final[dict[str, FinishReason]] = {"CONTENT_FILTERED": "content_filter", "endoftext": "stop"}


class CompletionReader:
    """Reads events into an `Output`.

    Attributes:
        is_finished: whether the stream said that it is.
        has_text: whether any text or call came.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.is_finished = False
        self.has_text = False
        self.extras = Extras()
        self._output = output
        self._provider = provider
        self._has_started = False

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one event, or a whole answer; see `json_events.Reader`."""
        self._start(event)
        error = event.get("error")
        if is_error or error or self._is_bare_error(event):
            self._output.fail(stream_error(replace_surrogates(error or event), status=status))
            self._output.add(MetadataDelta({"error": kept(error or event)}, ("error",)))
            return
        self._one(event)
        for name in _LISTS:
            items = event.get(name)
            for item in items if isinstance(items, list) else ():
                if isinstance(item, dict):
                    data = item.get("data")
                    self._one({**item, **data} if isinstance(data, dict) else item)
        response = event.get("response")
        if isinstance(response, dict):
            self._one(response, is_repeat=self.has_text)
        if event.get("is_finished") is True:
            self.is_finished = True

    def finish(self, word: str, reason: FinishReason | None = None) -> None:
        """Take a finish word."""
        output = self._output
        self.is_finished = True
        output.add(FinishDelta(word, 0, reason, output.events, output.offset))

    @staticmethod
    def _is_bare_error(event: Mapping[str, Any]) -> bool:
        return isinstance(event.get("message"), str) and not any(name in event for name in (*_TEXTS, *_LISTS, *_WORDS))

    def _start(self, event: Mapping[str, Any]) -> None:
        identifier = next((word for name in _IDS if (word := word_of(event.get(name)))), None)
        if not self._has_started and (identifier or self._provider):
            self._has_started = True
            self._output.add(MessageStart(identifier, provider=self._provider))

    def _one(self, event: Mapping[str, Any], *, is_repeat: bool = False) -> None:
        """Read an event, or one answer in it."""
        is_whole_call = event.get("event_type") == "tool-calls-generation" and self.has_text
        for name in _TEXTS:
            text = event.get(name)
            if isinstance(text, str) and text and not is_repeat and not is_whole_call:
                self.has_text = True
                self._output.text("text", text, 0)
        if not is_repeat:
            self._calls(event.get("tool_calls"))
            for citation in _list(event.get("citations")):
                self._output.add(CitationDelta(kept(citation)))
        self._usage(event)
        if not is_repeat:
            self._word(event)
        self.extras.take("", event, _KNOWN, kept)

    def _calls(self, calls: JSON) -> None:
        """Take calls that come whole, without an id."""
        for call in _list(calls):
            if isinstance(call, dict):
                self.has_text = True
                arguments = call.get("parameters")
                self._output.add(
                    ToolCallFragment(
                        id=word_of(call.get("id")) or None,
                        name=word_of(call.get("name")),
                        arguments=kept(arguments) if isinstance(arguments, dict) else dumps_text(kept(arguments)) if arguments else "{}",
                        is_id_optional=True,
                        event=self._output.events,
                        offset=self._output.offset,
                    )
                )

    def _usage(self, event: Mapping[str, Any]) -> None:
        inputs, outputs = _first(event, _INPUTS), _first(event, _OUTPUTS)
        if inputs is not None or outputs is not None:
            raw = {name: event[name] for name in (*_INPUTS, *_OUTPUTS) if event.get(name) is not None}
            self._output.add(UsageDelta(Usage(input_tokens=inputs, output_tokens=outputs, raw=raw)))
        if count_of(event.get(_TOTAL)) is not None:
            self.is_finished = True

    def _word(self, event: Mapping[str, Any]) -> None:
        word = next((word for name in _WORDS if (word := _word_at(event.get(name)))), "")
        if is_word(word):
            self.finish(word, _REASONS.get(word))


class CompletionDecoder:
    """The machine; `feed` frames, then `close`.

    Attributes:
        output: where its deltas go.
        reader: what reads the events.
    """

    def __init__(self, *, limits: Limits, options: DecodeOptions, provider: str | None = None) -> None:
        """Start before the first frame."""
        self.output = Output(limits, options)
        self.reader = CompletionReader(self.output, provider)
        self._json = JsonEvents(self.output, self.reader)

    @property
    def is_done(self) -> bool:
        """Whether `[DONE]` came."""
        return self._json.is_done

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        chunks: list[AssistantMessageChunk] = []
        for frame in frames:
            for single in frame.frames() if isinstance(frame, Batch) else [frame]:
                if self.output.is_dead or self.is_done:
                    return chunks
                self._json.read(single, chunks)
        return chunks

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended.

        Args:
            body_kind: what the body turned out to be (`Framer.kind`).
            complete: False if the transport broke off; a stream that said that it is finished is whole all the same.
        """
        del complete
        output, reader = self.output, self.reader
        output.is_dead = False
        is_over = reader.is_finished or self.is_done or (self._json.is_answer and reader.has_text)
        if output.error is None:
            output.error = self._json.end_error(body_kind, is_over=is_over, is_understood=is_over)
        output.flush(is_cut=output.error is not None and output.error.kind == "stream_truncated")
        for delta in reader.extras.deltas():
            output.add(delta)
        return output.end(is_terminated=is_over and output.error is None)


def _word_at(value: JSON) -> str:
    """Return a finish word; some models wrap it in an object."""
    return word_of(value.get("reason") if isinstance(value, dict) else value)


def _first(event: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := count_of(event.get(name))) is not None), None)


def _list(value: JSON) -> list[Any]:
    return value if isinstance(value, list) else []
