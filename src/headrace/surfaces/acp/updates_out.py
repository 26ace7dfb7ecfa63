"""A run as updates of a session: what `session/update` carries, one after the other.

The rule of this file: each call is announced once and then updated by its key; what cannot be taken back (text of a void answer) is
followed by a break. The calls of sub-agents are calls too, marked with the call that they are made for.

Source: https://agentclientprotocol.com/protocol/prompt-turn and https://agentclientprotocol.com/protocol/tool-calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from headrace._json import dumps
from headrace.agent import events
from headrace.agent.events import Event
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart, Part, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from headrace.surfaces.acp.forms import MARK, block, contents, raw_input, title
from headrace.surfaces.content import is_failure, value_of
from headrace.surfaces.outputs import Outputs
from headrace.surfaces.surface import Form, Surface

_STOPS: Final[dict[GenerateReason, str]] = {
    "length": "max_tokens",
    "max_rounds": "max_turn_requests",
    "limit": "max_turn_requests",
    "content_filter": "refusal",
    "interrupted": "cancelled",
}
"""Why a turn stopped; all others are `end_turn`."""


class AcpOut(Surface[Form]):
    """One leg of a run as updates.

    Attributes:
        stop_reason: why the turn stopped, once the leg is over.
        error: what it failed with, or None; the protocol says it as an error of the prompt's response.
    """

    def __init__(self, *, kinds: Mapping[str, str] | None = None) -> None:
        """Start before the first event.

        Args:
            kinds: for names of tools, what kind they are (`read`, `edit`, `search`, `execute`, …), so an editor shows a fitting sign.
        """
        super().__init__()
        self.stop_reason = "end_turn"
        self.error: str | None = None
        self._kinds = kinds or {}
        self._calls: dict[str, Form] = {}
        self._open: set[str] = set()
        self._outputs = Outputs()
        self._said_in: str | None = None

    def write(self, item: Form, *, number: int | None = None) -> bytes:  # noqa: ARG002 - it is not told here
        """Return an update as JSON."""
        return dumps(item)

    def _say(self, kind: str, /, **fields: Any) -> None:
        self._out.append({"sessionUpdate": kind, **fields})

    def _update(self, call_key: str, /, **fields: Any) -> None:
        self._say("tool_call_update", toolCallId=call_key, **fields)

    def _begin(self, event: Event) -> None:
        """Nothing comes before the first update."""

    def _break_off(self, message: str) -> None:
        self.error = message
        self._fail_open()

    def _fail_open(self) -> None:
        for call_key in sorted(self._open):
            self._update(call_key, status="failed")
        self._open.clear()

    # ------------------------------------------------------------------------------------------ words

    def _text_delta(self, event: events.TextDelta) -> None:
        before, self._said_in = self._said_in, event.message_id
        text = event.text if before in (None, event.message_id) else f"\n\n{event.text}"
        self._say("agent_message_chunk", content={"type": "text", "text": text})

    def _reasoning_delta(self, event: events.ReasoningDelta) -> None:
        self._say("agent_thought_chunk", content={"type": "text", "text": event.text})

    def _round_ended(self, event: events.RoundEnded) -> None:
        for part in () if event.message is None else event.message.parts:
            if isinstance(part, MediaPart):
                self._say("agent_message_chunk", content=block(part))

    def _attempt_discarded(self, _event: events.AttemptDiscarded) -> None:
        self._said_in = "" if self._said_in is not None else None
        self._fail_open()

    def _reminder_added(self, event: events.ReminderAdded) -> None:
        if event.message.origin == "user":
            self._say("user_message_chunk", content={"type": "text", "text": event.message.text})

    # ------------------------------------------------------------------------------------------ calls and tools

    def _call_started(self, event: events.ToolCallStarted, outer: str | None = None) -> None:
        self._open.add(event.call_key)
        marked: Form = {} if outer is None else {"_meta": {MARK: {"parentToolCallId": outer}}}
        kind = self._kinds.get(event.name, "other")
        self._say("tool_call", toolCallId=event.call_key, title=event.name or "a tool", kind=kind, status="pending", **marked)

    def _call_ended(self, event: events.ToolCallEnded) -> None:
        given = raw_input(event.parsed, event.arguments)
        self._update(event.call_key, title=title(event.name or "a tool", event.arguments), rawInput=given)

    def _tool_started(self, event: events.ToolStarted) -> None:
        self._outputs.forget(event.call_key)
        self._update(event.call_key, status="in_progress")

    def _tool_output(self, event: events.ToolOutput) -> None:
        """Show what there is by now: an update replaces what was shown."""
        pieces = self._outputs.add(event.call_key, event.output)
        if pieces is not None:
            self._update(event.call_key, content=contents(_joined(pieces)))

    def _tool_progress(self, event: events.ToolProgress) -> None:
        held: Form = {"message": event.message}
        held |= {name: value for name, value in (("done", event.done), ("total", event.total)) if value is not None}
        name = self.known.names.get(event.call_key) or "a tool"
        self._update(event.call_key, title=title(f"{name}: {event.message}"), _meta={MARK: {"progress": held}})

    def _tool_ended(self, event: events.ToolEnded) -> None:
        result = event.result
        self._open.discard(event.call_key)
        self._outputs.forget(event.call_key)
        status = "failed" if is_failure(result) else "completed"
        self._update(event.call_key, status=status, content=contents(_joined(result.parts)), rawOutput=value_of(result.parts))

    def _subrun(self, event: events.SubRun) -> None:
        match event.event:
            case events.SubRun():
                self._subrun(event.event)
            case events.ToolCallStarted() as inner:
                self._call_started(inner, event.call_key)
            case events.ToolCallEnded() | events.ToolStarted() | events.ToolProgress() | events.ToolOutput() | events.ToolEnded() as inner:
                self._HANDLERS[type(inner)](self, inner)
            case _:
                pass

    # ------------------------------------------------------------------------------------------ the end

    def _error_raised(self, event: events.ErrorRaised) -> None:
        self.error = event.message

    def _run_ended(self, event: events.RunEnded) -> None:
        self._is_over = True
        self.stop_reason = _STOPS.get(event.generate_reason, "end_turn")
        if not event.pending:
            self._fail_open()

    _HANDLERS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]] = {
        events.TextDelta: _text_delta,
        events.ReasoningDelta: _reasoning_delta,
        events.RoundEnded: _round_ended,
        events.AttemptDiscarded: _attempt_discarded,
        events.ReminderAdded: _reminder_added,
        events.ToolCallStarted: _call_started,
        events.ToolCallEnded: _call_ended,
        events.ToolStarted: _tool_started,
        events.ToolOutput: _tool_output,
        events.ToolProgress: _tool_progress,
        events.ToolEnded: _tool_ended,
        events.SubRun: _subrun,
        events.ErrorRaised: _error_raised,
        events.RunEnded: _run_ended,
    }


def history_updates(messages: Sequence[Message]) -> Iterator[Form]:
    """Give a conversation that is kept as the updates that show it, for `session/load`."""
    for message in messages:
        match message:
            case UserMessage() if message.origin == "user":
                for part in message.parts:
                    yield {"sessionUpdate": "user_message_chunk", "content": block(part)}
            case AssistantMessage():
                yield from _answer_updates(message)
            case ToolMessage():
                for result in message.results:
                    yield {
                        "sessionUpdate": "tool_call_update",
                        "toolCallId": result.call_id,
                        "status": "failed" if is_failure(result) else "completed",
                        "content": contents(_joined(result.parts)),
                    }
            case _:
                pass


def _answer_updates(message: AssistantMessage) -> Iterator[Form]:
    for part in message.parts:
        match part:
            case ReasoningPart() if part.text:
                yield {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": part.text}}
            case TextPart() | RefusalPart() | MediaPart():
                yield {"sessionUpdate": "agent_message_chunk", "content": block(part)}
            case ToolCallPart():
                held: Form = {"toolCallId": part.id, "title": title(part.name or "a tool", part.arguments), "kind": "other"}
                yield {"sessionUpdate": "tool_call", **held, "status": "pending", "rawInput": raw_input(part.parsed, part.arguments)}
            case _:
                pass


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Return parts with neighbouring texts as one."""
    joined: list[Part] = []
    run: list[str] = []
    for part in parts:
        if isinstance(part, TextPart):
            run.append(part.text)
            continue
        if run:
            joined.append(TextPart("".join(run)))
            run = []
        joined.append(part)
    return [*joined, *([TextPart("".join(run))] if run else [])]
