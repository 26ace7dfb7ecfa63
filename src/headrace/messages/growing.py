"""The state behind a message that is still growing: its parts, its choices, its head.

The rule of this file: lists that grow, nothing joined, nothing decided; `accumulator.py` writes here, `assembly.py` reads.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headrace.messages.deltas import (
    FinishDelta,
    MediaDelta,
    MessageStart,
    MetadataDelta,
    ProviderToolFragment,
    ReasoningDelta,
    TokenIdsDelta,
    ToolCallFragment,
    ToolResultDelta,
)
from headrace.messages.finish import NEUTRAL, FinishReason
from headrace.messages.identity import Call, CallTable
from headrace.messages.parts import MediaKind, Part, ResultState, ToolCallPart
from headrace.messages.usage import Usage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word


class Growing:
    """One part while it grows.

    Attributes:
        kind: `text`, `reasoning`, `refusal`, `tool_call`, `provider_tool`, `media` or `whole`.
        key: the sort key.
        pieces: text, or a transcript; `signature`, `encrypted`, `data`: their pieces.
        items: citations, or details of reasoning.
        result, provider: of a call that the provider ran: what came out, and whose tool it is.
        event, offset: where in the stream its last fragment came.
        is_numbered: the wire gave the key, so the key alone says where the part stands.
    """

    __slots__ = (
        "call", "data", "encrypted", "event", "is_numbered", "is_settled", "items", "key", "kind", "media_id", "media_kind", "media_type", "offset",
        "pieces", "provider", "provider_data", "result", "signature", "whole",
    )  # fmt: skip

    def __init__(self, kind: str, key: int, *, is_numbered: bool) -> None:
        """Start empty."""
        self.kind = kind
        self.key = key
        self.is_numbered = is_numbered
        self.pieces: list[str] = []
        self.signature: list[str] = []
        self.encrypted: list[str] = []
        self.items: list[Any] = []
        self.data: list[bytes] = []
        self.call: Call | None = None
        self.provider_data: dict[str, Any] = {}
        self.is_settled = False
        self.result: Any = None
        self.provider = ""
        self.whole: Part | None = None
        self.media_kind: MediaKind = "audio"
        self.media_type: str | None = None
        self.media_id: str | None = None
        self.event: int | None = None
        self.offset: int | None = None

    def own_call(self) -> Call:
        """Return the call of a part that the wire numbers, making it if need be."""
        if self.call is None:
            self.call = Call()
        return self.call

    def own_call_of(self, fragment: ToolCallFragment) -> Call:
        """Return that call, which takes of a fragment what it lacks."""
        call = self.own_call()
        call.id = call.wire_id = call.id or fragment.id or None
        call.index = fragment.index if call.index is None else call.index
        call.kind = call.kind or fragment.kind
        return call

    def fill(self, value: Part) -> None:
        """Hold a whole part. A call among them is a call like the others: whether it may be run is judged with them, at the end."""
        if not isinstance(value, ToolCallPart):
            self.whole = value
            return
        self.is_settled = True
        self.call = call = Call()
        call.id = call.wire_id = value.id or None
        call.index, call.kind, call.is_id_optional = value.index, value.kind, value.id_made_up
        call.grow_name(value.name)
        if value.arguments:
            call.body.add(value.arguments)
        self.provider_data = dict(value.provider_data)

    def grow_provider_tool(self, fragment: ProviderToolFragment) -> None:
        """Take a piece of a call that the provider runs itself."""
        call = self.own_call()
        call.id = call.id or fragment.id or None
        if fragment.name and not call.has_name:
            call.grow_name(fragment.name)
        if fragment.arguments:
            call.body.add(fragment.arguments)
        self.result = self.result if fragment.result is None else fragment.result
        self.provider = self.provider or fragment.provider or ""
        self.provider_data.update(fragment.provider_data)

    def grow_reasoning(self, delta: ReasoningDelta) -> None:
        """Take more thinking, or more of what proves or hides it."""
        if delta.text:
            self.pieces.append(delta.text)
        if delta.signature:
            self.signature.append(delta.signature)
        if delta.encrypted:
            self.encrypted.append(delta.encrypted)
        self.items.extend(delta.details)

    def grow_media(self, delta: MediaDelta) -> None:
        """Take a piece of a medium."""
        self.media_kind = delta.kind
        self.media_type = self.media_type or delta.media_type
        self.media_id = self.media_id or delta.id
        if delta.data:
            self.data.append(delta.data)
        if delta.transcript:
            self.pieces.append(delta.transcript)

    def is_same_media(self, delta: MediaDelta) -> bool:
        """Return whether a piece without a key continues this medium: of the same kind, and no other id."""
        return self.media_kind == delta.kind and not (delta.id and self.media_id and delta.id != self.media_id)


class Choice:
    """One choice while it grows.

    Attributes:
        open_text: the pieces of the text part that plain text continues, or None if the next text has to ask.
        words: the finish words that came, each with its neutral reason.
        has_finished: a finish word came and nothing of substance since.
    """

    __slots__ = (
        "by_key", "call_parts", "calls", "completion_ids", "finish_at", "has_finished", "index", "is_early_said", "last", "last_reasoning",
        "last_text", "logprobs", "metadata", "next_key", "open_text", "parsed", "parts", "prompt_ids", "warnings", "words",
    )  # fmt: skip

    def __init__(self, index: int) -> None:
        """Start empty."""
        self.index = index
        self.parts: list[Growing] = []
        self.by_key: dict[tuple[str, int], Growing] = {}
        self.next_key = 0
        self.last: Growing | None = None
        self.last_reasoning: Growing | None = None
        self.last_text: Growing | None = None
        self.open_text: list[str] | None = None
        self.calls = CallTable()
        self.call_parts: dict[Call, Growing] = {}
        self.words: list[tuple[str, FinishReason]] = []
        self.finish_at: tuple[int | None, int | None] = (None, None)
        self.has_finished = False
        self.is_early_said = False
        self.logprobs: list[Any] = []
        self.prompt_ids: tuple[int, ...] | None = None
        self.completion_ids: list[tuple[int, ...]] = []
        self.parsed: list[Any] = []
        self.metadata: list[MetadataDelta] = []
        self.warnings: list[Warning] = []

    def restart(self) -> None:
        """Forget what came, but for what was said of it."""
        warnings = self.warnings
        Choice.__init__(self, self.index)
        self.warnings = warnings

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has come for this choice."""
        lists = (self.parts, self.words, self.warnings, self.metadata, self.parsed, self.logprobs, self.completion_ids)
        return self.prompt_ids is None and not any(lists)

    def open(self, kind: str, key: int | None) -> Growing:
        """Open a part: under its key, or at the end."""
        part = Growing(kind, self.next_key if key is None else key, is_numbered=key is not None)
        self.parts.append(part)
        self.by_key[kind, part.key] = part
        self.next_key = max(self.next_key, part.key + 1)
        self.last = part
        if kind == "text":
            self.last_text = part
            self.open_text = part.pieces
        else:
            self.open_text = None
        return part

    def reopen(self) -> None:
        """Let plain text continue the last part again, after a finish word had suspended it."""
        if self.last is not None and self.last.kind == "text":
            self.open_text = self.last.pieces

    def suspend(self) -> None:
        """A finish word came: whatever follows has to ask first."""
        self.has_finished = True
        self.open_text = None

    def close(self) -> None:
        """The last part is whole: nothing continues it."""
        self.last = None
        self.open_text = None

    def note_early_finish(self) -> None:
        """Content came after a finish word, so that word was early; said once."""
        self.has_finished = False
        if not self.is_early_said:
            self.is_early_said = True
            self.warn("early_finish_reason", None, *self.finish_at)

    def warn(self, code: str, part: int | None, event: int | None, offset: int | None, detail: str = "") -> None:
        """Keep a warning."""
        self.warnings.append(Warning(code, event, offset, self.index, part, detail))

    def latest(self, kind: str, key: int | None) -> Growing | None:
        """Return the part under a key, without one the last of its kind."""
        if key is not None:
            return self.by_key.get((kind, key))
        return next((part for part in reversed(self.parts) if part.kind == kind), None)

    def part_of_data(self, fragment: ToolCallFragment) -> Growing | None:
        """Return the part of the call that opaque data alone belongs to, or None if there is none yet."""
        if fragment.part is not None:
            return self.by_key.get(("tool_call", fragment.part))
        call = self.calls.last if fragment.index is None else self.calls.at_index.get(fragment.index)
        return self.call_parts.get(call) if call is not None else None

    def finish(self, delta: FinishDelta) -> None:
        """Take a word for why the model stopped."""
        self.words.append((delta.word, delta.reason or NEUTRAL.get(delta.word, "other")))
        self.finish_at = (delta.event, delta.offset)
        self.suspend()

    def take_token_ids(self, delta: TokenIdsDelta) -> None:
        """Take token ids: the first non-empty list of the prompt's counts, the completion's are joined."""
        if delta.prompt is not None and not self.prompt_ids:
            self.prompt_ids = delta.prompt
        if delta.completion is not None:
            self.completion_ids.append(delta.completion)

    def all_completion_ids(self) -> tuple[int, ...] | None:
        """Return the completion's token ids, or None if none came."""
        return tuple(token for ids in self.completion_ids for token in ids) if self.completion_ids else None

    def part_of_call(self, call: Call) -> Growing:
        """Return the part that a call lives in."""
        return self.call_parts[call]

    def grow_call(self, part: Growing, call: Call, fragment: ToolCallFragment) -> None:
        """Let a fragment's name and arguments join its call (the rules under the table of DESIGN 6.2)."""
        if fragment.name:
            if call.has_name and not call.body.is_empty:
                self.say_once(part, call, "repeated_tool_name", fragment)
            call.grow_name(fragment.name)
        if isinstance(fragment.arguments, dict) or fragment.arguments:
            call.body.add(fragment.arguments)
        if fragment.provider_data:
            part.provider_data.update(fragment.provider_data)
        call.is_id_optional = call.is_id_optional or fragment.is_id_optional
        part.event, part.offset = fragment.event, fragment.offset

    def say_once(self, part: Growing, call: Call, code: str, fragment: ToolCallFragment) -> None:
        """Keep a warning about a call, of each code one."""
        if code not in call.said:
            call.said += (code,)
            self.warn(code, part.key, fragment.event, fragment.offset)


