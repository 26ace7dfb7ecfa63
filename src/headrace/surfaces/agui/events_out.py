"""A run as AG-UI 1.0: one leg of a run is one run of the protocol, which ends at a pause and is gone on with by a new one.

The rule of this file: what is said is what the client's declared version knows; what it does not know is left out, since a strict client
drops a whole stream for one outcome that is new to it.

Source: https://docs.ag-ui.com/spec/1.0/events/lifecycle and https://docs.ag-ui.com/spec/1.0/basic/versioning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from headrace._json import thaw
from headrace.agent import events
from headrace.agent.approval import Pending
from headrace.agent.events import Event
from headrace.messages.usage import Usage
from headrace.surfaces.agui.forms import MARK, PROTOCOL_VERSION, Said, answer_forms, interrupt_form, usage_forms
from headrace.surfaces.agui.voice import Transcript, Voice
from headrace.surfaces.surface import Form, Surface, sse

_OUTCOMES_SINCE: Final = (1, 0)


class AguiOut(Surface[Form]):
    """One leg of a run as one run of AG-UI."""

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        *,
        parent_run_id: str | None = None,
        client_version: str | None = None,
        messages: Sequence[Form] = (),
        frontend_tools: Collection[str] | None = None,
    ) -> None:
        """Start before the first event.

        Args:
            thread_id: what the client calls the conversation.
            run_id: what it calls this leg.
            parent_run_id: what it calls the run that this leg comes from.
            client_version: the `protocolVersion` that the client declared.
            messages: the messages that the client has, as it sent them; they begin a snapshot.
            frontend_tools: the tools that the client runs itself; calls of other external tools are asked about as questions. None: it
                runs all of them.
        """
        super().__init__()
        self._ids: Form = {"threadId": thread_id, "runId": run_id}
        self._parent: Form = {} if parent_run_id is None else {"parentRunId": parent_run_id}
        self._knows_outcomes = knows_outcomes(client_version)
        self._messages = messages
        self._frontend = frontend_tools
        self._answered = frozenset(
            message["toolCallId"] for message in messages if message.get("role") == "tool" and isinstance(message.get("toolCallId"), str)
        )
        self._transcript = Transcript()
        self._voice = Voice(self._out_form, self._transcript, answered=self._answered)
        self._subagents: dict[str, Voice] = {}
        self._finished: set[str] = set()
        self._asked_in: dict[str, str] = {}
        self._used: dict[tuple[str | None, str | None], Usage] = {}
        self._error: events.ErrorRaised | None = None
        self._last: Event | None = None

    def write(self, item: Form, *, number: int | None = None) -> bytes:
        """Return an item as a server-sent event."""
        return sse(item, number=number)

    def feed(self, event: Event) -> list[Form]:
        """Return what the next event adds."""
        self._last = event
        return super().feed(event)

    def _out_form(self, form: Form) -> None:
        self._out.append(form)

    def _begin(self, event: Event) -> None:
        held = {**self._ids, **self._parent, "protocolVersion": PROTOCOL_VERSION, "metadata": {MARK: {"runId": event.run_id}}}
        self._voice.say(event, "RUN_STARTED", **held)

    def _break_off(self, message: str) -> None:
        if self._last is None:
            self._out += [{"type": "RUN_STARTED", **self._ids, **self._parent, "protocolVersion": PROTOCOL_VERSION}]
            self._out += [{"type": "RUN_ERROR", "message": message, "code": "broken_off"}]
            return
        self._end_subagents(self._last, message, "broken_off")
        self._voice.end(self._last)
        self._voice.say(self._last, "RUN_ERROR", message=message, code="broken_off", **self._usage())

    # ------------------------------------------------------------------------------------------ events

    def _plain(self, event: Event) -> None:
        self._voice.feed(event)

    def _round_ended(self, event: events.RoundEnded) -> None:
        self._voice.feed(event)
        self._count(event)

    def _count(self, event: events.RoundEnded) -> None:
        if event.usage is not None:
            message = event.message
            label = (None, None) if message is None else (message.provider, message.model)
            self._used[label] = self._used[label] + event.usage if label in self._used else event.usage

    def _attempt_discarded(self, event: events.AttemptDiscarded) -> None:
        self._voice.feed(event)
        self._snapshot(event)

    def _snapshot(self, event: Event) -> None:
        """Say what the client should show: what it has been shown of void answers goes away."""
        messages: list[Form] = [*self._messages]
        for subagent, shown in self._transcript.shown:
            forms = list(answer_forms(shown)) if isinstance(shown, Said) else [shown]
            messages += forms if subagent is None else [{**form, "subagentRunId": subagent} for form in forms]
        self._voice.say(event, "MESSAGES_SNAPSHOT", messages=messages)

    def _error_raised(self, event: events.ErrorRaised) -> None:
        self._error = event

    def _run_ended(self, event: events.RunEnded) -> None:
        self._is_over = True
        self._end_subagents(event, "the run ended", event.generate_reason)
        self._voice.end(event)
        marked = {"metadata": {MARK: {"runId": event.run_id, "generateReason": event.generate_reason}}}
        if event.generate_reason == "error":
            error = self._error
            message, code = ("the run failed", "error") if error is None else (error.message, error.kind)
            self._voice.say(event, "RUN_ERROR", message=message, code=code, **self._usage(), **marked)
            return
        held: Form = {**self._outcome(event), **self._usage(), **marked}
        if event.message is not None and event.message.has_structured:
            held["result"] = thaw(event.message.structured_output)
        self._voice.say(event, "RUN_FINISHED", **self._ids, **held)

    def _usage(self) -> Form:
        forms = usage_forms(self._used)
        return {"usage": forms} if forms else {}

    def _outcome(self, event: events.RunEnded) -> Form:
        if event.generate_reason == "interrupted":
            return {"outcome": {"type": "cancelled"}} if self._knows_outcomes else {}
        asked = [pending for pending in event.pending if not self._is_frontend(pending)]
        if asked:
            forms = [interrupt_form(pending, self._asked_in.get(pending.digest)) for pending in asked]
            return {"outcome": {"type": "interrupt", "interrupts": forms}}
        if event.pending and self._knows_outcomes:
            return {"outcome": {"type": "success", "pendingToolCallIds": [pending.call_key for pending in event.pending]}}
        return {"outcome": {"type": "success"}}

    def _is_frontend(self, pending: Pending) -> bool:
        return pending.kind == "external" and (self._frontend is None or pending.call.name in self._frontend)

    # ------------------------------------------------------------------------------------------ sub-agents

    def _subrun(self, event: events.SubRun, outer: str | None = None) -> None:
        inner, run = event.event, event.event.run_id
        if run in self._finished:
            return
        voice = self._subagents.get(run)
        if voice is None:
            voice = self._subagents[run] = Voice(self._out_form, self._transcript, subagent=run, answered=self._answered)
            self._say_started(event, outer)
        match inner:
            case events.SubRun():
                self._subrun(inner, run)
            case events.RoundEnded():
                voice.feed(inner)
                self._count(inner)
            case events.AttemptDiscarded():
                voice.feed(inner)
                self._snapshot(inner)
            case events.ApprovalRequired(pending=pending) | events.ExternalRequired(pending=pending) if not pending.path:
                self._asked_in[pending.digest] = run
            case events.RunEnded():
                self._end_subagent(voice, inner)
            case _:
                voice.feed(inner)

    def _say_started(self, event: events.SubRun, outer: str | None) -> None:
        form: Form = {
            "type": "SUBAGENT_STARTED",
            "timestamp": int(event.at.timestamp() * 1000),
            "subagentRunId": event.event.run_id,
            "name": self.known.names.get(event.call_key) or "agent",
            "parentToolCallId": event.call_key,
            "parentMessageId": event.call_key.rpartition("/")[0],
        }
        self._out.append(form if outer is None else {**form, "parentSubagentRunId": outer})

    def _end_subagent(self, voice: Voice, event: events.RunEnded) -> None:
        voice.end(event)
        self._finished.add(event.run_id)
        if event.generate_reason in ("error", "interrupted"):
            voice.say(event, "SUBAGENT_ERROR", message=f"the agent ended as {event.generate_reason}", code=event.generate_reason)
            return
        outcome: Form = {"type": "success"}
        if event.pending:
            outcome = {"type": "suspended", "interruptIds": [one.digest for one in event.pending if not one.path]}
        voice.say(event, "SUBAGENT_FINISHED", outcome=outcome)

    def _end_subagents(self, event: Event, message: str, code: str) -> None:
        for run, voice in reversed(self._subagents.items()):
            if run not in self._finished:
                self._finished.add(run)
                voice.end(event)
                voice.say(event, "SUBAGENT_ERROR", message=message, code=code)

    _HANDLERS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]] = {
        **dict.fromkeys(Voice._HANDLERS, _plain),
        events.RoundEnded: _round_ended,
        events.AttemptDiscarded: _attempt_discarded,
        events.ErrorRaised: _error_raised,
        events.SubRun: _subrun,
        events.RunEnded: _run_ended,
    }


def knows_outcomes(version: str | None) -> bool:
    """Return whether a client of this version knows the outcome `cancelled` and pending calls.

    Args:
        version: what it declared; one that cannot be read is taken for a newer one, as the specification has it, and none for an older one.
    """
    if version is None:
        return False
    major, _, minor = version.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        return True
    return (int(major), int(minor)) >= _OUTCOMES_SINCE
