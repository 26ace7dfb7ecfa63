"""One event of Chat Completions, whole: its head, choices, usage, errors, and whatever else is in it.

The rule of this file: everything in an event is either a delta, or kept in the message's metadata, or known to say nothing. No vendor
is named and none needs to be; a field means what it says wherever it comes. The deltas of a choice are read in `choice_in.py`.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from headrace._json import JSON, replace_surrogates
from headrace.errors import UsageError
from headrace.messages.deltas import Delta, FinishDelta, LogprobsDelta, MessageStart, MetadataDelta, StreamError, TokenIdsDelta, UsageDelta
from headrace.messages.finish import FinishReason, is_word
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.openai_chat import delta_in
from headrace.wire.openai_chat.choice_in import DeltaReader
from headrace.wire.openai_chat.usage_in import usage_in

_KNOWN_EVENT: Final = frozenset({"id", "object", "created", "model", "choices", "usage", "error", "obfuscation", "p", "prompt_token_ids"})
_KNOWN_CHOICE: Final = frozenset(
    {"index", "delta", "message", "finish_reason", "logprobs", "usage", "error", "text", "token_ids", "prompt_token_ids"}
)
_OPENINGS: Final = ({"role": "assistant", "content": ""}, {"role": "assistant", "content": None}, {"role": "assistant"})
"""How most streams begin: nothing to read."""
_NATIVE_LENGTH: Final = frozenset({"max_output_tokens", "length", "max_tokens"})
_LAST_TIME: Final = 32_503_680_000  # the year 3000, in seconds


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        open: for each choice that has come: whether it waits for its finish word.
        streamed: the choices of which any delta came: a whole message that comes later repeats them.
        has_event: whether any event came.
        has_delta: whether any choice came as a piece of a stream.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.open: dict[int, bool] = {}
        self.streamed: set[int] = set()
        self.has_event = False
        self.has_delta = False
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self._deltas = DeltaReader(output, self._extras)
        self._has_id = False
        self._has_model = False

    def read(self, event: Mapping[str, Any], *, is_error: bool = False) -> None:
        """Read one event; `is_error` says that its name was `error`."""
        self.has_event = True
        try:
            self._read(event, is_error=is_error)
        except UsageError as error:  # it holds what a message cannot
            self._output.kill(StreamError("invalid_event", f"event {self._output.events} cannot be kept: {error}"))

    def _read(self, event: Mapping[str, Any], *, is_error: bool) -> None:
        self._start(event)
        self._errors(event, is_error=is_error)
        if "prompt_token_ids" in event:
            self._prompt_ids(event["prompt_token_ids"], 0)
        for choice in _objects(event.get("choices")):
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
        if self._has_id and self._has_model:
            return
        identifier, model = _name(event.get("id")), _name(event.get("model"))
        if (identifier and not self._has_id) or (model and not self._has_model):
            self._has_id = self._has_id or bool(identifier)
            self._has_model = self._has_model or bool(model)
            created = event.get("created")
            time = datetime.fromtimestamp(created, UTC) if type(created) is int and 0 < created < _LAST_TIME else None
            self._output.add(MessageStart(identifier, model, time, None, self._provider))

    def _errors(self, event: Mapping[str, Any], *, is_error: bool) -> None:
        error, base, choices = event.get("error"), event.get("base_resp"), event.get("choices")
        is_bare = not choices and ("detail" in event or ("message" in event and ("code" in event or "type" in event)))
        if isinstance(error, (dict, str)) and error:
            self.fail(error)
        elif error or is_error or is_bare or event.get("object") == "error":
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
        if index not in self.open and len(self.open) >= self._output.limits.max_parts:
            self._output.exceed("parts", self._output.limits.max_parts)
            return
        self.open.setdefault(index, True)
        delta, is_repeat = self._delta_of(choice, index)
        if delta and delta not in _OPENINGS and self._deltas.read(delta, index, is_streamed="delta" in choice):
            self.open[index] = True
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict) and any(value is not None for value in logprobs.values()):
            self._output.add(LogprobsDelta(delta_in.kept(logprobs), index))
        self._token_ids(choice, index, is_repeat=is_repeat)
        if choice.get("error"):
            self.fail(choice["error"])
        self._usage(choice.get("usage"))
        if not is_repeat:
            self._finish(choice, index)
        self._extras.take("choice.", choice, _KNOWN_CHOICE, delta_in.kept)

    def _delta_of(self, choice: Mapping[str, Any], index: int) -> tuple[Mapping[str, Any], bool]:
        """Return what a choice adds, and whether it is a whole message that repeats what was streamed."""
        delta, message = choice.get("delta"), choice.get("message")
        has_streamed = index in self.streamed
        if isinstance(delta, dict) and (delta or has_streamed or not isinstance(message, dict)):
            self.has_delta = True
            if delta:
                self.streamed.add(index)
            return delta, False
        if isinstance(message, dict):
            self.streamed.add(index)
            return (self._deltas.gaps(message, index), True) if has_streamed else (message, False)
        return ({"content": choice["text"]} if isinstance(choice.get("text"), str) else {}), False

    def _prompt_ids(self, ids: JSON, index: int) -> None:
        prompt = _token_ids(ids)
        if prompt:
            self._output.add(TokenIdsDelta(prompt, None, index))

    def _token_ids(self, choice: Mapping[str, Any], index: int, *, is_repeat: bool) -> None:
        """Take the ids that some servers send beside the text, if asked."""
        if "prompt_token_ids" in choice:
            self._prompt_ids(choice["prompt_token_ids"], index)
        ids = _token_ids(choice["token_ids"]) if "token_ids" in choice else None
        if ids and not is_repeat:
            self._output.add(TokenIdsDelta(None, ids, index))

    def _finish(self, choice: Mapping[str, Any], index: int) -> None:
        word = choice.get("finish_reason")
        if isinstance(word, str):
            native = choice.get("native_finish_reason")
            is_length = isinstance(native, str) and native.lower() in _NATIVE_LENGTH
            self.finish(replace_surrogates(word), index, "length" if is_length else None)

    def finish(self, word: str, index: int, reason: FinishReason | None = None) -> None:
        """Take the word with which a choice ends, if it is one; `reason` is what is known of it beside."""
        if is_word(word):
            self._output.add(FinishDelta(word, index, reason, self._output.events, self._output.offset))
            self.open[index] = False


def _objects(value: JSON) -> list[dict[str, Any]]:
    """Return the objects of a list; an object alone is a list of one."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _token_ids(value: JSON) -> tuple[int, ...] | None:
    return tuple(value) if isinstance(value, list) and all(type(item) is int for item in value) else None


def _name(value: JSON) -> str | None:
    return replace_surrogates(value) if isinstance(value, str) and value else None