class Head:
    """What is known of the message as a whole, over all choices."""

    __slots__ = ("_counts", "_raw_usage", "_usage", "call_id", "created_at", "id", "model", "name", "provider", "result_name", "state")

    def __init__(self) -> None:
        """Start with nothing known."""
        self.id: str | None = None
        self.model: str | None = None
        self.created_at: datetime | None = None
        self.name: str | None = None
        self.provider: str | None = None
        self._usage: Usage | None = None  # the first report
        self._counts: dict[str, Any] | None = None  # of several
        self._raw_usage: dict[str, Any] = {}
        self.call_id: str | None = None
        self.result_name: str | None = None
        self.state: ResultState | None = None

    def start(self, delta: MessageStart) -> None:
        """Take what was not known yet."""
        self.id = self.id or delta.id or None
        self.model = self.model or delta.model or None
        self.created_at = self.created_at or delta.created_at
        self.name = self.name or delta.name or None
        self.provider = self.provider or delta.provider or None

    def report(self, usage: Usage) -> None:
        """Take a report of usage: field by field the last that is not None; in time of the report's own size."""
        if self._usage is None:  # nearly always the only report
            self._usage = usage
            return
        if self._counts is None:
            self._counts, self._raw_usage = self._usage.counts(), dict(self._usage.raw)
        self._counts.update((name, count) for name, count in usage.counts().items() if count is not None)
        self._raw_usage.update((key, value) for key, value in usage.raw.items() if value is not None)

    @property
    def usage(self) -> Usage | None:
        """The usage so far, or None if none was reported."""
        return self._usage if self._counts is None else Usage(**self._counts, raw=self._raw_usage)

    def result(self, delta: ToolResultDelta, choice: Choice) -> None:
        """Take what is known of a tool's result; of two call ids the last non-empty one counts, and it is said."""
        if delta.call_id:
            if self.call_id and self.call_id != delta.call_id:
                choice.warn("changing_tool_id", None, None, None, f"{self.call_id} became {delta.call_id}")
            self.call_id = delta.call_id
        self.result_name = self.result_name or delta.name or None
        self.state = delta.state or self.state
