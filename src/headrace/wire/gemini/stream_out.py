"""generateContent, as a server: chunks in, the stream out that the vendor itself would send.

The rule of this file: an event holds only what is new; a call goes out whole, when its arguments are; the finish reason and the usage stand
in the last event. A call that cannot be run is `MALFORMED_FUNCTION_CALL`, any other failure an event with a `google.rpc.Status`, and the
end. There is no terminator. Without `alt=sse` the events are the items of one array.

Source: https://ai.google.dev/api/generate-content.
"""

# Log-probabilities and metadata are JSON: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace._json import EMPTY, JSON, dumps
from headrace.messages.deltas import MediaDelta, ReasoningDelta, StreamError
from headrace.messages.growing import Growing
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import Part
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.call_out import CallOut
from headrace.wire.gemini.content_out import CandidateOut, beside, call_form, inline_form, put_part
from headrace.wire.gemini.finish_out import MALFORMED, error_body, finish_word, stream_error_body, usage_fields
from headrace.wire.life_out import LifeOut
from headrace.wire.parts_out import PartsOut
from headrace.wire.parts_writer import MADE_ID, Verdict
from headrace.wire.server_side import AnswerOptions, Head, RefusalKind, is_cut, one_line

_SOUND: Final = "audio/wav"
_SNAPSHOTS: Final = (
    "safetyRatings", "citationMetadata", "groundingMetadata", "urlContextMetadata", "avgLogprobs", "tokenCount", "finishMessage",
)  # fmt: skip
"""What a provider of this wire says of a candidate as a whole; it goes with the finish reason."""


def refuse(status: int, kind: RefusalKind, message: str, *, argument: str | None = None) -> tuple[int, bytes]:
    """Return a refusal; see `Refuse`. The wire has no member for the argument, so its path stands in the message."""
    text = message if argument is None or argument in message else f"{argument}: {message}"
    return status, dumps(error_body(kind, text, code=status))


