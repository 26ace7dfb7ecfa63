"""The accumulator: the one left fold that turns deltas into messages.

The rule of this file: constant cost per delta (pieces go into lists and are joined when a message is asked for), a snapshot at
any time without disturbing what follows, and no other place that decides what deltas mean. Decoders, sums of chunks, agents and
replays all come by here, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

import msgspec

from headrace.messages.assembly import Ending, assemble_assistant, assemble_tool
from headrace.messages.deltas import (
    CitationDelta,
    Delta,
    Ended,
    FinishDelta,
    LogprobsDelta,
    MediaDelta,
    MessageStart,
    MetadataDelta,
    ParsedDelta,
    PartDelta,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    TokenIdsDelta,
    ToolCallFragment,
    ToolCallSettled,
    ToolResultDelta,
    UsageDelta,
    WarningDelta,
)
from headrace.messages.finish import NEUTRAL, is_word
from headrace.messages.growing import Choice, Growing, Head
from headrace.messages.identity import is_nothing, which_call
from headrace.messages.message import AssistantMessage, ToolMessage

NewId = Callable[[], str]
_NO_PART: Final = -1


class LimitExceeded(Exception):  # noqa: N818 - not an error of the caller: the decoder turns it into the stream's error
    """A bound was passed; the delta that passed it was not taken."""

    def __init__(self, which: str, limit: int) -> None:
        """Name the limit."""
        super().__init__(f"more than {limit} {which}")
        self.which = which
        self.limit = limit


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one message may hold; None means no bound.

    Attributes:
        max_parts: parts over all choices.
        max_tool_calls: tool calls over all choices.
        max_argument_bytes: arguments of one call, in characters of the raw text.
    """

    max_parts: int | None = None
    max_tool_calls: int | None = None
    max_argument_bytes: int | None = None


_UNBOUNDED: Final = Bounds()


