"""A leg of a run as the chunks of one answer of a model, for wires that know answers and nothing else.

The rule of this file: what the run's own tools do is no part of the answer, or is thinking; calls that the client has to run are its calls.
What such a wire cannot say (a question) is said in words, so that nobody waits without knowing it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias

from headrace._json import dumps
from headrace.agent import events
from headrace.agent.approval import Pending
from headrace.agent.events import Event
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import (
    Delta,
    Ended,
    FinishDelta,
    MessageStart,
    PartDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamError,
    TextDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
)
from headrace.messages.fields import GenerateReason
from headrace.messages.finish import FinishReason
from headrace.messages.parts import JsonPart, MediaPart
from headrace.surfaces.content import text_of
from headrace.surfaces.surface import Surface

ShowsTools: TypeAlias = Literal["no", "reasoning"]
_BREAK: Final = "\n\n"
_LONGEST: Final = 2000
_FINISHES: Final[dict[GenerateReason, FinishReason]] = {"length": "length", "content_filter": "content_filter"}


class RunChunks(Surface[AssistantMessageChunk]):
    """One leg of a run as chunks.

    Attributes:
        error: why the leg ended in no answer, once it is over; the chunks do not say it.
    """

    def __init__(
        self, *, shows_tools: ShowsTools = "no", shows_reasoning: bool = True, holds_text: bool = False, is_asking: bool = True
    ) -> None:
        """Start before the first event.

        Args:
            shows_tools: what the run's own tools do: not at all, or as thinking.
            shows_reasoning: the model's thinking is told.
            holds_text: words are told only when their round has ended, so none is told that is void later.
            is_asking: questions are told in words.
        """
        super().__init__()
        self.error: StreamError | None = None
        self._shows_tools = shows_tools
        self._shows_reasoning = shows_reasoning
        self._holds = holds_text
        self._is_asking = is_asking
        self._held: list[Delta] = []
        self._keys: dict[str, int] = {}
        self._said_in: str | None = None
        self._told_in: str | None = None

    def write(self, item: AssistantMessageChunk, *, number: int | None = None) -> bytes:  # noqa: ARG002 - it is not told here
        """Return the chunk as JSON; wires write it as they have it."""
        return dumps(item)

    def _begin(self, event: Event) -> None:
        self._say(MessageStart(created_at=event.at))

    def _break_off(self, message: str) -> None:
        self.error = StreamError("stream_truncated", message)

    def _say(self, *deltas: Delta) -> None:
        self._out.append(AssistantMessageChunk.from_deltas(deltas, is_from_wire=True))

    def _words(self, *deltas: Delta) -> None:
        """Say words of the model, or hold them."""
        if self._holds:
            self._held += deltas
        else:
            self._say(*deltas)

    def _key(self, name: str) -> int:
        return self._keys.setdefault(name, len(self._keys))

    # ------------------------------------------------------------------------------------------ words and thinking

    def _text_delta(self, event: events.TextDelta) -> None:
        if event.kind == "refusal":
            self._words(RefusalDelta(event.text, self._key(f"{event.message_id}/{event.part}/refusal")))
            return
        before, self._said_in = self._said_in, event.message_id
        text = event.text if before in (None, event.message_id) else _BREAK + event.text
        self._words(TextDelta(text, self._key(f"{event.message_id}/{event.part}")))

    def _reasoning_delta(self, event: events.ReasoningDelta) -> None:
        if self._shows_reasoning:
            self._words(ReasoningDelta(event.text, self._key(f"{event.message_id}/{event.part}")))

    def _attempt_discarded(self, event: events.AttemptDiscarded) -> None:
        if self._holds:
            self._held, self._said_in = [], self._told_in
        elif self._said_in == event.message_id:
            self._said_in = ""  # what was told cannot be taken back; what comes now begins anew

    def _round_ended(self, event: events.RoundEnded) -> None:
        held, self._held, self._told_in = self._held, [], self._said_in
        if held:
            self._say(*held)
        message = event.message
        for place, part in enumerate(() if message is None else message.parts):
            if isinstance(part, (MediaPart, JsonPart)):
                self._say(PartDelta(part, self._key(f"{event.run_id}/{event.round}/whole/{place}")))

    # ------------------------------------------------------------------------------------------ tools

    def _call_ended(self, event: events.ToolCallEnded) -> None:
        self._tell_tool(event.call_key, event.name, event.arguments)

    def _tool_ended(self, event: events.ToolEnded) -> None:
        self._tell_tool(event.call_key, event.result.name, text_of(event.result.parts))

    def _tell_tool(self, call_key: str, name: str, text: str) -> None:
        if self._shows_tools == "reasoning":
            cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
            self._say(ReasoningDelta(f"\n[{name}] {cut}\n", self._key(f"{call_key}/tool")))

    # ------------------------------------------------------------------------------------------ the end

    def _error_raised(self, event: events.ErrorRaised) -> None:
        self.error = StreamError("provider_error", event.message, event.kind, retryable=event.retryable)

    def _run_ended(self, event: events.RunEnded) -> None:
        self._is_over = True
        usage = [UsageDelta(event.usage)] if any(count is not None for count in event.usage.counts().values()) else []
        if event.generate_reason in ("error", "interrupted"):
            self.error = self.error or StreamError("stream_truncated", f"the run ended as {event.generate_reason}", event.generate_reason)
            self._say(*usage)
            return
        external = [pending for pending in event.pending if pending.kind == "external"]
        asked = [pending for pending in event.pending if pending.kind != "external"]
        if asked and self._is_asking:
            text = "\n".join(map(_question, asked))
            self._say(TextDelta(text if self._said_in is None else _BREAK + text, self._key("questions")))
        for pending in external:
            self._call(pending)
        reason: FinishReason = "tool_calls" if external else _FINISHES.get(event.generate_reason, "stop")
        self._say(*usage, FinishDelta(reason, reason=reason), Ended(is_terminated=True))

    def _call(self, pending: Pending) -> None:
        call, key = pending.call, self._key(f"{pending.call_key}/call")
        self._say(ToolCallFragment(call.id or pending.call_key, call.name, call.arguments, part=key), ToolCallSettled(key))

    _HANDLERS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]] = {
        events.TextDelta: _text_delta,
        events.ReasoningDelta: _reasoning_delta,
        events.AttemptDiscarded: _attempt_discarded,
        events.RoundEnded: _round_ended,
        events.ToolCallEnded: _call_ended,
        events.ToolEnded: _tool_ended,
        events.ErrorRaised: _error_raised,
        events.RunEnded: _run_ended,
    }


def _question(pending: Pending) -> str:
    why = f" ({pending.reason})" if pending.reason else ""
    return f"[{pending.call.name} waits for a person's answer{why}: {pending.call.arguments}]"