class StreamOut(LifeOut):
    """The answer on its way; see `server_side.StreamOut`.

    What a chunk says is told only when the whole chunk was read, since it also holds what stands beside its parts.

    Attributes:
        media_type: the content type of the stream.
        takes_late_names, takes_free_text: see `Writer`.
    """

    takes_late_names: bool = False
    takes_free_text: bool = False

    def __init__(self, head: Head, options: AnswerOptions | None = None, *, new_id: Callable[[], str] | None = None) -> None:
        """Start before the first chunk.

        Args:
            head: what is the same in every event.
            options: what the request asked of the form: events or an array.
            new_id: makes the ids of calls that have none; by default `call_1`, `call_2`, …
        """
        self._head = head
        self._is_array = options is not None and options.is_array
        self.media_type: str = "application/json" if self._is_array else "text/event-stream"
        super().__init__(PartsOut(self, new_id, prefix="call_"))
        self._candidates: dict[int, CandidateOut] = {}
        self._later: list[tuple[Callable[..., None], int, str, int, tuple[Any, ...]]] = []
        self._seen: dict[int, int] = {}
        self._told: set[tuple[int, int]] = set()
        self._calls: dict[tuple[int, int], CallOut] = {}
        self._arguments: dict[tuple[int, int], list[str]] = {}
        self._ended: set[tuple[int, int]] = set()
        self._told_calls: set[tuple[int, int]] = set()
        self._out: list[bytes] = []
        self._has_begun = False

    @property
    def repairs(self) -> tuple[Warning, ...]:
        """What was repaired or left out so far; a call that came without an id leaves without one, which is no repair."""
        return tuple(item for item in self._parts.repairs if item.code != MADE_ID or self._has_id(item))

    def _has_id(self, made: Warning) -> bool:
        call = self._calls.get((made.choice, -1 if made.part is None else made.part))
        return call is None or call.call.id is not None

    # ------------------------------------------------------------------------------------------ in and out

    def _more(self) -> bytes:
        """Return what was added, if anything."""
        self._tell()
        candidates = [form for candidate in self._candidates.values() if (form := _news(candidate)) is not None]
        if candidates:
            self._event({"candidates": candidates})
        return self._take()

    def _rest(self, verdict: Verdict) -> bytes:
        """Return the rest: finish reasons and usage, or the error."""
        self._tell()
        if verdict.error is not None and verdict.error.kind != "malformed_function_call":
            self._fail(verdict.error)
        else:
            self._end(verdict)
        if self._is_array:
            self._out.append(b"]")
        return self._take()

    def whole(self, message: AssistantMessage, *more: AssistantMessage) -> bytes:
        """Return the body of an answer that is not streamed."""
        candidates: list[JSON] = []
        for index, one in enumerate((message, *more)):
            candidate = CandidateOut(index)
            for key, part in enumerate(one.parts):
                if not put_part(candidate, key, part):
                    self._parts.leave_out(f"a {type(part).__name__}", index, key)
            candidate.end_thought()
            cut = any(not call.runnable and is_cut(one, call.name) for call in one.tool_calls)
            candidates.append(_ending(candidate, one, finish_word(one, is_cut=cut)))
        return dumps(self._body({"candidates": candidates, **usage_fields(message.usage)}, message.model))

    # ------------------------------------------------------------------------------------------ events

    def _body(self, fields: dict[str, Any], model: str | None) -> dict[str, Any]:
        return {**fields, "modelVersion": model or self._head.model, "responseId": self._head.id}

    def _event(self, fields: dict[str, Any]) -> None:
        self._write(self._body(fields, self._parts.fold.head.model))

    def _write(self, body: dict[str, Any]) -> None:
        if self._is_array:
            self._out.append((b",\r\n" if self._has_begun else b"[") + one_line(body))
        else:
            self._out.append(b"data: " + one_line(body) + b"\r\n\r\n")
        self._has_begun = True

    def _take(self) -> bytes:
        out = b"".join(self._out)
        self._out.clear()
        return out

    def _fail(self, error: StreamError) -> None:
        candidates = [form for candidate in self._candidates.values() if (form := _news(candidate)) is not None]
        if candidates:
            self._event({"candidates": candidates})
        self._write(stream_error_body(error))

    def _end(self, verdict: Verdict) -> None:
        self._last_calls()
        fields: dict[str, Any] = {}
        feedback = verdict.messages[0].metadata.get("promptFeedback")
        if isinstance(feedback, dict):
            fields["promptFeedback"] = feedback
        if not fields or self._parts.has_said:
            fields["candidates"] = [self._last(index, message, verdict) for index, message in verdict.messages.items()]
        self._event({**fields, **usage_fields(verdict.messages[0].usage)})

    def _last(self, index: int, message: AssistantMessage, verdict: Verdict) -> dict[str, Any]:
        candidate = self._candidate(index)
        candidate.end_thought()
        if verdict.error is not None:
            return _ending(candidate, message, MALFORMED) | {"finishMessage": verdict.error.message}
        return _ending(candidate, message, finish_word(message, is_cut=index in verdict.cut))

    def _last_calls(self) -> None:
        """Tell the calls that only the end of the answer has made whole, and what came beside texts that had gone out."""
        for index, choice in self._parts.fold.choices.items():
            for part in choice.parts:
                if part.kind == "text" and beside(part.provider_data):
                    self._text(index, part.key, part.provider_data, "")
        for (index, key), call in self._calls.items():
            if not call.is_faulty:
                self._end_call(index, key, self._data(index, "tool_call", key), is_last=True)

    # ------------------------------------------------------------------------------------------ what is told later

    def _candidate(self, index: int) -> CandidateOut:
        candidate = self._candidates.get(index)
        if candidate is None:
            candidate = self._candidates[index] = CandidateOut(index)
        return candidate

    def _put(self, method: Callable[..., None], choice: int, kind: str, key: int, *args: Any) -> None:
        self._later.append((method, choice, kind, key, args))

    def _data(self, choice: int, kind: str, key: int) -> dict[str, Any]:
        growing = self._parts.fold.choice(choice).by_key.get((kind, key))
        return EMPTY if growing is None else growing.provider_data

    def _tell(self) -> None:
        later, self._later = self._later, []
        for method, choice, kind, key, args in later:
            self._reach(choice, self._parts.fold.choice(choice).by_key.get((kind, key)))
            method(choice, key, self._data(choice, kind, key), *args)
        for index in self._parts.fold.choices:
            self._reach(index, None)

    def _reach(self, choice: int, growing: Growing | None) -> None:
        """Tell the parts without text that began before this one: all that there is of them stands beside."""
        seen = self._seen.get(choice, 0)
        fresh = self._parts.fold.choice(choice).parts[seen:]
        if not fresh or (growing is not None and growing not in fresh):
            return
        for part in fresh:
            seen = self._seen[choice] = seen + 1
            if part is growing:
                return
            if part.kind == "text" and not part.pieces and beside(part.provider_data):
                self._text(choice, part.key, part.provider_data, "")

    # ------------------------------------------------------------------------------------------ one thing each

    def text(self, choice: int, key: int, text: str) -> None:
        """Take more text."""
        self._put(self._text, choice, "text", key, text)

    def refusal(self, choice: int, key: int, text: str) -> None:
        """Take more of a refusal; it is text here."""
        self._put(self._text, choice, "refusal", key, text)

    def _text(self, choice: int, key: int, data: dict[str, Any], text: str) -> None:
        place = (choice, key)
        around = beside(data) if place not in self._told else {}
        if around:
            self._told.add(place)
        if text or around:
            self._candidate(choice).text(text, around)

    def reasoning(self, choice: int, key: int, delta: ReasoningDelta) -> None:
        """Take more reasoning, or more of what proves or hides it."""
        self._put(self._thinking, choice, "reasoning", key, delta)

    def _thinking(self, choice: int, key: int, _data: dict[str, Any], delta: ReasoningDelta) -> None:
        if not self._candidate(choice).thinking(key, delta):
            self._parts.leave_out("a signature that came after its thinking had ended", choice, key)

    def citation(self, choice: int, key: int, citation: JSON) -> None:
        """Take a citation of a text; those of this wire stand in what is said of the candidate at its end."""
        if not isinstance(citation, dict) or not citation.keys() & {"uri", "segment", "groundingChunkIndices"}:
            self._parts.leave_out("citations of another form", choice, key)

    def call_started(self, call: CallOut, data: dict[str, Any]) -> None:  # noqa: ARG002 - they are asked for when it is told
        """Begin a call; it goes out when it is whole."""
        self._calls[call.choice, call.key] = call
        self._arguments[call.choice, call.key] = []

    def call_renamed(self, call: CallOut, more: str) -> None:
        """Names do not grow here; a call whose name did turns out faulty."""

    def call_arguments(self, call: CallOut, text: str) -> None:
        """Take more of a call's arguments."""
        self._arguments[call.choice, call.key].append(text)

    def call_ended(self, call: CallOut) -> None:
        """The call is whole."""
        self._put(self._end_call, call.choice, "tool_call", call.key)

    def _end_call(self, choice: int, key: int, data: dict[str, Any], *, is_last: bool = False) -> None:
        place = (choice, key)
        if place in self._ended and not is_last:
            return  # asked before: what could not be read then is judged with the whole answer
        call, is_told = self._calls[place], place in self._told_calls
        self._ended.add(place)
        form = None if is_told else call_form("" if call.call.id is None else call.id, call.name, "".join(self._arguments[place]), data)
        if form is not None:
            self._told_calls.add(place)
            self._candidate(choice).add(form)

    def media(self, key: int, delta: MediaDelta) -> None:
        """Take a piece of a medium; the words of a sound have no place."""
        if delta.data:
            self._put(self._piece, delta.choice, "media", key, delta)
        if delta.transcript:
            self._parts.leave_out("the words of a sound", delta.choice, key)

    def _piece(self, choice: int, key: int, _data: dict[str, Any], delta: MediaDelta) -> None:
        growing = self._parts.fold.choice(choice).by_key.get(("media", key))
        media_type = delta.media_type or (growing.media_type if growing is not None else None) or _SOUND
        self._candidate(choice).add(inline_form(delta.data, media_type))

    def part(self, choice: int, key: int, part: Part) -> None:
        """Take a part that came whole."""
        self._put(self._part, choice, "whole", key, part)

    def _part(self, choice: int, key: int, _data: dict[str, Any], part: Part) -> None:
        if not put_part(self._candidate(choice), key, part):
            self._parts.leave_out(f"a {type(part).__name__}", choice, key)

    def logprobs(self, choice: int, logprobs: JSON) -> None:
        """Take log-probabilities, if they have this wire's form."""
        if isinstance(logprobs, dict) and logprobs.keys() & {"chosenCandidates", "topCandidates"}:
            self._candidate(choice).logprobs = logprobs
        else:
            self._parts.leave_out("log-probabilities of another form", choice)


def _news(candidate: CandidateOut) -> dict[str, Any] | None:
    """Return what a candidate adds to the stream, or None."""
    parts, logprobs, candidate.logprobs = candidate.take(), candidate.logprobs, None
    if not parts and logprobs is None:
        return None
    form: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": candidate.index}
    return form if logprobs is None else {**form, "logprobsResult": logprobs}


def _ending(candidate: CandidateOut, message: AssistantMessage, word: str) -> dict[str, Any]:
    """Return what a candidate adds at its end."""
    form = _news(candidate) or {"content": {"parts": [{"text": ""}], "role": "model"}, "index": candidate.index}
    snapshots = {name: message.metadata[name] for name in _SNAPSHOTS if message.metadata.get(name) is not None}
    return {**form, "finishReason": word, **snapshots}
