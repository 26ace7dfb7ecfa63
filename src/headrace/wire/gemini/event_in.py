"""One event of generateContent, whole: its head, candidates, usage, errors, and whatever else is in it.

The rule of this file: everything in an event is either a delta, or kept in the message's metadata, or known to say nothing. What repeats
in every event (usage, ratings, grounding) replaces what came before and is given out once, at the end.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from headrace._json import JSON, dumps, replace_surrogates
from headrace.errors import UsageError
from headrace.messages.deltas import CitationDelta, LogprobsDelta, MessageStart, MetadataDelta, StreamError, UsageDelta
from headrace.messages.finish import is_word
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.gemini.candidate import Candidate
from headrace.wire.gemini.fast import raw_part
from headrace.wire.gemini.part_in import PartReader
from headrace.wire.gemini.usage_in import usage_in
from headrace.wire.gemini.values import kept, text_of, time_of

_KNOWN_EVENT: Final = frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId", "createTime", "error"})
_KNOWN_CANDIDATE: Final = frozenset({"content", "index", "finishReason", "logprobsResult"})


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        candidates: what has come, by the wire's index.
        has_event: whether any event came.
        has_head: whether id and model are known.
        usage: the report so far: of each count the last.
        has_new_usage: a report came that was not given out.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.candidates: dict[int, Candidate] = {}
        self.has_event = False
        self.has_head = False
        self.usage: dict[str, JSON] = {}
        self.has_new_usage = False
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self._parts = PartReader(output, provider)
        self._has_id = False
        self._has_model = False

    def read(self, event: Mapping[str, Any], data: bytes, *, is_error: bool = False) -> None:
        """Read one event.

        Args:
            event: the event.
            data: its bytes, for parts that are kept as they came.
            is_error: its name said that it is an error.
        """
        try:
            self._read(event, data, is_error=is_error)
        except UsageError as error:  # it holds what a message cannot
            self._output.kill(StreamError("invalid_event", f"event {self._output.events} cannot be kept: {error}"))

    def _read(self, event: Mapping[str, Any], data: bytes, *, is_error: bool) -> None:
        self._start(event)
        self._errors(event, is_error=is_error)
        self.take_usage(event.get("usageMetadata"))
        candidates = _objects(event.get("candidates"))
        for n, index in enumerate(_indexes(candidates)):
            self._candidate(candidates[n], index, partial(raw_part, data, n))
        self._feedback(event.get("promptFeedback"))
        if any(not candidate.is_open for candidate in self.candidates.values()):
            self.give_usage()
        self._extras.take("", event, _KNOWN_EVENT, kept)

    def fail(self, error: JSON) -> None:
        """Take an error that the provider sent; its own object stays in the metadata."""
        self.has_event = True
        self._output.fail(stream_error(replace_surrogates(error)))
        if isinstance(error, Mapping):
            self._output.add(MetadataDelta({"error": kept(error)}, ("error",)))

    def take_usage(self, raw: JSON) -> None:
        """Take a report of usage: of each count the last that is not null."""
        if isinstance(raw, dict) and raw:
            self.usage.update((name, value) for name, value in raw.items() if value is not None)
            self.has_new_usage = True

    def give_usage(self) -> None:
        """Give out the usage, if anything new was reported."""
        usage = usage_in(kept(self.usage)) if self.has_new_usage else None
        self.has_new_usage = False
        if usage is not None:
            self._output.add(UsageDelta(usage))

    def malformed_call(self) -> StreamError | None:
        """Return the error that a candidate ended with a call which the provider could not read, if one did."""
        for candidate in self.candidates.values():
            if candidate.word is not None and candidate.word.word == "MALFORMED_FUNCTION_CALL":
                message = candidate.kept.get("finishMessage")
                text = message if isinstance(message, str) else "the model wrote a call that the provider could not read"
                return StreamError("malformed_function_call", text, candidate.word.word)
        return None

    def finish(self, *, is_whole: bool) -> None:
        """Give out what was held until the end: usage, snapshots, the finish words; `is_whole`: the stream did not fail."""
        try:
            self._finish(is_whole=is_whole)
        except UsageError as error:  # it holds what a message cannot
            self._output.fail(StreamError("invalid_event", f"the stream cannot be kept: {error}"))

    def _finish(self, *, is_whole: bool) -> None:
        output = self._output
        self.give_usage()
        for index, candidate in sorted(self.candidates.items()):
            if is_whole and candidate.word is not None and candidate.word.reason != "length":
                self._parts.finish(candidate)
            if candidate.kept:
                output.add(MetadataDelta(dict(candidate.kept), tuple(candidate.kept), index))
            candidate.finish()
        for delta in self._extras.deltas():
            output.add(delta)

    # ------------------------------------------------------------------------------------------ the head

    def _start(self, event: Mapping[str, Any]) -> None:
        is_first, self.has_event = not self.has_event, True
        if self.has_head:
            return
        identifier, model = text_of(event.get("responseId")), text_of(event.get("modelVersion"))
        is_new = (identifier and not self._has_id) or (model and not self._has_model)
        if is_new or (is_first and self._provider):
            self._has_id = self._has_id or identifier is not None
            self._has_model = self._has_model or model is not None
            self.has_head = self._has_id and self._has_model
            self._output.add(MessageStart(identifier, model, time_of(event.get("createTime")), None, self._provider))

    def _errors(self, event: Mapping[str, Any], *, is_error: bool) -> None:
        error = event.get("error")
        is_bare = "candidates" not in event and (
            "detail" in event or ("message" in event and not event.keys().isdisjoint({"code", "status", "type"}))
        )
        if isinstance(error, (dict, str)) and error:
            self.fail(error)
        elif error or is_error or is_bare:
            self.fail(event)

    def _feedback(self, feedback: JSON) -> None:
        """Take what is said about the prompt; a blocked one has no candidates, and is an answer that was filtered."""
        if not isinstance(feedback, dict) or not feedback:
            return
        candidate = self._open(0)
        if candidate is None:
            return
        candidate.kept["promptFeedback"] = kept(feedback)
        reason = feedback.get("blockReason")
        if isinstance(reason, str) and is_word(reason) and not reason.endswith("UNSPECIFIED"):
            candidate.say(replace_surrogates(reason), "content_filter")

    # ------------------------------------------------------------------------------------------ one candidate

    def _open(self, index: int) -> Candidate | None:
        """Return a candidate; None if there are too many."""
        found = self.candidates.get(index)
        if found is None:
            if len(self.candidates) >= self._output.limits.max_parts:
                self._output.exceed("parts", self._output.limits.max_parts)
                return None
            found = self.candidates[index] = Candidate(index, self._output)
        return found

    def _candidate(self, fields: Mapping[str, Any], index: int, raw: Callable[[int], bytes | None]) -> None:
        candidate = self._open(index)
        if candidate is None:
            return
        content = fields.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for n, part in enumerate(parts if isinstance(parts, list) else [parts]):
            if isinstance(part, dict):
                self._parts.read(part, candidate, partial(_bytes_of, raw, n, part))
            elif part is not None:
                self._extras.take("part.", {type(part).__name__: part}, frozenset(), kept)
        if isinstance(content, dict):
            self._extras.take("content.", content, frozenset({"parts", "role"}), kept)
        self._logprobs(fields.get("logprobsResult"), index)
        for name, value in fields.items():
            if name not in _KNOWN_CANDIDATE and value not in (None, "", [], {}):
                candidate.kept[kept(name)] = kept(value)
        self._citations(fields, candidate)
        word = fields.get("finishReason")
        if isinstance(word, str) and is_word(word):
            candidate.say(replace_surrogates(word))

    def _logprobs(self, result: JSON, index: int) -> None:
        if isinstance(result, dict) and any(value is not None for value in result.values()):
            self._output.add(LogprobsDelta(kept(result), index))

    def _citations(self, fields: Mapping[str, Any], candidate: Candidate) -> None:
        """Give out the citations that are new; where there is no text to cite for, they are in the metadata alone."""
        found = self._output.fold.choices.get(candidate.index)
        if found is None or found.last_text is None:
            return
        cited = fields.get("citationMetadata")
        items = (cited.get("citations") or cited.get("citationSources")) if isinstance(cited, dict) else None
        for item in [*_objects(items), *_grounds(fields.get("groundingMetadata"))]:
            key = dumps(replace_surrogates(item))
            if key not in candidate.cited:
                candidate.cited.add(key)
                self._output.add(CitationDelta(kept(item), None, candidate.index))


def _bytes_of(raw: Callable[[int], bytes | None], n: int, part: JSON) -> bytes:
    """Return the bytes of a part as they came; of an event that had to be mended, as they would be written."""
    return raw(n) or dumps(replace_surrogates(part))


def _grounds(metadata: JSON) -> list[dict[str, Any]]:
    """Return what supports which piece of the text, each with the sources that it names by number."""
    if not isinstance(metadata, dict):
        return []
    chunks = metadata.get("groundingChunks")
    sources = chunks if isinstance(chunks, list) else []
    found: list[dict[str, Any]] = []
    for support in _objects(metadata.get("groundingSupports")):
        numbers = support.get("groundingChunkIndices")
        named = [sources[n] for n in numbers if type(n) is int and 0 <= n < len(sources)] if isinstance(numbers, list) else []
        found.append({**support, "groundingChunks": named} if named else support)
    return found


def _objects(value: JSON) -> list[dict[str, Any]]:
    """Return the objects of a list; an object alone is a list of one."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _indexes(candidates: list[dict[str, Any]]) -> list[int]:
    """Return the candidates' indexes; an index of 0 may be left out, and where several are, their places tell them apart."""
    given = [index if type(index := candidate.get("index")) is int and index >= 0 else None for candidate in candidates]
    is_zero_left_out = given.count(None) == 1 and 0 not in given
    return [index if index is not None else 0 if is_zero_left_out else n for n, index in enumerate(given)]
