"""Chat Completions, as a server: chunks in, the stream out that the vendor itself would send.

The rule of this file: role first; a call's id, name and index on its first fragment, indexes dense in the order in which calls began, one
call after the other; the finish reason in a choice's last event; usage once behind it, if asked; `[DONE]` after a whole answer and after nothing else. An error is
an event with an `error` object, and the end. Reasoning goes as `reasoning_content`.

Source: https://platform.openai.com/docs/api-reference/chat/streaming.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from headrace._json import JSON, dumps, dumps_text
from headrace.messages.deltas import MediaDelta, ReasoningDelta
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, MediaPart, Part, ReasoningPart, RefusalPart, TextPart
from headrace.wire.call_out import CallOut
from headrace.wire.life_out import LifeOut
from headrace.wire.openai_chat.answer_out import answer_body, image_item, is_annotation, kind_word
from headrace.wire.openai_chat.calls_in_turn import CallsInTurn, Said
from headrace.wire.openai_chat.delta_out import DeltaOut
from headrace.wire.openai_chat.finish_out import error_body, finish_word, stream_error_body, usage_body
from headrace.wire.openai_chat.sealed_reasoning import sealed_details
from headrace.wire.parts_out import PartsOut
from headrace.wire.parts_writer import HELD_CALL, Verdict
from headrace.wire.server_side import AnswerOptions, Head, RefusalKind

_PREFIX: Final = "chatcmpl-"
_DONE: Final = b"data: [DONE]\n\n"


def refuse(status: int, kind: RefusalKind, message: str, *, argument: str | None = None) -> tuple[int, bytes]:
    """Return a refusal; see `Refuse`."""
    return status, dumps(error_body(kind, message, argument=argument))


class StreamOut(LifeOut):
    """The answer on its way; see `server_side.StreamOut`.

    Attributes:
        media_type: the content type of the stream.
        takes_late_names, takes_free_text: see `Writer`.
    """

    media_type: str = "text/event-stream"
    takes_late_names: bool = True
    takes_free_text: bool = True

    def __init__(self, head: Head, options: AnswerOptions | None = None, *, new_id: Callable[[], str] | None = None) -> None:
        """Start before the first chunk.

        Args:
            head: what is the same in every event.
            options: what the request asked of the form.
            new_id: makes the ids of calls that have none; by default `call_1`, `call_2`, …
        """
        self._head = head
        self._options = options or AnswerOptions()
        super().__init__(PartsOut(self, new_id, prefix="call_", tool_names=self._options.tool_names))
        self._turns: dict[int, CallsInTurn] = {}
        self._choices: dict[int, DeltaOut] = {}
        self._touched: list[DeltaOut] = []
        self._before = b""
        self._after = b'],"usage":null}\n\n' if self._options.includes_usage else b"]}\n\n"

    # ------------------------------------------------------------------------------------------ in and out

    def _heard(self) -> None:
        """The first chunk says the role at least."""
        if not self._before:
            self._choice(0).begin()

    def _more(self) -> bytes:
        """Return what was added."""
        return self._take()

    def _rest(self, verdict: Verdict) -> bytes:
        """Return the rest: finish reasons, usage and `[DONE]`, or the error."""
        for turns in self._turns.values():
            self._write(turns.rest())
        for index, message in verdict.messages.items():
            details = sealed_details(message)
            if details:
                self._choice(index).add_items("reasoning_details", *details)
        out = [self._take()]
        if verdict.error is not None:
            return b"".join([*out, *self._usage(verdict), b"data: ", dumps(stream_error_body(verdict.error)), b"\n\n"])
        for index, message in verdict.messages.items():
            choice = self._choice(index)
            choice.begin()
            out += [self._take(), self._event(choice.end(finish_word(message, is_cut=index in verdict.cut)))]
        return b"".join([*out, *self._usage(verdict), _DONE])

    def _usage(self, verdict: Verdict) -> list[bytes]:
        usage = verdict.messages[0].usage
        if not self._options.includes_usage or usage is None or not self._before:
            return []
        return [self._before, b'],"usage":', dumps(usage_body(usage)), b"}\n\n"]

    def whole(self, message: AssistantMessage, *more: AssistantMessage) -> bytes:
        """Return the body of an answer that is not streamed."""
        return dumps(self._head_fields("chat.completion", message.model, message.created_at) | answer_body((message, *more)))

    # ------------------------------------------------------------------------------------------ events

    def _head_fields(self, kind: str, model: str | None, created_at: datetime | None) -> dict[str, Any]:
        created_s = 0 if created_at is None else int(created_at.timestamp())
        identifier = self._head.id if self._head.id.startswith(_PREFIX) else _PREFIX + self._head.id
        return {"id": identifier, "object": kind, "created": created_s or self._head.created_s, "model": model or self._head.model}

    def _event(self, choice: bytes) -> bytes:
        """Return an event of one choice; its surroundings are made once, when the first one goes."""
        if not self._before:
            known = self._parts.fold.head
            fields = self._head_fields("chat.completion.chunk", known.model, known.created_at)
            self._before = b"data: " + dumps(fields)[:-1] + b',"choices":['
        return self._before + choice + self._after

    def _take(self) -> bytes:
        touched = self._touched
        ready = touched[0].take() if len(touched) == 1 else [one for choice in touched for one in choice.take()]
        touched.clear()
        return self._event(ready[0]) if len(ready) == 1 else b"".join(map(self._event, ready))

    def _choice(self, index: int) -> DeltaOut:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = DeltaOut(index)
        if choice not in self._touched:
            self._touched.append(choice)
        return choice

    # ------------------------------------------------------------------------------------------ one thing each

    def text(self, choice: int, key: int, text: str) -> None:  # noqa: ARG002 - texts are not numbered here
        """Take more text."""
        self._choice(choice).add_text("content", text)

    def refusal(self, choice: int, key: int, text: str) -> None:  # noqa: ARG002
        """Take more of a refusal."""
        self._choice(choice).add_text("refusal", text)

    def reasoning(self, choice: int, key: int, delta: ReasoningDelta) -> None:  # noqa: ARG002
        """Take more reasoning; what proves or hides it goes at the end, a provider's own details at once."""
        if delta.text:
            self._choice(choice).add_text("reasoning_content", delta.text)
        if delta.details:
            self._choice(choice).add_items("reasoning_details", *delta.details)

    def citation(self, choice: int, key: int, citation: JSON) -> None:
        """Take a citation of a text."""
        if is_annotation(citation):
            self._choice(choice).add_items("annotations", citation)
        else:
            self._parts.leave_out("citations of another form", choice, key)

    def call_started(self, call: CallOut, data: dict[str, Any]) -> None:
        """Begin a call."""
        self._say(Said("start", call, call.name, data))
        if self._turns[call.choice].is_waiting(call):
            self._parts.note(HELD_CALL, "it waits until the call before it has ended", call.choice, call.key)

    def call_renamed(self, call: CallOut, more: str) -> None:
        """Take more of a call's name."""
        self._say(Said("name", call, more))

    def call_arguments(self, call: CallOut, text: str) -> None:
        """Take more of a call's arguments."""
        self._say(Said("arguments", call, text))

    def call_ended(self, call: CallOut) -> None:
        """Let the next one go; of this one nothing is said."""
        self._write(self._turns[call.choice].end(call))

    def _say(self, said: Said) -> None:
        turns = self._turns.get(said.call.choice)
        if turns is None:
            turns = self._turns[said.call.choice] = CallsInTurn()
        self._write(turns.say(said))

    def _write(self, several: list[Said]) -> None:
        for what, call, text, data in several:
            word, choice = kind_word(call.kind), self._choice(call.choice)
            field = "input" if call.kind == "custom" else "arguments"
            if what == "start":
                item = {"index": call.index, "id": call.id, "type": word, word: {"name": text, field: ""}}
                choice.add_items("tool_calls", item | {name: value for name, value in data.items() if name not in item})
            else:
                choice.grow_call(call.index, word, "name" if what == "name" else field, text)

    def media(self, key: int, delta: MediaDelta) -> None:
        """Take a piece of a sound; other media come whole."""
        if delta.kind != "audio":
            self._parts.leave_out(f"a piece of {delta.kind}", delta.choice, key)
            return
        fields = {"id": delta.id, "data": base64.b64encode(delta.data).decode("ascii"), "transcript": delta.transcript}
        self._choice(delta.choice).add_object("audio", {name: value for name, value in fields.items() if value})

    def part(self, choice: int, key: int, part: Part) -> None:
        """Take a part that came whole."""
        match part:
            case TextPart():
                self._choice(choice).add_text("content", part.text)
            case RefusalPart():
                self._choice(choice).add_text("refusal", part.text)
            case ReasoningPart() if part.text:
                self._choice(choice).add_text("reasoning_content", part.text)
            case JsonPart():
                self._choice(choice).add_text("content", dumps_text(part.value))
            case MediaPart() if part.kind == "image" and part.file_id is None:
                self._choice(choice).add_items("images", image_item(part))
            case _:
                self._parts.leave_out(f"a {type(part).__name__}", choice, key)

    def logprobs(self, choice: int, logprobs: JSON) -> None:
        """Take log-probabilities, if they have this wire's form."""
        if isinstance(logprobs, dict):
            self._choice(choice).add_logprobs(logprobs)
        else:
            self._parts.leave_out("log-probabilities of another form", choice)
