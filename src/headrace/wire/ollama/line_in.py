"""One line of Ollama's answer: a piece of it, its end, or an error.

The rule of this file: everything in a line is either a delta, or kept in the message's metadata, or known to say nothing. Each entry of
`tool_calls` is a whole call, whatever its index and id; `done_reason` does not say that calls came, so that they did is no contradiction.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from headrace._json import JSON, dumps_text
from headrace.messages.deltas import (
    Delta,
    FinishDelta,
    LogprobsDelta,
    MessageStart,
    MetadataDelta,
    PartDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
)
from headrace.messages.finish import FinishReason, is_word, neutral
from headrace.messages.parts import MediaPart, make
from headrace.messages.usage import Usage
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.json_events import count_of, kept, word_of

_COUNTS: Final = ("prompt_eval_count", "eval_count", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
_KNOWN_LINE: Final = frozenset(
    {"model", "created_at", "message", "response", "thinking", "images", "tool_calls", "done", "done_reason", "logprobs", "error", *_COUNTS}
)
_KNOWN_MESSAGE: Final = frozenset({"role", "content", "thinking", "tool_calls", "images"})
_CALL_FIELDS: Final = frozenset({"id", "type", "function"})
_FUNCTION_FIELDS: Final = frozenset({"index", "name", "arguments"})


class LineReader:
    """Reads lines into an `Output`.

    Attributes:
        is_done: the last line came.
        is_understood: at least one line was part of an answer.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first line."""
        self.is_done = False
        self.is_understood = False
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self._has_started = False
        self._has_calls = False

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one line; see `json_events.Reader`."""
        if is_error or event.get("error"):
            error = event.get("error") or event
            self._output.fail(stream_error(kept(error), status=status))
            self._output.add(MetadataDelta({"error": kept(error)}, ("error",)))
        message = event.get("message")
        if not isinstance(message, dict):
            message = {"content": event.get("response"), **{name: event.get(name) for name in ("thinking", "images", "tool_calls")}}
        is_part = isinstance(event.get("message"), dict) or "response" in event or event.get("done") is True
        self.is_understood = self.is_understood or is_part
        if is_part:
            self._start(event)
        self._message(message)
        logprobs = event.get("logprobs")
        if isinstance(logprobs, list) and logprobs:
            self._output.add(LogprobsDelta(kept({"content": logprobs})))
        if event.get("done") is True:
            self._end(event)
        self._extras.take("", event, _KNOWN_LINE, kept)

    def rest(self) -> Iterable[Delta]:
        """Return what was kept without being understood."""
        return self._extras.deltas()

    def _start(self, event: Mapping[str, Any]) -> None:
        if not self._has_started:
            self._has_started = True
            model, created = word_of(event.get("model")), event.get("created_at")
            self._output.add(MessageStart(None, model or None, _time(created), provider=self._provider))

    def _message(self, message: Mapping[str, Any]) -> None:
        output = self._output
        for kind, name in (("reasoning", "thinking"), ("text", "content")):
            piece = message.get(name)
            if isinstance(piece, str) and piece:
                output.text("reasoning" if kind == "reasoning" else "text", piece, 0)
            elif piece:
                self._extras.take("message.", {name: piece}, frozenset(), kept)
        images, calls = message.get("images"), message.get("tool_calls")
        for image in images if isinstance(images, list) else [images]:
            if image:
                self._image(image)
        for call in calls if isinstance(calls, list) else [calls]:
            if isinstance(call, dict):
                self._call(call)
            elif call:
                self._extras.take("message.", {"tool_calls": calls}, frozenset(), kept)
        self._extras.take("message.", message, _KNOWN_MESSAGE, kept)

    def _image(self, image: JSON) -> None:
        try:
            data = base64.b64decode(image, validate=True) if isinstance(image, str) else b""
        except (binascii.Error, ValueError):
            data = b""
        if data:
            self._output.add(PartDelta(make(MediaPart, kind="image", data=data)))
        else:
            self._extras.take("message.", {"images": image}, frozenset(), kept)

    def _call(self, call: Mapping[str, Any]) -> None:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = kept(arguments)
        elif arguments is not None:
            arguments = word_of(arguments) if isinstance(arguments, str) else dumps_text(kept(arguments))
        rest: dict[str, Any] = {name: value for name, value in call.items() if name not in _CALL_FIELDS and value is not None}
        inner = {name: value for name, value in function.items() if name not in _FUNCTION_FIELDS and value is not None}
        if inner:
            rest["function"] = inner
        choice = self._output.fold.choices.get(0)
        key = 0 if choice is None else choice.next_key
        fragment = ToolCallFragment(
            id=word_of(call.get("id")),
            name=word_of(function.get("name")),
            arguments=arguments,
            index=count_of(function.get("index")),
            part=key,
            is_id_optional=True,
            event=self._output.events,
            offset=self._output.offset,
            provider_data=kept(rest),
        )
        if fragment.id or fragment.name or fragment.arguments is not None:
            self._has_calls = True
            self._output.add(fragment)
            self._output.add(ToolCallSettled(key))

    def _end(self, event: Mapping[str, Any]) -> None:
        output = self._output
        self.is_done = True
        word = word_of(event.get("done_reason"))
        if is_word(word):
            reason: FinishReason | None = "tool_calls" if self._has_calls and neutral(word) == "stop" else None
            output.add(FinishDelta(word, 0, reason, output.events, output.offset))
        raw = {name: event[name] for name in _COUNTS if event.get(name) is not None}
        prompt, generated = count_of(raw.get("prompt_eval_count")), count_of(raw.get("eval_count"))
        if prompt is not None or generated is not None:
            output.add(UsageDelta(Usage(input_tokens=prompt, output_tokens=generated, raw=kept(raw))))
        elif raw:
            self._extras.take("", raw, frozenset(), kept)


def _time(value: JSON) -> datetime | None:
    """Read RFC 3339, whose fractions of a second may have nine digits and more."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:  # the first or last hours of the calendar
        return None
