"""What happens in one run, as chunks: its blocks, calls, tools and notes.

The rule of this file: parts and calls are called by keys that are unique in a chat (`call_key`). What a client must be able to give back is
put into `providerMetadata`, under a name of ours.

Source: `ui-message-stream/ui-message-chunks.ts` of the package `ai`, version 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, cast

import msgspec

from headrace._json import JSON, thaw
from headrace.agent import events
from headrace.agent.approval import Approve, Deny, Pending
from headrace.agent.events import Event
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, MediaPart, ProviderToolPart, ReasoningPart, TextPart
from headrace.surfaces.content import is_failure, seal, text_of, url_of, usual_type, value_of
from headrace.surfaces.outputs import Outputs
from headrace.surfaces.surface import Blocks, Form, Known
from headrace.surfaces.vercel.signature import sign

MARK: Final = "headrace"
_OF_ALL: Final = frozenset({"type", "seq", "run_id", "round", "at"})


class Voice:
    """Says what happens in one run."""

    def __init__(self, say: Callable[[Form], None], known: Known, *, secret: bytes | None, is_latest: bool) -> None:
        """Start before the first event.

        Args:
            say: takes what is said.
            known: what is known of the run.
            secret: signs questions.
            is_latest: the client knows what version 7 of the SDK has more than version 6.
        """
        self._say = say
        self._known = known
        self._secret = secret
        self._is_latest = is_latest
        self._blocks = Blocks()
        self._thoughts: list[str] = []
        self._has_step = False
        self._is_inner = False
        self._denied: set[str] = set()
        self._outputs = Outputs()

    def feed(self, event: Event) -> None:
        """Say what the next event means, if it is about blocks, tools, rounds or notes."""
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def end(self) -> None:
        """End what is open; the run says no more."""
        self._end_blocks()
        if self._has_step:
            self._has_step = False
            self.say("finish-step")

    def say(self, kind: str, /, **fields: Any) -> None:
        """Say something."""
        self._say({"type": kind, **fields})

    def data(self, kind: str, value: object, identifier: str | None = None) -> None:
        """Say something that the protocol has no chunk for; a client shows it, or not, and keeps none of it."""
        named: Form = {} if identifier is None else {"id": identifier}
        self.say(f"data-{kind}", **named, data=value, transient=True)

    # ------------------------------------------------------------------------------------------ rounds

    def _round_started(self, _event: events.RoundStarted) -> None:
        self.end()
        self._start_step()

    def _start_step(self, *, is_inner: bool = False) -> None:
        self._has_step, self._is_inner = True, is_inner
        self.say("start-step")

    def _round_ended(self, event: events.RoundEnded) -> None:
        message = event.message
        sealed = [seal(part, message.provider) for part in message.parts_of(ReasoningPart)] if message is not None else []
        for name, held in zip(self._thoughts, sealed, strict=False):
            if self._blocks.end(name):
                self.say("reasoning-end", id=name, **({} if held is None else _marked(sealed=held)))
        self._end_blocks()
        if message is not None:
            for chunk in _whole_parts(message):
                self._say(chunk)

    def _attempt_discarded(self, event: events.AttemptDiscarded) -> None:
        self._end_blocks()
        if self._is_latest:
            self.say("reset-step")
        self.data("attempt-discarded", {"messageId": event.message_id, "attempt": event.attempt, "reason": event.reason})

    # ------------------------------------------------------------------------------------------ text and thinking

    def _text_started(self, event: events.TextStarted) -> None:
        name = _text_id(event)
        self._blocks.start(name, "text-end")
        self.say("text-start", id=name, **({} if event.kind == "text" else _marked(kind=event.kind)))

    def _text_delta(self, event: events.TextDelta) -> None:
        self.say("text-delta", id=_text_id(event), delta=event.text)

    def _text_ended(self, event: events.TextEnded) -> None:
        name = _text_id(event)
        if self._blocks.end(name):
            self.say("text-end", id=name)

    def _reasoning_started(self, event: events.ReasoningStarted) -> None:
        name = f"{event.message_id}/{event.part}"
        self._blocks.start(name, "reasoning-end")
        self.say("reasoning-start", id=name)

    def _reasoning_delta(self, event: events.ReasoningDelta) -> None:
        self.say("reasoning-delta", id=f"{event.message_id}/{event.part}", delta=event.text)

    def _reasoning_ended(self, event: events.ReasoningEnded) -> None:
        self._thoughts.append(f"{event.message_id}/{event.part}")  # it is said with the round's end, which knows what is sealed

    # ------------------------------------------------------------------------------------------ calls

    def _call_started(self, event: events.ToolCallStarted) -> None:
        self._blocks.start(event.call_key, "")
        self.say("tool-input-start", toolCallId=event.call_key, toolName=event.name)

    def _call_arguments(self, event: events.ToolCallArguments) -> None:
        self.say("tool-input-delta", toolCallId=event.call_key, inputTextDelta=event.text)

    def _call_ended(self, event: events.ToolCallEnded) -> None:
        self._blocks.end(event.call_key)
        held: Form = {"toolCallId": event.call_key, "toolName": event.name}
        if event.runnable:
            self.say("tool-input-available", **held, input=_input(event.parsed, event.arguments))
        else:
            why = "the call has no name" if not event.name else "the arguments cannot be used"
            self.say("tool-input-error", **held, input=event.arguments, errorText=why)

    # ------------------------------------------------------------------------------------------ tools

    def _tool_started(self, event: events.ToolStarted) -> None:
        self._outputs.forget(event.call_key)

    def _tool_output(self, event: events.ToolOutput) -> None:
        """Say what there is by now."""
        pieces = self._outputs.add(event.call_key, event.output)
        if pieces is not None:
            self.say("tool-output-available", toolCallId=event.call_key, output=value_of(pieces), preliminary=True)

    def _tool_progress(self, event: events.ToolProgress) -> None:
        held: Form = {"toolCallId": event.call_key, "message": event.message}
        held |= {name: value for name, value in (("done", event.done), ("total", event.total)) if value is not None}
        self.data("tool-progress", held, event.call_key)

    def _tool_ended(self, event: events.ToolEnded) -> None:
        self._outputs.forget(event.call_key)
        result = event.result
        if result.state == "denied" and event.call_key in self._denied:
            self.say("tool-output-denied", toolCallId=event.call_key)
        elif is_failure(result):
            self.say("tool-output-error", toolCallId=event.call_key, errorText=text_of(result.parts) or result.state)
        else:
            self.say("tool-output-available", toolCallId=event.call_key, output=value_of(result.parts))

    # ------------------------------------------------------------------------------------------ questions

    def _required(self, event: events.ApprovalRequired | events.ExternalRequired) -> None:
        pending = event.pending
        if pending.path:  # the calls inside of a sub-agent are not shown, but for those that somebody has to see
            if not self._is_inner:
                # A step of their own: the SDK sends answers once every call of the last step has one, and the outer call has none yet.
                self.end()
                self._start_step(is_inner=True)
            held: Form = {"toolCallId": pending.call_key, "toolName": pending.call.name, **_marked(path=list(pending.path))}
            self.say("tool-input-available", **held, input=question_input(pending))
        if pending.kind == "external":
            return
        form: Form = {"approvalId": pending.digest, "toolCallId": pending.call_key}
        if pending.reason:
            form["reason"] = pending.reason
        if self._secret is not None:
            form["signature"] = sign(
                self._secret,
                approval_id=pending.digest,
                call_id=pending.call_key,
                name=pending.call.name,
                arguments=question_input(pending),
            )
        self.say("tool-approval-request", **form)

    def _approval_given(self, event: events.ApprovalGiven) -> None:
        answer = event.answer
        asked = self._known.asked.get(answer.digest or "")
        if asked is None or asked.kind == "external" or not isinstance(answer, (Approve, Deny)):
            return
        if isinstance(answer, Deny):
            self._denied.add(answer.call_key)
        if not self._is_latest:
            return
        reason = {"reason": answer.reason} if isinstance(answer, Deny) and answer.reason else {}
        self.say("tool-approval-response", approvalId=asked.digest, approved=isinstance(answer, Approve), **reason)

    # ------------------------------------------------------------------------------------------ notes

    def _reminder_added(self, event: events.ReminderAdded) -> None:
        message = event.message
        kind = "steering" if message.origin == "user" else "reminder"
        self.data(kind, {"text": message.text}, message.id)

    def _note(self, event: events.ContextCompacted | events.ToolsChanged | events.LimitReached) -> None:
        form: Form = msgspec.to_builtins(event)
        self.data(event.type.replace("_", "-"), {name: value for name, value in form.items() if name not in _OF_ALL})

    def _end_blocks(self) -> None:
        self._thoughts = []
        for name, kind in self._blocks.take():
            if kind:
                self.say(kind, id=name)

    _HANDLERS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]] = {
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
        events.ApprovalRequired: _required,
        events.ExternalRequired: _required,
        events.ApprovalGiven: _approval_given,
        events.ReminderAdded: _reminder_added,
        events.ContextCompacted: _note,
        events.ToolsChanged: _note,
        events.LimitReached: _note,
    }


def question_input(pending: Pending) -> JSON:
    """Return the arguments of a call that is asked about, as the client is shown them."""
    return _input(pending.call.parsed, pending.call.arguments)


def _input(parsed: dict[str, Any] | None, arguments: str) -> JSON:
    return arguments if parsed is None else thaw(parsed)


def _text_id(event: events.TextStarted | events.TextDelta | events.TextEnded) -> str:
    suffix = "" if event.kind == "text" else f"/{event.kind}"
    return f"{event.message_id}/{event.part}{suffix}"


def _marked(**fields: JSON) -> Form:
    return {"providerMetadata": {MARK: fields}}


def _whole_parts(message: AssistantMessage) -> Iterator[Form]:
    """Give the chunks of what came whole: media, sources, values, and calls that the provider ran itself."""
    for place, part in enumerate(message.parts):
        name = f"{message.id}/{place}"
        match part:
            case MediaPart():
                yield {"type": "file", "url": url_of(part), "mediaType": part.media_type or usual_type(part.kind)}
            case JsonPart():
                yield {"type": "data-json", "id": name, "data": thaw(part.value)}
            case ProviderToolPart():
                held: Form = {"toolCallId": name, "providerExecuted": True}
                yield {"type": "tool-input-available", "toolName": part.name, "input": _input(part.parsed, part.arguments), **held}
                yield {"type": "tool-output-available", "output": thaw(part.result), **held}
            case TextPart():
                for n, citation in enumerate(part.citations):
                    yield from _source(f"{name}/{n}", citation)
            case _:
                pass


def _source(name: str, citation: JSON) -> Iterator[Form]:
    """Give the source of a citation, if it names an address: as it stands, or one level down, as wires have it."""
    if not isinstance(citation, dict):
        return
    held = cast("dict[str, Any]", citation)
    for form in (held, *(cast("dict[str, Any]", value) for value in held.values() if isinstance(value, dict))):
        url, title = form.get("url"), form.get("title")
        if isinstance(url, str):
            yield {"type": "source-url", "sourceId": name, "url": url, **({"title": title} if isinstance(title, str) else {})}
            return
