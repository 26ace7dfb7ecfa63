"""The Messages protocol, as a server: chunks in, the stream out that the vendor itself would send.

The rule of this file: a head first, blocks one after the other (`blocks_out.py`), then why it stopped with all counts, then the end. An
error is an event of that name, and nothing follows it. What has no place on this wire is left out and said.

Source: https://platform.claude.com/docs/en/build-with-claude/streaming.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace._json import JSON, dumps, dumps_text
from headrace.messages.deltas import MediaDelta, ReasoningDelta
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, Part, ProviderItem, ProviderToolPart, ReasoningPart, RefusalPart, TextPart
from headrace.wire.anthropic_messages.answer_out import answer_body, is_citation, item_block, provider_tool_blocks
from headrace.wire.anthropic_messages.blocks_out import BlocksOut, event
from headrace.wire.anthropic_messages.finish_out import error_body, stop_fields, stream_error_body, usage_body
from headrace.wire.call_out import CallOut
from headrace.wire.life_out import LifeOut
from headrace.wire.parts_out import PartsOut
from headrace.wire.parts_writer import HELD_BLOCK, Verdict
from headrace.wire.server_side import AnswerOptions, Head, RefusalKind

_PREFIX: Final = "msg_"


def refuse(status: int, kind: RefusalKind, message: str, *, argument: str | None = None) -> tuple[int, bytes]:
    """Return a refusal; see `Refuse`. The wire has no member for the argument, so its path stands in the message."""
    text = message if argument is None or argument in message else f"{argument}: {message}"
    return status, dumps(error_body(kind, text))


class StreamOut(LifeOut):
    """The answer on its way; see `server_side.StreamOut`.

    Attributes:
        media_type: the content type of the stream.
        takes_late_names, takes_free_text: see `Writer`.
    """

    media_type: str = "text/event-stream"
    takes_late_names: bool = False
    takes_free_text: bool = False

    def __init__(self, head: Head, options: AnswerOptions | None = None, *, new_id: Callable[[], str] | None = None) -> None:
        """Start before the first chunk.

        Args:
            head: what is the same in every answer.
            options: what the request asked of the form; there is nothing to ask for here.
            new_id: makes the ids of calls that have none; by default `toolu_1`, `toolu_2`, …
        """
        self._head = head
        self._options = options
        super().__init__(PartsOut(self, new_id, prefix="toolu_"))
        self._blocks = BlocksOut()
        self._sealed: dict[int, list[str]] = {}
        self._has_begun = False

    # ------------------------------------------------------------------------------------------ in and out

    def _more(self) -> bytes:
        """Return what was added; at first at least the head."""
        return self._begin() + self._blocks.take()

    def _rest(self, verdict: Verdict) -> bytes:
        """Return the rest: the ends of the blocks and of the message, or the error."""
        self._seal()
        if verdict.error is not None:
            begun = self._begin() if self._parts.has_said else b""
            return begun + self._blocks.take() + event("error", **_without_type(stream_error_body(verdict.error)))
        self._blocks.end_all()
        message = verdict.messages[0]
        out = [self._begin(), self._blocks.take()]
        out.append(event("message_delta", delta=stop_fields(message, is_cut=0 in verdict.cut), usage=usage_body(message.usage)))
        return b"".join([*out, event("message_stop")])

    def whole(self, message: AssistantMessage, *more: AssistantMessage) -> bytes:
        """Return the body of an answer that is not streamed; this wire has one choice."""
        for _ in more:
            self._parts.leave_out("a further choice")
        return dumps(self._message(message.model) | answer_body(message))

    def _message(self, model: str | None) -> dict[str, Any]:
        identifier = self._head.id if self._head.id.startswith(_PREFIX) else _PREFIX + self._head.id
        return {"id": identifier, "type": "message", "role": "assistant", "model": model or self._head.model}

    def _begin(self) -> bytes:
        """Return the head, once, with the counts that are known by then."""
        if self._has_begun:
            return b""
        self._has_begun = True
        known = self._parts.fold.head
        rest: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage_body(known.usage)}
        return event("message_start", message=self._message(known.model) | rest) + event("ping")

    # ------------------------------------------------------------------------------------------ blocks

    def _is_other(self, choice: int) -> bool:
        """Whether this is a further choice, which this wire has no place for."""
        if choice:
            self._parts.leave_out("a further choice", choice)
        return choice != 0

    def _block(self, kind: str, key: int, start: JSON, *, is_loose: bool) -> tuple[str, int]:
        """Return the place of a block, which begins if it does not go on."""
        place = (kind, key)
        if self._sealed and kind != "sealed" and not (kind == "reasoning" and key in self._sealed):
            self._seal()
        if self._blocks.find(place) is None and not self._blocks.begin(place, start, is_loose=is_loose):
            self._parts.note(HELD_BLOCK, "it waits until the block before it has ended", 0, key)
        return place

    def _whole(self, kind: str, key: int, start: JSON, *deltas: dict[str, Any]) -> None:
        place = self._block(kind, key, start, is_loose=False)
        for delta in deltas:
            self._blocks.add(place, delta)
        self._blocks.end(place)

    def text(self, choice: int, key: int, text: str) -> None:
        """Take more text."""
        if not self._is_other(choice):
            place = self._block("text", key, {"type": "text", "text": ""}, is_loose=True)
            self._blocks.add(place, {"type": "text_delta", "text": text})

    def refusal(self, choice: int, key: int, text: str) -> None:
        """Take more of a refusal; it is text here, and the stop reason says what it is."""
        if not self._is_other(choice):
            place = self._block("refusal", key, {"type": "text", "text": ""}, is_loose=True)
            self._blocks.add(place, {"type": "text_delta", "text": text})

    def reasoning(self, choice: int, key: int, delta: ReasoningDelta) -> None:
        """Take more reasoning, or more of what proves or hides it."""
        if self._is_other(choice):
            return
        place = ("reasoning", key)
        if delta.text:
            place = self._block(*place, {"type": "thinking", "thinking": "", "signature": ""}, is_loose=True)
            self._blocks.add(place, {"type": "thinking_delta", "thinking": delta.text})
        if delta.signature:
            block = self._blocks.find(place)
            if block is None and not self._blocks.has_had(place):  # thinking that is not shown, only proved
                self._block(*place, {"type": "thinking", "thinking": "", "signature": ""}, is_loose=True)
                block = self._blocks.find(place)
            if block is None:
                self._parts.leave_out("a signature that came after its thinking had ended", choice, key)
            else:
                block.signature.append(delta.signature)
        if delta.encrypted:
            self._sealed.setdefault(key, []).append(delta.encrypted)
        if delta.details:
            self._parts.leave_out("a provider's details of reasoning", choice, key)

    def _seal(self) -> None:
        """Give the thinking that only the provider can read; it is known to be whole when something else begins."""
        sealed, self._sealed = self._sealed, {}
        for key, pieces in sealed.items():
            self._whole("sealed", key, {"type": "redacted_thinking", "data": "".join(pieces)})

    def citation(self, choice: int, key: int, citation: JSON) -> None:
        """Take a citation of a text."""
        if not is_citation(citation):
            self._parts.leave_out("citations of another form", choice, key)
        elif self._blocks.find(("text", key)) is None and self._blocks.has_had(("text", key)):
            self._parts.leave_out("a citation that came after its text had ended", choice, key)
        elif not self._is_other(choice):
            place = self._block("text", key, {"type": "text", "text": "", "citations": []}, is_loose=True)
            self._blocks.add(place, {"type": "citations_delta", "citation": citation})

    def call_started(self, call: CallOut, data: dict[str, Any]) -> None:
        """Begin a call."""
        if not self._is_other(call.choice):
            start: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            self._block("call", call.key, start | {name: value for name, value in data.items() if name not in start}, is_loose=False)

    def call_renamed(self, call: CallOut, more: str) -> None:
        """Names do not grow here; a call whose name did turns out faulty."""

    def call_arguments(self, call: CallOut, text: str) -> None:
        """Take more of a call's arguments."""
        if self._is_other(call.choice):
            return
        if self._blocks.find(("call", call.key)) is None:
            call.is_cut_short = text != "{}"  # which is what a block without any means
        else:
            self._blocks.add(("call", call.key), {"type": "input_json_delta", "partial_json": text})

    def call_ended(self, call: CallOut) -> None:
        """End a call."""
        if not call.choice:
            self._blocks.end(("call", call.key))

    def media(self, key: int, delta: MediaDelta) -> None:
        """A model says nothing but words here; those of a sound are text."""
        if delta.transcript and not delta.choice:
            self.text(0, key, delta.transcript)
        self._parts.leave_out(f"a piece of {delta.kind}", delta.choice, key)

    def part(self, choice: int, key: int, part: Part) -> None:
        """Take a part that came whole."""
        if self._is_other(choice):
            return
        match part:
            case TextPart() | RefusalPart():
                self.text(0, key, part.text)
            case ReasoningPart():
                self.reasoning(0, key, ReasoningDelta(part.text, key, 0, part.signature, part.encrypted))
            case JsonPart():
                self.text(0, key, dumps_text(part.value))
            case ProviderItem() if (item := item_block(part)) is not None:
                self._whole("item", key, item)
            case ProviderToolPart() if (found := provider_tool_blocks(part)) is not None:
                start, arguments, result = found
                if not self._blocks.has_had(("tool", key)):  # what it gave may come when the call itself was told
                    self._whole("tool", key, start, *([{"type": "input_json_delta", "partial_json": arguments}] if arguments else []))
                if result is not None and not self._blocks.has_had(("result", key)):
                    self._whole("result", key, result)
            case _:
                self._parts.leave_out(f"a {type(part).__name__}", choice, key)

    def logprobs(self, choice: int, logprobs: JSON) -> None:  # noqa: ARG002 - there is no place for them
        """There are no log-probabilities here."""
        self._parts.leave_out("log-probabilities", choice)


def _without_type(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "type"}
