"""The Responses protocol, as a server: chunks in, the stream out that the vendor itself would send.

The rule of this file: the response is told as begun, its items in the order in which they began (`items_out.py`), then the response whole,
with why it ended and what it used. An error is an event of that name and a response that failed. What has no place on this wire is left
out and said.

Source: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

# Log-probabilities are JSON: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from headrace._json import EMPTY, JSON, dumps
from headrace.messages.deltas import MediaDelta, ReasoningDelta, StreamError
from headrace.messages.growing import Growing
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import Part
from headrace.wire.call_out import CallOut
from headrace.wire.life_out import LifeOut
from headrace.wire.openai_responses.answer_out import PREFIX, response_body
from headrace.wire.openai_responses.finish_out import error_body, status_fields, stream_error_body, usage_body
from headrace.wire.openai_responses.item_writer import ItemWriter
from headrace.wire.openai_responses.items_out import ItemsOut
from headrace.wire.openai_responses.turns import Turns
from headrace.wire.parts_out import PartsOut
from headrace.wire.parts_writer import HELD_BLOCK, Verdict
from headrace.wire.server_side import AnswerOptions, Head, RefusalKind, is_cut

_CALL: Final = "tool_call"
Told: TypeAlias = tuple[Callable[..., None], str, int, tuple[Any, ...]]
"""One thing to be told: how, the kind and the key of the part that it is about, and what."""


def refuse(status: int, kind: RefusalKind, message: str, *, argument: str | None = None) -> tuple[int, bytes]:
    """Return a refusal; see `Refuse`."""
    body = error_body(kind, message, argument=argument)
    return status, dumps({"error": {name: body[name] for name in ("message", "type", "param", "code")}})


class StreamOut(LifeOut):
    """The answer on its way; see `server_side.StreamOut`.

    What a chunk says is told to the items only when the whole chunk was read, since it also holds what a part is called.

    Attributes:
        media_type: the content type of the stream.
        takes_late_names, takes_free_text: see `Writer`.
    """

    media_type: str = "text/event-stream"
    takes_late_names: bool = False
    takes_free_text: bool = True

    def __init__(self, head: Head, options: AnswerOptions | None = None, *, new_id: Callable[[], str] | None = None) -> None:
        """Start before the first chunk.

        Args:
            head: what is the same in every answer.
            options: what the request asked of the form.
            new_id: makes the ids of items and of calls that have none; by default of the answer's id and a number.
        """
        self._head = head
        self._options = options or AnswerOptions()
        self._new_id = new_id
        super().__init__(PartsOut(self, new_id, prefix="call_", tool_names=self._options.tool_names))
        self._items = ItemsOut(self._item_id)
        self._writer = ItemWriter(self._items, self._leave_out)
        self._later: list[Told] = []
        self._turns: Turns[Told] = Turns()
        self._calls: dict[int, CallOut] = {}
        self._ended: set[int] = set()
        self._seen = 0
        self._has_begun = False
        self._has_failed = False

    # ------------------------------------------------------------------------------------------ in and out

    def _more(self) -> bytes:
        """Return what was added; at first at least that the response has begun."""
        self._begin()
        self._tell()
        return self._items.take()

    def _rest(self, verdict: Verdict) -> bytes:
        """Return the rest: the ends of the items and the whole response, or the error."""
        self._has_failed = verdict.error is not None
        if self._parts.has_said or verdict.error is None:
            self._begin()
        self._tell()
        self._tell_waiting(is_last=True)
        if verdict.error is not None:
            self._fail(verdict, verdict.error)
        else:
            self._end(verdict)
        return self._items.take()

    def whole(self, message: AssistantMessage, *more: AssistantMessage) -> bytes:
        """Return the body of an answer that is not streamed; this wire has one choice."""
        for _ in more:
            self._parts.leave_out("a further choice")
        items = ItemsOut(self._item_id)
        ItemWriter(items, self._leave_out).all(message.parts)
        items.end_live()
        cut = any(not call.runnable and is_cut(message, call.name) for call in message.tool_calls)
        ending = status_fields(message, is_cut=cut)
        created_s = 0 if message.created_at is None else int(message.created_at.timestamp())
        usage = usage_body(message.usage)
        return dumps(self._response(created_s, message.model, output=items.forms(), usage=usage, **ending))

    # ------------------------------------------------------------------------------------------ the response

    def _response(self, created_s: int, model: str | None, **fields: JSON) -> dict[str, Any]:
        return response_body(self._head, self._options.echoed, created_s=created_s, model=model, **fields)

    def _known(self, **fields: JSON) -> dict[str, Any]:
        """Return the response with what is known of it."""
        known = self._parts.fold.head
        return self._response(0 if known.created_at is None else int(known.created_at.timestamp()), known.model, **fields)

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            response = self._known(status="in_progress", output=[])
            self._items.event("response.created", response=response)
            self._items.event("response.in_progress", response=response)

    def _end(self, verdict: Verdict) -> None:
        message = verdict.messages[0]
        ending = status_fields(message, is_cut=0 in verdict.cut)
        self._end_items(ending["status"])
        response = self._known(output=self._items.forms(), usage=usage_body(message.usage), **ending)
        self._items.event(f"response.{ending['status']}", response=response)

    def _fail(self, verdict: Verdict, error: StreamError) -> None:
        body = stream_error_body(error)
        if self._has_begun:
            self._end_items("incomplete")
        self._items.event("error", error=body)
        if self._has_begun:
            why = {"code": body["code"], "message": body["message"]}
            usage = usage_body(verdict.messages[0].usage)
            self._items.event("response.failed", response=self._known(status="failed", output=self._items.forms(), usage=usage, error=why))

    def _end_items(self, status: str) -> None:
        """End whatever goes on: words with the status of the response, a call as complete if it can be run, which none can that a failure cut."""
        for call in self._calls.values():
            self._items.end_call(call.key, "incomplete" if self._has_failed or call.is_faulty or not call.is_started else "completed")
        self._writer.end()
        self._items.end_live(status)

    # ------------------------------------------------------------------------------------------ what is told later

    def _item_id(self, prefix: str, index: int) -> str:
        identifier = f"{self._head.id.removeprefix(PREFIX)}_{index}" if self._new_id is None else self._new_id()
        return identifier if identifier.startswith(prefix) else prefix + identifier

    def _leave_out(self, what: str, key: int) -> None:
        self._parts.leave_out(what, 0, key)

    def _put(self, method: Callable[..., None], choice: int, kind: str, key: int, *args: Any) -> None:
        """Keep what is to be told; a further choice has no place on this wire."""
        if choice:
            self._parts.leave_out("a further choice", choice)
        else:
            self._later.append((method, kind, key, args))

    def _tell(self) -> None:
        later, self._later = self._later, []
        for told in later:
            place = told[1:3]
            if self._turns.may_go(place):
                self._run(told)
            elif self._turns.hold(place, told):
                self._parts.note(HELD_BLOCK, "it waits until the call before it has ended", 0, told[2])
            self._tell_waiting()
        self._reach(None)

    def _tell_waiting(self, *, is_last: bool = False) -> None:
        while waiting := self._turns.next(is_forced=is_last):
            for told in waiting:
                self._run(told)

    def _run(self, told: Told) -> None:
        method, kind, key, args = told
        growing = self._parts.fold.choice(0).by_key.get((kind, key))
        self._reach(growing)
        method(key, EMPTY if growing is None else growing.provider_data, *args)

    def _reach(self, growing: Growing | None) -> None:
        """Tell the reasoning that began before this part and shows nothing: nothing else tells that it is there."""
        choice = self._parts.fold.choices.get(0)
        fresh = choice.parts[self._seen :] if choice is not None else []
        if not fresh or (growing is not None and growing not in fresh):
            return
        for part in fresh:
            self._seen += 1
            if part is growing:
                return
            is_told = self._items.find(part.kind, part.key) is not None or self._turns.is_waiting((part.kind, part.key))
            if part.kind == "reasoning" and part.provider_data.get("id") and not is_told:
                self._writer.bare(part.key, part.provider_data)

    # ------------------------------------------------------------------------------------------ one thing each

    def text(self, choice: int, key: int, text: str) -> None:
        """Take more text."""
        self._put(self._writer.text, choice, "text", key, text)

    def refusal(self, choice: int, key: int, text: str) -> None:
        """Take more of a refusal."""
        self._put(self._writer.refusal, choice, "refusal", key, text)

    def reasoning(self, choice: int, key: int, delta: ReasoningDelta) -> None:
        """Take more reasoning, or more of what proves or hides it."""
        self._put(self._writer.reasoning, choice, "reasoning", key, delta)

    def citation(self, choice: int, key: int, citation: JSON) -> None:
        """Take a citation of a text."""
        self._put(self._writer.citation, choice, "text", key, citation)

    def call_started(self, call: CallOut, data: dict[str, Any]) -> None:  # noqa: ARG002 - they are asked for when it is told
        """Begin a call."""
        self._put(self._begin_call, call.choice, _CALL, call.key, call)

    def _begin_call(self, key: int, data: dict[str, Any], call: CallOut) -> None:
        self._calls[key] = call
        if call.kind != "custom":  # free text has no end that could be seen, so nobody waits for it
            self._turns.begin((_CALL, key))
        self._items.begin_call(key, call.kind, call.id, call.name, data)

    def call_renamed(self, call: CallOut, more: str) -> None:
        """Names do not grow here; a call whose name did turns out faulty."""

    def call_arguments(self, call: CallOut, text: str) -> None:
        """Take more of a call's arguments."""
        self._put(self._add_arguments, call.choice, _CALL, call.key, text)

    def _add_arguments(self, key: int, _data: dict[str, Any], text: str) -> None:
        self._turns.speak((_CALL, key))
        self._items.add_arguments(key, text)

    def call_ended(self, call: CallOut) -> None:
        """End a call."""
        self._put(self._end_call, call.choice, _CALL, call.key)

    def _end_call(self, key: int, _data: dict[str, Any]) -> None:
        self._turns.end((_CALL, key))
        if key not in self._ended and not self._has_failed:  # asked once: one that is no object is judged with the whole answer
            self._ended.add(key)
            if self._items.is_sound(key):
                self._items.end_call(key)

    def media(self, key: int, delta: MediaDelta) -> None:
        """Take a piece of a medium."""
        self._put(self._writer.sound, delta.choice, "media", key, delta)

    def part(self, choice: int, key: int, part: Part) -> None:
        """Take a part that came whole."""
        self._put(self._writer.part, choice, "whole", key, part)

    def logprobs(self, choice: int, logprobs: JSON) -> None:
        """Take log-probabilities, if they have this wire's form."""
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        if choice or not isinstance(content, list):
            self._parts.leave_out("a further choice" if choice else "log-probabilities of another form", choice)
        else:
            self._items.add_logprobs(content)
