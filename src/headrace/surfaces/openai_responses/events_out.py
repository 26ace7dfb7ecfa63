"""A run as a response of the Responses protocol: one leg of a run is one response; its rounds are items of it.

Events are numbered from 0 (`sequence_number`). The numbers follow from the log alone, so whoever comes back with `starting_after` gets exactly
the rest (`after_number`).

The rule of this file: a `function_call` is the client's to run. The calls of the run's own tools are `mcp_call` items, with their results in
them, as the vendor has it for tools that run on the server's side, so no client takes them for its own; they begin when the tool does.
Questions are `mcp_approval_request` items, whose id holds the question's digest.

Source: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Final

from headrace._json import EMPTY, dumps, dumps_text
from headrace.agent import events
from headrace.agent.approval import Approve
from headrace.agent.events import Event
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import Part, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from headrace.messages.usage import Usage
from headrace.surfaces.content import text_of
from headrace.surfaces.openai_responses.items import RunItems
from headrace.surfaces.surface import Counted, Form, Surface
from headrace.wire.openai_responses.answer_out import PREFIX, response_body
from headrace.wire.openai_responses.finish_out import stream_error_body, usage_body
from headrace.wire.openai_responses.item_writer import ItemWriter
from headrace.wire.server_side import Head

QUESTION: Final = "mcpr_"
SERVER: Final = "headrace"
_MISSING: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesOut(Surface[bytes]):
    """One leg of a run as one response."""

    def __init__(
        self,
        response_id: str,
        model: str,
        *,
        echoed: Mapping[str, Any] = EMPTY,
        previous_id: str | None = None,
        is_background: bool = False,
        shows_tools: bool = True,
        client_tools: Collection[str] = (),
    ) -> None:
        """Start before the first event.

        Args:
            response_id: what the response is called.
            model: what the model is called to the client.
            echoed: members of the request that the response repeats.
            previous_id: the response that this one goes on from.
            is_background: it was asked to go on by itself.
            shows_tools: the calls of the run's own tools are shown, and what came of them.
            client_tools: the tools that the client runs: their calls are told as they come; those of others that the client has to run are
                told once they are asked for.
        """
        super().__init__()
        self._head = Head(id=response_id, model=model)
        self._model = model
        self._echoed = {**echoed, "background": is_background, "previous_response_id": previous_id}
        self._is_background = is_background
        self._shows_tools = shows_tools
        self._client_tools = frozenset(client_tools)
        self._items = RunItems(self._name)
        self._writer = ItemWriter(self._items, lambda _what, _key: None)
        self._created_s = 0
        self._keys: dict[tuple[str, str], int] = {}
        self._calls: dict[str, str] = {}
        self._call_ids: set[str] = set()
        self._changed: dict[str, str] = {}
        self._working: set[str] = set()
        self._thoughts: list[int] = []
        self._usage: Usage | None = None
        self._end: Form = {"status": "in_progress"}
        self._error: events.ErrorRaised | None = None

    @property
    def response(self) -> Form:
        """The response as it stands: what is asked for without a stream, and what is polled."""
        output = self._items.forms()
        return response_body(
            self._head,
            self._echoed,
            created_s=self._created_s,
            model=self._model,
            output=output,
            usage=_usage(self._usage),
            **self._end,
        )

    @property
    def body(self) -> bytes:
        """`response`, encoded."""
        return dumps(self.response)

    def write(self, item: bytes, *, number: int | None = None) -> bytes:  # noqa: ARG002 - it is not told here
        """Return an item, which is a server-sent event already."""
        return item

    def _take(self) -> list[bytes]:
        return self._items.take_each()

    def _name(self, prefix: str, index: int) -> str:
        return f"{prefix}{self._head.id.removeprefix(PREFIX)}_{index}"

    def _key(self, kind: str, name: str) -> int:
        return self._keys.setdefault((kind, name), len(self._keys))

    def _begin(self, event: Event) -> None:
        self._created_s = int(event.at.timestamp())
        if self._is_background:
            self._end = {"status": "queued"}
            self._items.event("response.created", response=self.response)
            self._items.event("response.queued", response=self.response)
            self._end = {"status": "in_progress"}
        else:
            self._items.event("response.created", response=self.response)
        self._items.event("response.in_progress", response=self.response)

    def _break_off(self, message: str) -> None:
        self._fail(StreamError("stream_truncated", message))

    def _fail(self, error: StreamError) -> None:
        body = stream_error_body(error)
        self._items.end_round("incomplete")
        self._items.end_works()
        self._items.event("error", **{name: body[name] for name in ("code", "message", "param")})
        if self._has_begun:
            self._end = {"status": "failed", "error": {"code": "server_error", "type": "server_error", "message": body["message"]}}
            self._items.event("response.failed", response=self.response)

    # ------------------------------------------------------------------------------------------ words and thinking

    def _text_delta(self, event: events.TextDelta) -> None:
        key = self._key(event.kind, f"{event.message_id}/{event.part}")
        self._items.add_text("output_text" if event.kind == "text" else "refusal", key, event.text, EMPTY)

    def _reasoning_delta(self, event: events.ReasoningDelta) -> None:
        self._items.add_text("summary_text", self._key("reasoning", f"{event.message_id}/{event.part}"), event.text, EMPTY)

    def _reasoning_ended(self, event: events.ReasoningEnded) -> None:
        self._thoughts.append(self._key("reasoning", f"{event.message_id}/{event.part}"))

    def _round_started(self, _event: events.RoundStarted) -> None:
        self._thoughts = []
        self._items.begin_round()

    def _round_ended(self, event: events.RoundEnded) -> None:
        if event.message is not None:
            self._prove(event.message)
            for place, part in enumerate(event.message.parts):
                self._whole(f"{event.message.id}/{place}", part)
            self._writer.end()
        self._items.end_round()
        if event.usage is not None:
            self._usage = event.usage if self._usage is None else self._usage + event.usage

    def _prove(self, message: AssistantMessage) -> None:
        for key, part in zip(self._thoughts, message.parts_of(ReasoningPart), strict=False):
            if part.signature or part.encrypted or part.details:
                self._items.prove(key, part)

    def _whole(self, name: str, part: Part) -> None:
        """Tell what no block carries: media, values, and what the provider itself ran."""
        if not isinstance(part, (TextPart, RefusalPart, ReasoningPart, ToolCallPart)):
            self._writer.part(self._key("whole", name), EMPTY, part)

    def _attempt_discarded(self, _event: events.AttemptDiscarded) -> None:
        self._thoughts = []
        self._items.take_back()

    # ------------------------------------------------------------------------------------------ calls

    def _call_started(self, event: events.ToolCallStarted) -> None:
        if event.name in self._client_tools:
            key = self._key("call", event.call_key)
            self._items.begin_call(key, "function", self._call_id(event.call_key, event.call_id), event.name, EMPTY)

    def _call_id(self, call_key: str, call_id: str) -> str:
        """Return the provider's id of a call, or its key where another call of the response has that id."""
        if call_key not in self._calls:
            said = call_id if call_id and call_id not in self._call_ids else call_key
            self._call_ids.add(said)
            self._calls[call_key] = said
        return self._calls[call_key]

    def _call_arguments(self, event: events.ToolCallArguments) -> None:
        if event.call_key in self._calls:
            self._items.add_arguments(self._key("call", event.call_key), event.text)

    def _call_ended(self, event: events.ToolCallEnded) -> None:
        if event.call_key in self._calls:
            call_id = self._call_id(event.call_key, event.call_id)
            self._items.call(self._key("call", event.call_key), call_id, event.name, event.arguments, is_whole=event.runnable)

    def _external_required(self, event: events.ExternalRequired) -> None:
        """Show a call that is the client's to run, if it is not shown yet."""
        call, call_key = event.pending.call, event.pending.call_key
        if call_key not in self._calls:
            key, call_id = self._key("call", call_key), self._call_id(call_key, call.id)
            self._items.begin_call(key, "function", call_id, call.name, EMPTY)
            self._items.call(key, call_id, call.name, call.arguments, is_whole=True)

    # ------------------------------------------------------------------------------------------ the run's own tools

    def _tool_started(self, event: events.ToolStarted) -> None:
        self._begin_work(event.call_key)

    def _begin_work(self, call_key: str) -> None:
        if not self._shows_tools:
            return
        form: Form = {
            "server_label": SERVER,
            "name": self.known.names.get(call_key, ""),
            "arguments": self.known.arguments.get(call_key, ""),
        }
        asked = next((one for one in self.known.asked.values() if one.call_key == call_key), None)
        if asked is not None:
            form["arguments"] = asked.call.arguments
            form["approval_request_id"] = QUESTION + asked.digest
        if call_key in self._changed:
            form["arguments"] = self._changed[call_key]
        self._items.begin_work(call_key, form)
        self._working.add(call_key)

    def _approval_given(self, event: events.ApprovalGiven) -> None:
        if isinstance(event.answer, Approve) and event.answer.arguments is not None:
            self._changed[event.answer.call_key] = dumps_text(event.answer.arguments)

    def _tool_ended(self, event: events.ToolEnded) -> None:
        call_key, text = event.call_key, text_of(event.result.parts)
        if any(one.call_key == call_key and one.kind == "external" for one in self.known.asked.values()):
            return  # the client gave it
        if call_key in self._calls:
            self._take_call_back(call_key)  # it could not be run, or a person said no
            return
        if call_key not in self._working:
            self._begin_work(call_key)
        if event.result.state == "success":
            self._items.end_work(call_key, status="completed", output=text)
        else:
            error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text or event.result.state}]}
            self._items.end_work(call_key, status="failed", error=error)

    def _take_call_back(self, call_key: str) -> None:
        item = self._items.item_of_call(self._key("call", call_key))
        if item is not None:
            self._items.leave_out(item)

    # ------------------------------------------------------------------------------------------ questions and the end

    def _approval_required(self, event: events.ApprovalRequired) -> None:
        pending = event.pending
        if pending.call_key in self._calls:
            self._take_call_back(pending.call_key)  # the client is to run it only after a yes
            del self._calls[pending.call_key]
        form: Form = {
            "id": QUESTION + pending.digest,
            "type": "mcp_approval_request",
            "name": pending.call.name,
            "arguments": pending.call.arguments,
            "server_label": SERVER,
        }
        self._items.whole(self._key("question", pending.digest), form)

    def _error_raised(self, event: events.ErrorRaised) -> None:
        self._error = event

    def _run_ended(self, event: events.RunEnded) -> None:
        self._is_over = True
        if event.generate_reason == "error":
            error = self._error
            self._fail(
                StreamError("provider_error", "the run failed")
                if error is None
                else StreamError("provider_error", error.message, error.kind)
            )
            return
        self._items.end_round()
        self._items.end_works()
        why = _MISSING.get(event.generate_reason)
        if event.generate_reason == "interrupted":
            self._end = {"status": "cancelled"}
        elif why is not None:
            self._end = {"status": "incomplete", "incomplete_details": {"reason": why}}
        else:
            self._end = {"status": "completed"}
        kind = "completed" if self._end["status"] == "completed" else "incomplete"
        self._items.event(f"response.{kind}", response=self.response)

    _HANDLERS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]] = {
        events.RoundStarted: _round_started,
        events.RoundEnded: _round_ended,
        events.AttemptDiscarded: _attempt_discarded,
        events.TextDelta: _text_delta,
        events.ReasoningDelta: _reasoning_delta,
        events.ReasoningEnded: _reasoning_ended,
        events.ToolCallStarted: _call_started,
        events.ToolCallArguments: _call_arguments,
        events.ToolCallEnded: _call_ended,
        events.ToolStarted: _tool_started,
        events.ToolEnded: _tool_ended,
        events.ApprovalRequired: _approval_required,
        events.ApprovalGiven: _approval_given,
        events.ExternalRequired: _external_required,
        events.ErrorRaised: _error_raised,
        events.RunEnded: _run_ended,
    }


def _usage(usage: Usage | None) -> Form | None:
    """Return what was used; the vendor's models want each count of the input."""
    body = usage_body(usage)
    if body is not None:
        body["input_tokens_details"].setdefault("cache_write_tokens", 0)
    return body


def after_number(surface: ResponsesOut, starting_after: int | None) -> Counted[bytes]:
    """Return the response for a client that has seen the events up to this `sequence_number`; None: it has seen none."""
    return Counted(surface, 0 if starting_after is None else starting_after + 1)
