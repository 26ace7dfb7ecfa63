"""One run inside a stream of AG-UI: the caller's own, or that of a sub-agent; its blocks, tools and notes.

The rule of this file: every block is opened and closed once, by names that are the run's own (`call_key`, `message_id`), so they are
unique in a thread. What the protocol has no event for is `CUSTOM`, with a name of ours, and nothing is lost.

Source: https://docs.ag-ui.com/spec/1.0/events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec

from headrace._json import thaw
from headrace.agent import events
from headrace.agent.events import Event
from headrace.messages.json_form import to_dict
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import Part, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from headrace.surfaces.agui.forms import MARK, Said, content, reasoning_id, result_form, result_id, result_metadata
from headrace.surfaces.content import seal
from headrace.surfaces.surface import Blocks, Form


class Transcript:
    """What a client has been shown by now, as messages.

    Attributes:
        shown: answers and messages, in order, each with the sub-agent that it belongs to.
    """

    def __init__(self) -> None:
        """Start without messages."""
        self.shown: list[tuple[str | None, Said | Form]] = []


class Voice:
    """Says what happens in one run.

    Attributes:
        subagent: the run, if it is a sub-agent's; all that is said names it.
    """

    def __init__(
        self, say: Callable[[Form], None], transcript: Transcript, *, subagent: str | None = None, answered: frozenset[str] = frozenset()
    ) -> None:
        """Start before the first event.

        Args:
            say: takes what is said.
            transcript: takes what is shown.
            subagent: the run of a sub-agent.
            answered: the calls whose results the client gave itself; it is not told them again.
        """
        self.subagent = subagent
        self._say = say
        self._transcript = transcript
        self._answered = answered
        self._blocks = Blocks()
        self._step: str | None = None
        self._texts: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._ended: dict[str, list[str]] = {}

    def feed(self, event: Event) -> None:
        """Say what the next event means, if it is about blocks, tools, rounds or notes."""
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def end(self, event: Event) -> None:
        """End what is open; the run says no more."""
        self._end_blocks(event)
        self._end_step(event)

    def say(self, event: Event, kind: str, /, **fields: Any) -> None:
        """Say something, with the time of an event."""
        form: Form = {"type": kind, "timestamp": int(event.at.timestamp() * 1000), **fields}
        if self.subagent is not None:
            form["subagentRunId"] = self.subagent
        self._say(form)

    def custom(self, event: Event, name: str, value: object) -> None:
        """Say something that the protocol has no event for."""
        self.say(event, "CUSTOM", name=f"{MARK}.{name}", value=value)

    # ------------------------------------------------------------------------------------------ rounds

    def _round_started(self, event: events.RoundStarted) -> None:
        self._end_step(event)
        self._step = f"round {event.round}"
        self.say(event, "STEP_STARTED", stepName=self._step)

    def _end_step(self, event: Event) -> None:
        if self._step is not None:
            step, self._step = self._step, None
            self.say(event, "STEP_FINISHED", stepName=step)

    def _round_ended(self, event: events.RoundEnded) -> None:
        self._end_blocks(event)
        message, ids = event.message, self._ended
        self._texts, self._sizes, self._ended = {}, {}, {}
        if message is None:
            return
        self._say_seals(event, message, ids)
        self._transcript.shown.append((self.subagent, Said(message, ids)))
        for part in message.parts:
            if not isinstance(part, (TextPart, RefusalPart, ReasoningPart, ToolCallPart)):
                self.custom(event, "part", {"messageId": message.id, "part": _part_form(part)})

    def _say_seals(self, event: Event, message: AssistantMessage, ids: Mapping[str, list[str]]) -> None:
        thinking = zip(message.parts_of(ReasoningPart), ids.get("reasoning", ()), strict=False)
        calls = zip(message.tool_calls, ids.get("call", ()), strict=False)
        seals = [("message", name, seal(part, message.provider)) for part, name in thinking]
        seals += [("tool-call", name, seal(part, message.provider)) for part, name in calls]
        for subtype, name, sealed in seals:
            if sealed is not None:
                self.say(event, "REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=name, encryptedValue=sealed)

    def _attempt_discarded(self, event: events.AttemptDiscarded) -> None:
        self._end_blocks(event)
        self._texts, self._sizes, self._ended = {}, {}, {}
        value = {"messageId": event.message_id, "attempt": event.attempt, "reason": event.reason}
        self.custom(event, "attempt_discarded", value)

    # ------------------------------------------------------------------------------------------ text and thinking

    def _text_id(self, message_id: str, part: int, kind: str) -> str:
        """Name a text; the first one of a message has the message's name, since its calls hang on that."""
        key = f"{message_id}/{part}/{kind}"
        return self._texts.setdefault(key, message_id if not self._texts else f"{message_id}/{part}")

    def _text_started(self, event: events.TextStarted) -> None:
        name = self._text_id(event.message_id, event.part, event.kind)
        self._blocks.start(name, "text")
        marked: Form = {} if event.kind == "text" else {"metadata": {MARK: {"kind": event.kind}}}
        self.say(event, "TEXT_MESSAGE_START", messageId=name, role="assistant", **marked)

    def _text_delta(self, event: events.TextDelta) -> None:
        name = self._text_id(event.message_id, event.part, event.kind)
        self.say(event, "TEXT_MESSAGE_CONTENT", messageId=name, delta=event.text)

    def _text_ended(self, event: events.TextEnded) -> None:
        self._end(event, self._text_id(event.message_id, event.part, event.kind), "text")

    def _reasoning_started(self, event: events.ReasoningStarted) -> None:
        name = reasoning_id(event.message_id, event.part)
        self._blocks.start(name, "reasoning")
        self.say(event, "REASONING_START", messageId=name)
        self.say(event, "REASONING_MESSAGE_START", messageId=name, role="reasoning")

    def _reasoning_delta(self, event: events.ReasoningDelta) -> None:
        self.say(event, "REASONING_MESSAGE_CONTENT", messageId=reasoning_id(event.message_id, event.part), delta=event.text)

    def _reasoning_ended(self, event: events.ReasoningEnded) -> None:
        self._end(event, reasoning_id(event.message_id, event.part), "reasoning")

    # ------------------------------------------------------------------------------------------ calls

    def _call_started(self, event: events.ToolCallStarted) -> None:
        self._blocks.start(event.call_key, "call")
        self._sizes[event.call_key] = 0
        parent = event.call_key.rpartition("/")[0]
        self.say(event, "TOOL_CALL_START", toolCallId=event.call_key, toolCallName=event.name, parentMessageId=parent)

    def _call_arguments(self, event: events.ToolCallArguments) -> None:
        self._sizes[event.call_key] = self._sizes.get(event.call_key, 0) + len(event.text)
        self.say(event, "TOOL_CALL_ARGS", toolCallId=event.call_key, delta=event.text)

    def _call_ended(self, event: events.ToolCallEnded) -> None:
        said = self._sizes.get(event.call_key, 0)
        if not said and event.arguments:
            self.say(event, "TOOL_CALL_ARGS", toolCallId=event.call_key, delta=event.arguments)
        self._end(event, event.call_key, "call")
        if not event.runnable:
            value = {"toolCallId": event.call_key, "toolCallName": event.name, "arguments": event.arguments}
            self.custom(event, "invalid_arguments", value)

    # ------------------------------------------------------------------------------------------ tools

    def _tool_started(self, event: events.ToolStarted) -> None:
        self.custom(event, "tool_started", {"toolCallId": event.call_key})

    def _tool_output(self, event: events.ToolOutput) -> None:
        self.custom(event, "tool_output", {"toolCallId": event.call_key, "output": content([event.output])})

    def _tool_progress(self, event: events.ToolProgress) -> None:
        held: Form = {"toolCallId": event.call_key, "message": event.message}
        held |= {name: value for name, value in (("done", event.done), ("total", event.total)) if value is not None}
        self.say(
            event,
            "ACTIVITY_SNAPSHOT",
            messageId=f"{event.call_key}/progress",
            activityType="tool_progress",
            content=held,
            replace=True,
        )

    def _tool_ended(self, event: events.ToolEnded) -> None:
        if event.call_key in self._answered:
            return
        self._transcript.shown.append((self.subagent, result_form(event.result, event.call_key)))
        self.say(
            event,
            "TOOL_CALL_RESULT",
            messageId=result_id(event.call_key),
            toolCallId=event.call_key,
            role="tool",
            content=content(event.result.parts),
            **result_metadata(event.result),
        )

    # ------------------------------------------------------------------------------------------ notes

    def _reminder_added(self, event: events.ReminderAdded) -> None:
        message, name = event.message, event.message.id or f"{event.run_id}/{event.seq}"
        if message.origin != "user":
            self.custom(event, "reminder", {"messageId": name, "text": message.text, "kind": message.reminder_kind})
            return
        text = message.text
        self._transcript.shown.append((self.subagent, {"id": name, "role": "user", "content": text}))
        self.say(event, "TEXT_MESSAGE_START", messageId=name, role="user")
        self.say(event, "TEXT_MESSAGE_CONTENT", messageId=name, delta=text)
        self.say(event, "TEXT_MESSAGE_END", messageId=name)

    def _note(self, event: events.ContextCompacted | events.ToolsChanged | events.LimitReached) -> None:
        form: Form = msgspec.to_builtins(event)
        self.custom(event, event.type, {name: value for name, value in form.items() if name not in _OF_ALL})

    def _approval_given(self, event: events.ApprovalGiven) -> None:
        self.custom(event, "answered", {"toolCallId": event.answer.call_key, "kind": msgspec.to_builtins(event.answer)["kind"]})

    # ------------------------------------------------------------------------------------------ ends

    def _end(self, event: Event, name: str, kind: str) -> None:
        if self._blocks.end(name):
            self._ended.setdefault(kind, []).append(name)
            self._say_end(event, name, kind)

    def _end_blocks(self, event: Event) -> None:
        for name, kind in self._blocks.take():
            self._say_end(event, name, kind)

    def _say_end(self, event: Event, name: str, kind: str) -> None:
        match kind:
            case "text":
                self.say(event, "TEXT_MESSAGE_END", messageId=name)
            case "reasoning":
                self.say(event, "REASONING_MESSAGE_END", messageId=name)
                self.say(event, "REASONING_END", messageId=name)
            case _:
                self.say(event, "TOOL_CALL_END", toolCallId=name)

    _HANDLERS: ClassVar[dict[type[Any], Callable[[Voice, Any], None]]] = {
        events.RoundStarted: _round_started,
        events.RoundEnded: _round_ended,
        events.AttemptDiscarded: _attempt_discarded,
        events.TextStarted: _text_started,
        events.TextDelta: _text_delta,
        events.TextEnded: _text_ended,
        events.ReasoningStarted: _reasoning_started,
        events.ReasoningDelta: _reasoning_delta,
        events.ReasoningEnded: _reasoning_ended,
        events.ToolCallStarted: _call_started,
        events.ToolCallArguments: _call_arguments,
        events.ToolCallEnded: _call_ended,
        events.ToolStarted: _tool_started,
        events.ToolOutput: _tool_output,
        events.ToolProgress: _tool_progress,
        events.ToolEnded: _tool_ended,
        events.ReminderAdded: _reminder_added,
        events.ContextCompacted: _note,
        events.ToolsChanged: _note,
        events.LimitReached: _note,
        events.ApprovalGiven: _approval_given,
    }


_OF_ALL = frozenset({"type", "seq", "run_id", "round", "at"})


def _part_form(part: Part) -> object:
    return thaw(to_dict(AssistantMessage.assemble([part]))["parts"][0])
