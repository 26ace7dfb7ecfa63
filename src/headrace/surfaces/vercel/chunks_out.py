"""A run as the UI message stream v1: one leg of a run is one answer; all legs of a run are one message of the chat.

The rule of this file: a client that follows the stream, and one that gets it again from its start, have the same message in the end. What
the SDK's version 6 does not know is left out for it, since it drops a stream for one chunk of a type that is new to it.

Source: `ui-message-stream/` and `ui/process-ui-message-stream.ts` of the package `ai`, version 7;
https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal

from headrace.agent import events
from headrace.agent.events import Event
from headrace.messages.fields import GenerateReason
from headrace.messages.usage import COUNTS, Usage
from headrace.surfaces.surface import Form, Surface, sse
from headrace.surfaces.vercel.voice import Voice

DONE: Final = b"data: [DONE]\n\n"
_FINISHES: Final[dict[GenerateReason, str]] = {
    "awaiting_approval": "tool-calls",
    "awaiting_external": "tool-calls",
    "length": "length",
    "content_filter": "content-filter",
    "error": "error",
}
"""What the SDK calls an end; all others are `stop`."""


class VercelOut(Surface[Form]):
    """One leg of a run as one answer of the chat."""

    headers: ClassVar[Mapping[str, str]] = {
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
        "x-vercel-ai-ui-message-stream": "v1",
    }
    tail: ClassVar[bytes] = DONE

    def __init__(self, *, message_id: str | None = None, secret: bytes | None = None, sdk: Literal[6, 7] = 7) -> None:
        """Start before the first event.

        Args:
            message_id: what the chat calls the message; by default the run's id, so that a run is one message over all its legs.
            secret: signs questions, for clients that keep the conversation themselves.
            sdk: the major version of the client's SDK.
        """
        super().__init__()
        self._message_id = message_id
        self._secret = secret
        self._is_latest = sdk >= 7
        self._voice = Voice(self._out_form, self.known, secret=secret, is_latest=self._is_latest)
        self._inside: dict[str, Voice] = {}
        self._answered: set[str] = set()

    def write(self, item: Form, *, number: int | None = None) -> bytes:
        """Return an item as a server-sent event."""
        return sse(item, number=number)

    def _out_form(self, form: Form) -> None:
        self._out.append(form)

    def _begin(self, event: Event) -> None:
        self._voice.say("start", messageId=self._message_id or event.run_id, messageMetadata={"runId": event.run_id})

    def _break_off(self, message: str) -> None:
        self._voice.end()
        self._voice.say("error", errorText=message)

    # ------------------------------------------------------------------------------------------ events

    def _plain(self, event: Event) -> None:
        self._voice.feed(event)

    def _approval_given(self, event: events.ApprovalGiven) -> None:
        self._answered.add(event.answer.call_key)
        self._voice.feed(event)

    def _error_raised(self, event: events.ErrorRaised) -> None:
        self._voice.say("error", errorText=event.message)

    def _run_ended(self, event: events.RunEnded) -> None:
        self._is_over = True
        self._voice.end()
        metadata: Form = {"runId": event.run_id, "generateReason": event.generate_reason, **_usage(event.usage)}
        self._voice.say("message-metadata", messageMetadata=metadata)
        if event.generate_reason == "interrupted":
            self._voice.say("abort", reason="interrupted")
        else:
            self._voice.say("finish", finishReason=_FINISHES.get(event.generate_reason, "stop"))

    def _subrun(self, event: events.SubRun) -> None:
        """Say what happens inside, wrapped; of what is asked inside, and shown for that, also what comes of it."""
        inner = event.event
        voice = self._inside.get(inner.run_id)
        if voice is None:
            voice = self._inside[inner.run_id] = Voice(self._wrapped(event), self.known, secret=None, is_latest=False)
        match inner:
            case events.SubRun():
                self._subrun(inner)
                return
            case events.RunStarted():
                self._wrapped(event)({"type": "start", "messageId": inner.run_id})
            case events.RunEnded():
                voice.end()
                self._wrapped(event)({"type": "finish", "finishReason": _FINISHES.get(inner.generate_reason, "stop")})
            case events.ErrorRaised():
                self._wrapped(event)({"type": "error", "errorText": inner.message})
            case events.ApprovalRequired() | events.ExternalRequired() | events.ApprovalGiven():
                pass  # the outer run asks and is answered
            case _:
                voice.feed(inner)
        if isinstance(inner, events.ToolEnded) and self._is_shown(inner.call_key):
            self._voice.feed(inner)

    def _is_shown(self, call_key: str) -> bool:
        return call_key in self._answered or any(asked.call_key == call_key for asked in self.known.asked.values())

    def _wrapped(self, event: events.SubRun) -> Callable[[Form], None]:
        held: Form = {"toolCallId": event.call_key, "runId": event.event.run_id}

        def say(form: Form) -> None:
            self._voice.data("subrun", {**held, "chunk": form})

        return say

    _HANDLERS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]] = {
        **dict.fromkeys(Voice._HANDLERS, _plain),
        events.ApprovalGiven: _approval_given,
        events.ErrorRaised: _error_raised,
        events.SubRun: _subrun,
        events.RunEnded: _run_ended,
    }


def _usage(usage: Usage) -> Form:
    counts: Form = {_camel(name): getattr(usage, name) for name in COUNTS if getattr(usage, name) is not None}
    return {"usage": counts} if counts else {}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
