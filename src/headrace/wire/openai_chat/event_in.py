"""One event of Chat Completions, whole: its head, choices, usage, errors, and whatever else is in it.

The rule of this file: everything in an event is either a delta, or kept in the message's metadata, or known to say nothing. No vendor
is named and none needs to be; a field means what it says wherever it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from headrace._json import JSON, replace_surrogates
from headrace.messages.deltas import (
    Delta,
    FinishDelta,
    LogprobsDelta,
    MessageStart,
    MetadataDelta,
    ReasoningDelta,
    UsageDelta,
)
from headrace.messages.finish import FinishReason, is_word
from headrace.wire.decoder import Extras, Output
from headrace.wire.error_in import stream_error
from headrace.wire.openai_chat import delta_in
from headrace.wire.openai_chat.usage_in import usage_in

_KNOWN_EVENT: Final = frozenset({"id", "object", "created", "model", "choices", "usage", "error", "obfuscation", "p"})
_KNOWN_CHOICE: Final = frozenset({"index", "delta", "message", "finish_reason", "logprobs", "usage", "error", "text"})
_NATIVE_LENGTH: Final = frozenset({"max_output_tokens", "length", "max_tokens"})
_LAST_TIME: Final = 32_503_680_000  # the year 3000, in seconds


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        open: for each choice that has come: whether it waits for its finish word.
        has_event: whether any event came.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.open: dict[int, bool] = {}
        self.has_event = False
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self._has_started = False
        self._streamed: set[int] = set()

    def read(self, event: Mapping[str, Any], *, is_error: bool = False) -> None:
        """Read one event; `is_error` says that its name was `error`."""
        self.has_event = True
        self._start(event)
        self._errors(event, is_error=is_error)
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._choice(choice)
        usage, nested = event.get("usage"), event.get("x_groq")
        if not isinstance(usage, dict) and isinstance(nested, dict):
            usage = nested.get("usage")
        self._usage(usage, event.get("timings"))
        self._extras.take("", event, _KNOWN_EVENT, delta_in.kept)

    def fail(self, error: JSON) -> None:
        """Take an error that the provider sent; its own object stays in the metadata."""
        self._output.fail(stream_error(replace_surrogates(error)))
        if isinstance(error, Mapping):
            self._output.add(MetadataDelta({"error": delta_in.kept(error)}, ("error",)))

    def rest(self) -> list[Delta]:
        """Return what was kept without being understood."""
        return self._extras.deltas()

    def _start(self, event: Mapping[str, Any]) -> None:
        if self._has_started:
            return
        created = event.get("created")
        time = datetime.fromtimestamp(created, UTC) if type(created) is int and 0 < created < _LAST_TIME else None
        identifier, model = _name(event.get("id")), _name(event.get("model"))
        if identifier or model:
            self._has_started = bool(identifier and model)
            self._output.add(MessageStart(identifier, model, time, None, self._provider))

    def _errors(self, event: Mapping[str, Any], *, is_error: bool) -> None:
        error, base, choices = event.get("error"), event.get("base_resp"), event.get("choices")
        is_bare = not choices and "message" in event and ("code" in event or "type" in event)
        if isinstance(error, (dict, str)) and error:
            self.fail(error)
        elif is_error or event.get("object") == "error" or is_bare:
            self.fail(event)
        elif isinstance(base, dict) and base.get("status_code"):
            self.fail(base)

    def _usage(self, raw: JSON, timings: JSON = None) -> None:
        usage = usage_in(delta_in.kept(raw), timings) if isinstance(raw, dict) else None
        if usage is not None:
            self._output.add(UsageDelta(usage))

    # ------------------------------------------------------------------------------------------ one choice

    def _choice(self, choice: Mapping[str, Any]) -> None:
        number = choice.get("index")
        index = number if type(number) is int and number >= 0 else 0
        delta, is_repeat = self._delta_of(choice, index)
        self.open.setdefault(index, True)
        if delta and self._read_delta(delta, index):
            self.open[index] = True
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict) and any(value is not None for value in logprobs.values()):
            self._output.add(LogprobsDelta(delta_in.kept(logprobs), index))
        if choice.get("error"):
            self.fail(choice["error"])
        self._usage(choice.get("usage"))
        if not is_repeat:
            self._finish(choice, index)
        self._extras.take("choice.", choice, _KNOWN_CHOICE, delta_in.kept)

    def _delta_of(self, choice: Mapping[str, Any], index: int) -> tuple[Mapping[str, Any], bool]:
        """Return what a choice adds, and whether it is a whole message that repeats what was streamed."""
        delta, message = choice.get("delta"), choice.get("message")
        has_streamed = index in self._streamed
        if isinstance(delta, dict) and (delta or has_streamed or not isinstance(message, dict)):
            if delta:
                self._streamed.add(index)
            return delta, False
        if isinstance(message, dict):
            self._streamed.add(index)
            return (self._gaps(message, index), True) if has_streamed else (message, False)
        return ({"content": choice["text"]} if isinstance(choice.get("text"), str) else {}), False

    def _gaps(self, message: Mapping[str, Any], index: int) -> dict[str, Any]:
        """Return what a repeated whole message has that did not come before; it never adds to what did."""
        found = self._output.fold.choices.get(index)
        kinds = {part.kind for part in found.parts} if found else set[str]()
        gaps: dict[str, Any] = {}
        content = message.get("content")
        if isinstance(content, str) and not self._output.is_holding:
            so_far = "".join(piece for part in found.parts if part.kind == "text" for piece in part.pieces) if found else ""
            if len(content) > len(so_far) and content.startswith(so_far):
                gaps["content"] = content[len(so_far) :]
        for kind, names in (("tool_call", ("tool_calls", "function_call")), ("reasoning", delta_in.REASONING_NAMES), ("refusal", ("refusal",))):
            if kind not in kinds:
                gaps.update({name: message[name] for name in names if message.get(name)})
        return gaps

    def _finish(self, choice: Mapping[str, Any], index: int) -> None:
        word = choice.get("finish_reason")
        if not isinstance(word, str) or not is_word(word):
            return
        native = choice.get("native_finish_reason")
        reason: FinishReason | None = "length" if isinstance(native, str) and native.lower() in _NATIVE_LENGTH else None
        self._output.add(FinishDelta(replace_surrogates(word), index, reason, self._output.events, self._output.offset))
        self.open[index] = False

    # ------------------------------------------------------------------------------------------ one delta

    def _read_delta(self, delta: Mapping[str, Any], choice: int) -> bool:
        """Read a delta (or a message read as one): thinking first, then text, then calls; returns whether it had any of these."""
        if delta.get("role") == "tool":
            return self._add_all(delta_in.search_result_of(delta, choice))
        has_content = self._reasoning(delta, choice)
        for piece in delta_in.content_of(delta.get("content"), choice):
            has_content |= self._piece(piece, choice)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._output.text("refusal", refusal, choice)
            has_content = True
        has_content |= self._calls(delta, choice)
        has_content |= self._add_all(delta_in.audio_of(delta.get("audio"), choice))
        for image in delta.get("images") if isinstance(delta.get("images"), list) else ():
            has_content |= self._add_all(delta_in.image_of(image, choice))
        self._add_all(delta_in.citations_of(delta.get("annotations"), choice))
        self._extras.take("delta.", delta, delta_in.KNOWN, delta_in.kept)
        return has_content

    def _reasoning(self, delta: Mapping[str, Any], choice: int) -> bool:
        text = delta_in.reasoning_of(delta)
        details, details_text = delta_in.details_of(delta)
        text = text or details_text
        opaque = delta.get("reasoning_opaque")
        if text:
            self._output.text("reasoning", text, choice)
        if details or (isinstance(opaque, str) and opaque):
            self._output.add(ReasoningDelta("", None, choice, None, _name(opaque), details))
        return bool(text or details)

    def _piece(self, piece: delta_in.Piece | Delta, choice: int) -> bool:
        if not isinstance(piece, tuple):
            self._output.add(piece)
            return True
        kind, text = piece
        if text:
            self._output.text(kind, text, choice)
        return bool(text)

    def _calls(self, delta: Mapping[str, Any], choice: int) -> bool:
        output, has_call = self._output, False
        calls = delta.get("tool_calls")
        for item in [calls] if isinstance(calls, dict) else calls if isinstance(calls, list) else ():
            read = delta_in.fragment_of(item, choice, output)
            if read is not None:
                output.add(read)
                has_call |= bool(read.id or read.name or read.arguments)
        legacy = delta_in.legacy_fragment_of(delta.get("function_call"), choice, output)
        if legacy is not None:
            output.add(legacy)
        return has_call or legacy is not None

    def _add_all(self, deltas: Any) -> bool:
        has_any = False
        for delta in deltas:
            self._output.add(delta)
            has_any = True
        return has_any


def _name(value: JSON) -> str | None:
    return replace_surrogates(value) if isinstance(value, str) and value else None
