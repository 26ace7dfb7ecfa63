"""One event of an interaction: its beginning, its steps, its state, its end, its errors.

The rule of this file: everything in an event is either a delta, or kept in the message's metadata, or known to say nothing. Usage that
repeats replaces what came before.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import JSON, replace_surrogates
from headrace.errors import UsageError
from headrace.messages.deltas import FinishDelta, MessageStart, MetadataDelta, StreamError, UsageDelta
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.gemini.values import kept, text_of, time_of
from headrace.wire.gemini_interactions.step import Step
from headrace.wire.gemini_interactions.step_in import StepReader, as_step
from headrace.wire.gemini_interactions.usage_in import usage_in

_KNOWN_EVENT: Final = frozenset(
    {"event_type", "event_id", "index", "step", "content", "delta", "interaction", "interaction_id", "status", "metadata", "usage",
     "step_usage", "error"}
)  # fmt: skip
_KNOWN_INTERACTION: Final = frozenset(
    {"id", "model", "object", "created", "updated", "status", "usage", "steps", "outputs", "error", "errors", "role", "input"}
)
_UNFINISHED: Final = frozenset({"", "in_progress", "queued", "idle", "requires_continuation"})


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        steps: the steps.
        has_event: whether any event came.
        is_completed: the interaction's end came.
        status: its state, as said last.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.steps = StepReader(output, provider)
        self.has_event = False
        self.is_completed = False
        self.status = ""
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self._usage: dict[str, JSON] = {}
        self._has_new_usage = False

    def read(self, event: Mapping[str, Any], *, name: str | None = None, is_error: bool = False) -> None:
        """Read one event.

        Args:
            event: the event.
            name: the name that stood before it; its own type wins.
            is_error: the name said that it is an error.
        """
        self.has_event = True
        try:
            self._read(event, name, is_error=is_error)
        except UsageError as error:  # it holds what a message cannot
            self._output.kill(StreamError("invalid_event", f"event {self._output.events} cannot be kept: {error}"))

    def _read(self, event: Mapping[str, Any], name: str | None, *, is_error: bool) -> None:
        kind = event.get("event_type")
        kind = kind if isinstance(kind, str) else name or ""
        error = event.get("error")
        if is_error or kind == "error" or error:
            self.fail(error if isinstance(error, (dict, str)) and error else event)
        metadata = event.get("metadata")
        if isinstance(metadata, dict):
            self._take_usage(metadata.get("total_usage") or metadata.get("usage"))
        self._take_usage(event.get("usage"))
        self._status(event.get("status"))
        index = event.get("index")
        number = index if type(index) is int and index >= 0 else 0
        match kind.rpartition(".")[2]:
            case "start" if isinstance(fields := event.get("step") or event.get("content"), dict):
                self._start(number, fields if "step" in event else as_step(fields))
            case "delta" if isinstance(event.get("delta"), dict):
                self.steps.delta(number, event["delta"])
            case "stop":
                if number in self.steps.steps:
                    self.steps.stop(self.steps.steps[number])
            case _:
                interaction = event.get("interaction")
                is_answer = "steps" in event or "outputs" in event or (event.get("object") == "interaction" and not kind)
                if isinstance(interaction, dict):
                    self._interaction(interaction, is_end=kind.endswith((".completed", ".complete")))
                elif is_answer:
                    self._interaction(event, is_end=True)
                    return
        self._extras.take("", event, _KNOWN_EVENT, kept)

    def fail(self, error: JSON) -> None:
        """Take an error that the provider sent; its own object stays in the metadata."""
        self.has_event = True
        self._output.fail(stream_error(replace_surrogates(error)))
        if isinstance(error, Mapping):
            self._output.add(MetadataDelta({"error": kept(error)}, ("error",)))

    def finish(self) -> None:
        """Give out what was held until the end: steps that were not stopped, usage, the state, what was not understood."""
        try:
            self.steps.finish()
            self._give_usage()
        except UsageError as error:  # it holds what a message cannot
            self._output.fail(StreamError("invalid_event", f"the stream cannot be kept: {error}"))
        if self.status not in _UNFINISHED:
            self._output.add(FinishDelta(self.status, 0, None, self._output.events, self._output.offset))
        for delta in self._extras.deltas():
            self._output.add(delta)

    @property
    def has_finished(self) -> bool:
        """Whether the state said last is a final one."""
        return self.status not in _UNFINISHED

    def _start(self, number: int, fields: Mapping[str, Any]) -> Step | None:
        if isinstance(fields.get("error"), dict):
            self.fail(fields["error"])
        return self.steps.start(number, fields)

    def _interaction(self, fields: Mapping[str, Any], *, is_end: bool) -> None:
        identifier, model = text_of(fields.get("id")), text_of(fields.get("model")) or text_of(fields.get("agent"))
        if identifier or model or self._provider:
            self._output.add(MessageStart(identifier, model, time_of(fields.get("created")), None, self._provider))
        self._status(fields.get("status"))
        errors = fields.get("error") or fields.get("errors")
        if errors and isinstance(errors, (dict, list, str)):
            self.fail(errors[0] if isinstance(errors, list) else errors)
        self._take_usage(fields.get("usage"))
        self._extras.take("interaction.", fields, _KNOWN_INTERACTION, kept)
        if not is_end:
            return
        self.is_completed = True
        if not self.steps.steps:  # a whole answer; what streamed is not read again
            self._answer(fields)
        self._give_usage()

    def _answer(self, fields: Mapping[str, Any]) -> None:
        for n, item in enumerate(fields["steps"] if isinstance(fields.get("steps"), list) else ()):
            step = self._start(n, item) if isinstance(item, dict) and item.get("type") != "user_input" else None
            if step is not None:
                self.steps.stop(step)
        if not self.steps.steps:
            self.steps.contents(fields.get("outputs"))

    def _status(self, status: JSON) -> None:
        if isinstance(status, str) and status:
            self.status = replace_surrogates(status)

    def _take_usage(self, raw: JSON) -> None:
        if isinstance(raw, dict) and raw:
            self._usage.update((name, value) for name, value in raw.items() if value is not None)
            self._has_new_usage = True

    def _give_usage(self) -> None:
        usage = usage_in(kept(self._usage)) if self._has_new_usage else None
        self._has_new_usage = False
        if usage is not None:
            self._output.add(UsageDelta(usage))