class Accumulator:
    """Adds deltas up; gives the message so far at any time.

    Attributes:
        is_from_wire: deltas of a decoder came: then only `Ended` ends the message. Else a finish reason does.
    """

    __slots__ = ("_bounds", "_calls", "_parts", "choices", "ended", "head", "is_from_wire")

    def __init__(self, *, bounds: Bounds = _UNBOUNDED, is_from_wire: bool = False) -> None:
        """Start empty."""
        self._bounds = bounds
        self._parts = 0
        self._calls = 0
        self.choices: dict[int, Choice] = {}
        self.head = Head()
        self.ended: Ended | None = None
        self.is_from_wire = is_from_wire

    def extend(self, deltas: Iterable[Delta]) -> None:
        """Add deltas in order.

        Raises:
            LimitExceeded: a bound was passed; what came before is kept.
        """
        choice = self.choices.get(0)
        for delta in deltas:
            if type(delta) is TextDelta and delta.part is None and delta.choice == 0:  # the common case, inlined
                if choice is not None and (open_part := choice.open_text) is not None:
                    open_part.append(delta.text)
                    continue
                self.add(delta)
                choice = self.choices.get(0)
            else:
                self.add(delta)

    def add(self, delta: Delta) -> int:
        """Add one delta.

        Returns:
            The key of the part that it went to, or -1 if it concerns none.

        Raises:
            LimitExceeded: a bound was passed; the delta was not taken.
        """
        return self._HANDLERS[type(delta)](self, delta)

    def choice(self, index: int) -> Choice:
        """Return what has come for one choice, opening it if need be."""
        found = self.choices.get(index)
        if found is None:
            found = self.choices[index] = Choice(index)
        return found

    # ------------------------------------------------------------------------------------------ results

    @property
    def ending(self) -> Ending:
        """Whether and how the message has ended."""
        if self.ended is not None:
            return Ending(is_ended=True, error=self.ended.error, is_terminated=self.ended.is_terminated)
        has_word = any(choice.words for choice in self.choices.values())
        return Ending(is_ended=has_word and not self.is_from_wire, error=None, is_terminated=False)

    def message(self, *, choice: int = 0, new_id: NewId | None = None) -> AssistantMessage:
        """Return one choice's message as it stands; `new_id` makes the call ids that are missing."""
        state = self.choices.get(choice) or Choice(choice)
        return assemble_assistant(state, self.head, self.ending, new_id)

    def messages(self, *, new_id: NewId | None = None) -> tuple[AssistantMessage, ...]:
        """Return the messages of all choices, by index; at least one."""
        return tuple(self.message(choice=index, new_id=new_id) for index in sorted(self.choices) or [0])

    def tool_message(self) -> ToolMessage:
        """Return the tool message that the deltas make."""
        return assemble_tool(self.choices.get(0) or Choice(0), self.head)

    # ------------------------------------------------------------------------------------------ one delta each

    def _open(self, choice: Choice, kind: str, part: int | None) -> Growing:
        """Return the part that a content delta belongs to."""
        if choice.has_finished:
            choice.note_early_finish()
        if part is not None:
            found = choice.by_key.get((kind, part))
            if found is not None:
                return found
        elif choice.last is not None and choice.last.kind == kind:
            choice.reopen()
            return choice.last
        limit = self._bounds.max_parts
        if limit is not None and self._parts >= limit:
            raise LimitExceeded("parts", limit)
        self._parts += 1
        return choice.open(kind, part)

    def _text(self, delta: TextDelta) -> int:
        if not delta.text:
            return _NO_PART
        part = self._open(self.choice(delta.choice), "text", delta.part)
        part.pieces.append(delta.text)
        return part.key

    def _reasoning(self, delta: ReasoningDelta) -> int:
        if not (delta.text or delta.signature or delta.encrypted or delta.details):
            return _NO_PART
        choice = self.choice(delta.choice)
        if not delta.text and delta.part is None and choice.last_reasoning is not None:
            part = choice.last_reasoning  # a signature that comes late belongs to the thinking that it signs
        else:
            part = choice.last_reasoning = self._open(choice, "reasoning", delta.part)
        if delta.text:
            part.pieces.append(delta.text)
        if delta.signature:
            part.signature.append(delta.signature)
        if delta.encrypted:
            part.encrypted.append(delta.encrypted)
        part.items.extend(delta.details)
        return part.key

    def _refusal(self, delta: RefusalDelta) -> int:
        if not delta.text:
            return _NO_PART
        part = self._open(self.choice(delta.choice), "refusal", delta.part)
        part.pieces.append(delta.text)
        return part.key

    def _fragment(self, delta: ToolCallFragment) -> int:
        if is_nothing(delta):
            return _NO_PART
        choice = self.choice(delta.choice)
        if delta.part is not None:
            return self._fragment_of_part(choice, delta).key
        verdict = which_call(delta, choice.calls)
        if verdict.call is None:
            self._check_calls()
            part = self._open(choice, "tool_call", choice.next_key)
        else:
            part = choice.part_of_call(verdict.call)
        if choice.has_finished:
            choice.note_early_finish()
        self._check_size(part, delta)
        part.call = choice.calls.place(delta, verdict)
        choice.remember_call(part)
        if verdict.code is not None and not (verdict.code == "changing_tool_id" and part.call.is_id_changing):
            part.call.is_id_changing = part.call.is_id_changing or verdict.code == "changing_tool_id"
            choice.warn(verdict.code, part.key, delta.event, delta.offset)
        choice.grow_call(part, delta)
        return part.key

    def _fragment_of_part(self, choice: Choice, delta: ToolCallFragment) -> Growing:
        if ("tool_call", delta.part) not in choice.by_key:
            self._check_calls()
        part = self._open(choice, "tool_call", delta.part)
        self._check_size(part, delta)
        call = part.own_call()
        call.id = call.wire_id = call.id or delta.id or None
        call.index = delta.index if call.index is None else call.index
        call.kind = call.kind or delta.kind
        choice.grow_call(part, delta)
        return part

    def _check_calls(self) -> None:
        limit = self._bounds.max_tool_calls
        if limit is not None and self._calls >= limit:
            raise LimitExceeded("tool_calls", limit)
        self._calls += 1

    def _check_size(self, part: Growing, delta: ToolCallFragment) -> None:
        limit = self._bounds.max_argument_bytes
        if limit is not None and isinstance(delta.arguments, str):
            size = part.call.body.size if part.call is not None else 0
            if size + len(delta.arguments) > limit:
                raise LimitExceeded("argument_bytes", limit)

    def _settled(self, delta: ToolCallSettled) -> int:
        choice = self.choice(delta.choice)
        part = self._open(choice, "tool_call", delta.part)
        call = part.own_call()
        call.id = call.wire_id = call.id or delta.id
        if delta.arguments and call.body.is_empty:
            call.body.add(delta.arguments)
        part.is_settled = True
        return part.key

    def _media(self, delta: MediaDelta) -> int:
        part = self._open(self.choice(delta.choice), "media", delta.part)
        part.media_kind = delta.kind
        part.media_type = part.media_type or delta.media_type
        part.media_id = part.media_id or delta.id
        if delta.data:
            part.data.append(delta.data)
        if delta.transcript:
            part.pieces.append(delta.transcript)
        return part.key

    def _part(self, delta: PartDelta) -> int:
        choice = self.choice(delta.choice)
        part = self._open(choice, "whole", choice.next_key if delta.part is None else delta.part)
        part.whole = delta.value
        choice.close()
        return part.key

    def _citation(self, delta: CitationDelta) -> int:
        part = self._open(self.choice(delta.choice), "text", delta.part)
        part.items.append(delta.citation)
        return part.key

    def _finish(self, delta: FinishDelta) -> int:
        if is_word(delta.word):
            choice = self.choice(delta.choice)
            choice.words.append((delta.word, delta.reason or NEUTRAL.get(delta.word, "other")))
            choice.finish_at = (delta.event, delta.offset)
            choice.suspend()
        return _NO_PART

    def _start(self, delta: MessageStart) -> int:
        self.head.start(delta)
        return _NO_PART

    def _result(self, delta: ToolResultDelta) -> int:
        self.head.result(delta, self.choice(0))
        return _NO_PART

    def _usage(self, delta: UsageDelta) -> int:
        self.head.usage = delta.usage if self.head.usage is None else self.head.usage.updated(delta.usage)
        return _NO_PART

    def _logprobs(self, delta: LogprobsDelta) -> int:
        self.choice(delta.choice).logprobs.append(delta.logprobs)
        return _NO_PART

    def _token_ids(self, delta: TokenIdsDelta) -> int:
        choice = self.choice(delta.choice)
        choice.prompt_ids = choice.prompt_ids or delta.prompt
        if delta.completion:
            choice.completion_ids.append(delta.completion)
        return _NO_PART

    def _parsed(self, delta: ParsedDelta) -> int:
        self.choice(delta.choice).parsed.append(delta.value)
        return _NO_PART

    def _metadata(self, delta: MetadataDelta) -> int:
        self.choice(delta.choice).metadata.append(delta)
        return _NO_PART

    def _warning(self, delta: WarningDelta) -> int:
        self.choice(delta.warning.choice).warnings.append(delta.warning)
        return _NO_PART

    def _end(self, delta: Ended) -> int:
        self.ended = self.ended or delta
        return _NO_PART

    _HANDLERS: ClassVar[dict[type[Any], Callable[[Accumulator, Any], int]]] = {
        TextDelta: _text,
        ReasoningDelta: _reasoning,
        RefusalDelta: _refusal,
        ToolCallFragment: _fragment,
        ToolCallSettled: _settled,
        MediaDelta: _media,
        PartDelta: _part,
        CitationDelta: _citation,
        FinishDelta: _finish,
        MessageStart: _start,
        ToolResultDelta: _result,
        UsageDelta: _usage,
        LogprobsDelta: _logprobs,
        TokenIdsDelta: _token_ids,
        ParsedDelta: _parsed,
        MetadataDelta: _metadata,
        WarningDelta: _warning,
        Ended: _end,
    }
