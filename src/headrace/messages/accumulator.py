"""The accumulator: the one left fold that turns deltas into messages.

The rule of this file: constant cost per delta (pieces go into lists and are joined when a message is asked for), a snapshot at
any time without disturbing what follows, and no other place that decides what deltas mean. Decoders, sums of chunks, agents and
replays all come by here, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from headrace._json import dumps_text
from headrace.messages.assembly import Ending, assemble_assistant, assemble_tool
from headrace.messages.bounds import Bounds, LimitExceeded, check
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
    PartDataDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    TextDelta,
    TokenIdsDelta,
    ToolCallFragment,
    ToolCallSettled,
    ToolResultDelta,
    UsageDelta,
    WarningDelta,
)
from headrace.messages.finish import is_word
from headrace.messages.growing import Choice, Growing, Head
from headrace.messages.identity import Call, is_nothing, which_call
from headrace.messages.message import AssistantMessage, ToolMessage
from headrace.messages.parts import ToolCallPart

__all__ = ["Accumulator", "Bounds", "LimitExceeded", "NewId"]

NewId = Callable[[], str]
_NO_PART: Final = -1
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
            elif type(delta) is not ToolCallFragment or self._continued(delta) is None:
                self.add(delta)

    def continue_call(self, index: int, arguments: str, event: int | None, offset: int | None) -> Growing | None:
        """Take a fragment of choice 0 that is nothing but an index and more arguments: the bulk of all fragments, at a fifth of the cost.

        Returns:
            The call's part; None if it needs thought (no call is there yet, a finish word came, a bound is near): then nothing was taken.
        """
        choice = self.choices.get(0)
        call = choice.calls.at_index.get(index) if choice is not None and not choice.has_finished else None
        if choice is None or call is None or not arguments:
            return None
        size = (body := call.body).size + len(arguments)
        limit = self._bounds.max_argument_bytes
        if limit is not None and size > limit:
            return None
        body.pieces.append(arguments)
        body.size = size
        part = choice.call_parts[call]
        part.event, part.offset = event, offset
        return part

    def _continued(self, delta: ToolCallFragment) -> Growing | None:
        arguments, index = delta.arguments, delta.index
        is_bare = not delta.id and not delta.name and delta.part is None and delta.choice == 0 and not delta.provider_data
        if not is_bare or delta.kind or delta.is_id_optional or not arguments or type(arguments) is not str or index is None:
            return None
        return self.continue_call(index, arguments, delta.event, delta.offset)

    def add(self, delta: Delta) -> int:
        """Add one delta.

        Returns:
            The key of the part that it went to, or -1 if it concerns none.

        Raises:
            LimitExceeded: a bound was passed; the delta was not taken.
        """
        try:
            return self._HANDLERS[type(delta)](self, delta)
        except LimitExceeded:
            index = getattr(delta, "choice", 0)
            if index in self.choices and self.choices[index].is_untouched:  # opened for this delta
                del self.choices[index]
            raise

    def choice(self, index: int) -> Choice:
        """Return what has come for one choice, opening it if need be."""
        found = self.choices.get(index)
        if found is None:
            found = self.choices[index] = Choice(index)
        return found

    # ------------------------------------------------------------------------------------------ results

    def ending(self, choice: Choice) -> Ending:
        """Return whether and how a choice has ended: by `Ended`; made by hand, by a finish word of its own too."""
        if self.ended is not None:
            return Ending(is_ended=True, error=self.ended.error, is_terminated=self.ended.is_terminated)
        return Ending(is_ended=bool(choice.words) and not self.is_from_wire, error=None, is_terminated=False)

    def message(self, *, choice: int = 0, new_id: NewId | None = None) -> AssistantMessage:
        """Return one choice's message as it stands; `new_id` makes the call ids that are missing."""
        state = self.choices.get(choice) or Choice(choice)
        return assemble_assistant(state, self.head, self.ending(state), new_id)

    def messages(self, *, new_id: NewId | None = None) -> tuple[AssistantMessage, ...]:
        """Return the messages of all choices, by index; at least one."""
        return tuple(self.message(choice=index, new_id=new_id) for index in sorted(self.choices) or [0])

    def tool_message(self) -> ToolMessage:
        """Return the tool message that the deltas make."""
        return assemble_tool(self.choices.get(0) or Choice(0), self.head)

    # ------------------------------------------------------------------------------------------ one delta each

    def _place(self, choice: Choice, kind: str, part: int | None) -> Growing:
        """Return the part that a content delta belongs to."""
        found = None
        if part is not None:
            found = choice.by_key.get((kind, part))
        elif choice.last is not None and choice.last.kind == kind:
            choice.reopen()
            found = choice.last
        if found is None:
            found = self._open(choice, kind, part)
        if choice.has_finished:
            choice.note_early_finish()
        return found

    def _open(self, choice: Choice, kind: str, part: int | None) -> Growing:
        """Open a part, if there may be one more."""
        check("parts", self._parts + 1, self._bounds.max_parts)
        self._parts += 1
        return choice.open(kind, part)

    def _text(self, delta: TextDelta) -> int:
        if not delta.text:
            return _NO_PART
        part = self._place(self.choice(delta.choice), "text", delta.part)
        part.pieces.append(delta.text)
        return part.key

    def _reasoning(self, delta: ReasoningDelta) -> int:
        if not (delta.text or delta.signature or delta.encrypted or delta.details):
            return _NO_PART
        choice = self.choice(delta.choice)
        if not delta.text and delta.part is None and choice.last_reasoning is not None:
            part = choice.last_reasoning  # a signature that comes late belongs to the thinking that it signs
        else:
            part = choice.last_reasoning = self._place(choice, "reasoning", delta.part)
        part.grow_reasoning(delta)
        return part.key

    def _refusal(self, delta: RefusalDelta) -> int:
        if not delta.text:
            return _NO_PART
        part = self._place(self.choice(delta.choice), "refusal", delta.part)
        part.pieces.append(delta.text)
        return part.key

    def _fragment(self, delta: ToolCallFragment) -> int:
        if (part := self._continued(delta)) is not None:
            return part.key
        if is_nothing(delta):
            return self._only_data(delta)
        choice = self.choice(delta.choice)
        if delta.part is not None:
            return self._fragment_of_part(choice, delta, delta.part).key
        verdict = which_call(delta, choice.calls)
        if verdict.call is None:
            self._check_size(None, delta.arguments)
            part = self._open_call(choice, None)
        else:
            self._check_size(verdict.call, delta.arguments)
            part = choice.part_of_call(verdict.call)
        if choice.has_finished:
            choice.note_early_finish()
        call = part.call = choice.calls.place(delta, verdict)
        if verdict.call is None:
            choice.call_parts[call] = part
        if verdict.code is not None:
            choice.say_once(part, call, verdict.code, delta)
        choice.grow_call(part, call, delta)
        return part.key

    def _only_data(self, delta: ToolCallFragment) -> int:
        """Let opaque data that comes alone join the call that it belongs to; it opens none."""
        choice = self.choices.get(delta.choice)
        if choice is None or not delta.provider_data:
            return _NO_PART
        part = choice.part_of_data(delta)
        if part is None:
            return _NO_PART
        part.provider_data.update(delta.provider_data)
        return part.key

    def _fragment_of_part(self, choice: Choice, delta: ToolCallFragment, key: int) -> Growing:
        part = choice.by_key.get(("tool_call", key))
        self._check_size(part.call if part is not None else None, delta.arguments)
        if part is None:
            part = self._open_call(choice, key)
        if choice.has_finished:
            choice.note_early_finish()
        choice.grow_call(part, part.own_call_of(delta), delta)
        return part

    def _open_call(self, choice: Choice, key: int | None) -> Growing:
        check("tool_calls", self._calls + 1, self._bounds.max_tool_calls)
        part = self._open(choice, "tool_call", key)
        self._calls += 1
        return part

    def _check_size(self, call: Call | None, arguments: str | dict[str, Any] | None) -> None:
        limit = self._bounds.max_argument_bytes
        if limit is not None and arguments:
            size = len(arguments) if isinstance(arguments, str) else len(dumps_text(arguments))
            check("argument_bytes", size + (call.body.size if call is not None else 0), limit)

    def _settled(self, delta: ToolCallSettled) -> int:
        choice = self.choice(delta.choice)
        part = choice.by_key.get(("tool_call", delta.part))
        self._check_size(None, delta.arguments)
        if part is None:
            part = self._open_call(choice, delta.part)
            if choice.has_finished:
                choice.note_early_finish()
        call = part.own_call()
        call.id = call.wire_id = call.id or delta.id or None
        call.body.fill(delta.arguments or "")
        part.is_settled = True
        return part.key

    def _media(self, delta: MediaDelta) -> int:
        choice = self.choice(delta.choice)
        if delta.part is None and choice.last is not None and choice.last.kind == "media" and not choice.last.is_same_media(delta):
            choice.close()
        part = self._place(choice, "media", delta.part)
        part.grow_media(delta)
        return part.key

    def _part(self, delta: PartDelta) -> int:
        choice, value = self.choice(delta.choice), delta.value
        kind = "tool_call" if isinstance(value, ToolCallPart) else "whole"
        part = None if delta.part is None else choice.by_key.get((kind, delta.part))
        if isinstance(value, ToolCallPart):
            self._check_size(None, value.arguments)
        if part is None:
            part = self._open_call(choice, delta.part) if kind == "tool_call" else self._open(choice, kind, delta.part)
        if choice.has_finished:
            choice.note_early_finish()
        part.fill(value)
        choice.close()
        return part.key

    def _part_data(self, delta: PartDataDelta) -> int:
        if not delta.values:
            return _NO_PART
        choice = self.choice(delta.choice)
        part = choice.latest(delta.kind, delta.part) or self._open(choice, delta.kind, delta.part)
        part.provider_data.update(delta.values)
        return part.key

    def _provider_tool(self, delta: ProviderToolFragment) -> int:
        if not (delta.id or delta.name or delta.arguments or delta.provider or delta.provider_data) and delta.result is None:
            return _NO_PART
        choice = self.choice(delta.choice)
        call = choice.by_key.get(("provider_tool", delta.part)) if delta.part is not None else None
        self._check_size(call.call if call is not None else None, delta.arguments)
        part = self._place(choice, "provider_tool", delta.part)
        part.grow_provider_tool(delta)
        return part.key

    def _citation(self, delta: CitationDelta) -> int:
        choice = self.choice(delta.choice)
        part = choice.last_text if delta.part is None else None
        if part is None:
            part = self._place(choice, "text", delta.part)
        part.items.append(delta.citation)
        return part.key

    def _finish(self, delta: FinishDelta) -> int:
        if is_word(delta.word):
            self.choice(delta.choice).finish(delta)
        return _NO_PART

    def _start(self, delta: MessageStart) -> int:
        self.head.start(delta)
        return _NO_PART

    def _restart(self, _delta: Restarted) -> int:
        for choice in self.choices.values():
            choice.restart()
        self.head = Head()
        self._parts = self._calls = 0
        return _NO_PART

    def _result(self, delta: ToolResultDelta) -> int:
        self.head.result(delta, self.choice(0))
        return _NO_PART

    def _usage(self, delta: UsageDelta) -> int:
        self.head.report(delta.usage)
        return _NO_PART

    def _logprobs(self, delta: LogprobsDelta) -> int:
        self.choice(delta.choice).logprobs.append(delta.logprobs)
        return _NO_PART

    def _token_ids(self, delta: TokenIdsDelta) -> int:
        if delta.prompt is None and delta.completion is None:
            return _NO_PART
        self.choice(delta.choice).take_token_ids(delta)
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
        PartDataDelta: _part_data,
        ProviderToolFragment: _provider_tool,
        CitationDelta: _citation,
        FinishDelta: _finish,
        MessageStart: _start,
        Restarted: _restart,
        ToolResultDelta: _result,
        UsageDelta: _usage,
        LogprobsDelta: _logprobs,
        TokenIdsDelta: _token_ids,
        ParsedDelta: _parsed,
        MetadataDelta: _metadata,
        WarningDelta: _warning,
        Ended: _end,
    }
