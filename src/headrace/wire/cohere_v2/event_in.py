"""One event of Cohere v2, or a whole answer: its blocks, the tool plan, calls, citations, usage.

The rule of this file: everything in an event is either a delta, or kept in the message's metadata, or known to say nothing. Blocks and
calls are numbered apart from each other on the wire, so a block gets its place in the message when it opens, and calls go by the
identity rule.

The tool plan is a text of its own, beside the answer: the metadata key `tool_plan`. Citations of the answer's text stay with the text;
those of the plan and of thinking are the metadata key `citations`.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from headrace._json import JSON, dumps_text
from headrace.messages.deltas import (
    CitationDelta,
    Delta,
    FinishDelta,
    LogprobsDelta,
    MessageStart,
    MetadataDelta,
    PartDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
)
from headrace.messages.finish import is_word
from headrace.messages.parts import JsonPart, OpaquePart, make
from headrace.wire.cohere_v2.usage_in import usage_in
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.json_events import kept, word_of
from headrace.wire.text_filters import Halves

_KNOWN_EVENT: Final = frozenset({"type", "id", "index", "delta", "logprobs", "usage", "finish_reason", "message", "error"})
_KNOWN_DELTA: Final = frozenset({"message", "finish_reason", "usage", "error"})
_KNOWN_MESSAGE: Final = frozenset({"role", "content", "tool_plan", "tool_calls", "citations"})
_CALL_FIELDS: Final = frozenset({"id", "type", "function", "index"})
_FUNCTION_FIELDS: Final = frozenset({"name", "arguments"})
_SILENT: Final = frozenset({"content-end", "citation-end"})
_MESSAGE_TYPES: Final = frozenset(
    {"message-start", "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta", "citation-start"}
)


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        has_ended: `message-end` or a whole answer came.
        is_understood: at least one event was part of an answer.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.has_ended = False
        self.is_understood = False
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self._plan = Halves()
        self._keys: dict[int, int] = {}
        self._next_key = 0
        self._has_started = False

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one event or a whole answer; see `json_events.Reader`."""
        kind = event.get("type")
        kind = kind if kind is None or isinstance(kind, str) else "?"
        if is_error or kind == "error" or self._is_bare_error(event):
            self._fail(event, status)
            return
        self._start(event)
        delta = event.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        if kind == "message-end":
            self._end(delta)
        elif kind == "tool-call-end":
            self._settle(event.get("index"))
        elif kind in _MESSAGE_TYPES:
            self._message(delta, event.get("index"), is_start=kind.endswith("start"))
        elif kind is None and isinstance(event.get("message"), dict):
            self._answer(event)
        elif kind not in _SILENT:
            self._extras.take("event.", {kind or "?": event}, frozenset(), kept)
        self.is_understood = self.is_understood or kind in _MESSAGE_TYPES or self.has_ended
        self._logprobs(event.get("logprobs"))
        self._extras.take("", event, _KNOWN_EVENT, kept)
        self._extras.take("delta.", delta, _KNOWN_DELTA, kept)

    def plan(self, piece: str) -> None:
        """Take a piece of the tool plan."""
        text, is_mended = self._plan.feed(piece)
        if is_mended:
            self._output.warn_once("invalid_utf8")
        if text:
            self._output.add(MetadataDelta({"tool_plan": text}))

    def key_of(self, index: JSON) -> int | None:
        """Return the place of a block; None for a block that has no number, or whose start did not come."""
        return self._keys.get(index) if type(index) is int else None

    def open_text(self, index: int | None) -> tuple[int, list[str]] | None:
        """Return the key and the pieces of a block whose text goes on, if nothing more needs to be asked."""
        key = self.key_of(index)
        choice = self._output.fold.choices.get(0)
        if key is None or choice is None or choice.has_finished or self._output.is_holding:
            return None
        part = choice.by_key.get(("text", key))
        return None if part is None else (key, part.pieces)

    def rest(self, *, is_cut: bool) -> Iterator[Delta]:
        """Return what was held back, and what was kept without being understood."""
        lone = self._plan.release()
        if lone:
            self._output.warn_once("invalid_utf8")
            if not is_cut:
                yield MetadataDelta({"tool_plan": lone})
        yield from self._extras.deltas()

    # ------------------------------------------------------------------------------------------ errors, head, end

    @staticmethod
    def _is_bare_error(event: Mapping[str, Any]) -> bool:
        """Return whether it is the body of a refused request, which has a message and no type."""
        return bool(event.get("error")) or ("type" not in event and isinstance(event.get("message"), str))

    def _fail(self, event: dict[str, Any], status: int | None) -> None:
        error = event.get("error") or event
        self._output.fail(stream_error(kept(error), status=status))
        self._output.add(MetadataDelta({"error": kept(error)}, ("error",)))

    def _start(self, event: Mapping[str, Any]) -> None:
        identifier = word_of(event.get("id"))
        if event.get("type") == "message-start" and self._has_started and self._output.fold.choices:
            self._output.restart()
            self._output.warn("restarted_message", "a second message-start; what came before it is void")
            self._plan, self._keys, self._has_started, self.has_ended = Halves(), {}, False, False
        if identifier and not self._has_started:
            self._output.add(MessageStart(identifier, provider=self._provider))
        self._has_started = self._has_started or bool(identifier) or event.get("type") == "message-start"

    def _end(self, end: Mapping[str, Any]) -> None:
        self.has_ended = True
        word = end.get("finish_reason")
        if isinstance(word, str) and is_word(word):
            self._output.add(FinishDelta(word_of(word), 0, None, self._output.events, self._output.offset))
        raw = end.get("usage")
        usage = usage_in(kept(raw)) if isinstance(raw, dict) else None
        if usage is not None:
            self._output.add(UsageDelta(usage))
        if end.get("error"):
            self._fail(dict(end), None)

    def _answer(self, answer: Mapping[str, Any]) -> None:
        """Read a whole answer, which was not streamed."""
        message = answer["message"]
        blocks = message.get("content")
        rest = {name: value for name, value in message.items() if name != "content"}
        self._message({"message": {"tool_plan": rest.pop("tool_plan", None)}}, None, is_start=True)
        for n, block in enumerate(blocks if isinstance(blocks, list) else [blocks]):
            self._block(block, n, is_start=True)
        self._message({"message": rest}, None, is_start=True)
        self._end(answer)

    # ------------------------------------------------------------------------------------------ the message

    def _message(self, delta: Mapping[str, Any], index: JSON, *, is_start: bool) -> None:
        message = delta.get("message")
        if not isinstance(message, dict):
            return
        self.plan(message["tool_plan"]) if isinstance(message.get("tool_plan"), str) else None
        for block in _each(message.get("content")):
            self._block(block, index, is_start=is_start)
        for call in _each(message.get("tool_calls")):
            self._call(call, index)
        for citation in _each(message.get("citations")):
            self._citation(citation)
        self._extras.take("message.", message, _KNOWN_MESSAGE, kept)

    def _block(self, block: JSON, index: JSON, *, is_start: bool) -> None:
        if is_start and type(index) is int:
            choice = self._output.fold.choices.get(0)
            self._keys[index] = max(self._next_key, choice.next_key if choice is not None else 0)
            self._next_key = self._keys[index] + 1
        key = self.key_of(index)
        if isinstance(block, str):
            block = {"text": block}
        if not isinstance(block, dict):
            if block is not None:
                self._output.add(PartDelta(make(JsonPart, value=kept(block)), key))
            return
        text, thinking = block.get("text"), block.get("thinking")
        if isinstance(thinking, str) and thinking:
            self._output.text("reasoning", thinking, 0, key)
        if isinstance(text, str) and text:
            self._output.text("text", text, 0, key)
        rest = {name: value for name, value in block.items() if name not in ("type", "text", "thinking")}
        if block.get("type") not in ("text", "thinking", None):
            self._output.add(PartDelta(make(OpaquePart, raw=kept(block)), key))
        elif rest:
            self._extras.take("content.", rest, frozenset(), kept)

    def _call(self, call: JSON, index: JSON) -> None:
        if not isinstance(call, dict):
            self._extras.take("message.", {"tool_calls": call}, frozenset(), kept)
            return
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        number = index if type(index) is int else call.get("index")
        number = number if type(number) is int else None
        identifier = word_of(call.get("id"))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            arguments = self._output.arguments(identifier or None if number is None else number, arguments, 0)
        elif arguments is not None:
            self._output.warn_once("arguments_not_string")
            arguments = kept(arguments) if isinstance(arguments, dict) else dumps_text(kept(arguments))
        rest: dict[str, Any] = {name: value for name, value in call.items() if name not in _CALL_FIELDS and value is not None}
        inner = {name: value for name, value in function.items() if name not in _FUNCTION_FIELDS and value is not None}
        if inner:
            rest["function"] = inner
        self._output.add(
            ToolCallFragment(
                id=identifier,
                name=word_of(function.get("name")),
                arguments=arguments,
                index=number,
                event=self._output.events,
                offset=self._output.offset,
                provider_data=kept(rest),
            )
        )

    def _settle(self, index: JSON) -> None:
        """The wire says that a call is whole; one that never began is no call."""
        choice = self._output.fold.choices.get(0)
        if choice is None:
            return
        call = choice.calls.at_index.get(index) if type(index) is int else choice.calls.last
        if call is not None:
            self._output.add(ToolCallSettled(choice.part_of_call(call).key))

    def _citation(self, citation: JSON) -> None:
        if not isinstance(citation, dict) or citation.get("type") in ("PLAN", "THINKING_CONTENT"):
            self._output.add(MetadataDelta({"citations": [kept(citation)]}))
        else:
            self._output.add(CitationDelta(kept(citation), self.key_of(citation.get("content_index"))))

    def _logprobs(self, logprobs: JSON) -> None:
        for entry in _each(logprobs):
            if isinstance(entry, dict) and entry:
                self._output.add(LogprobsDelta(kept(entry)))


def _each(value: JSON) -> list[JSON]:
    """Return the items of a list; a value alone is a list of one, None of none."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
