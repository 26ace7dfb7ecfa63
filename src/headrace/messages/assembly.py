"""From the growing state to a message: joined, ordered, parsed, judged.

The rule of this file: it reads the state and changes nothing, so a snapshot can be taken at any time; whether a call may be run is
decided here and only here (law 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace._json import EMPTY
from headrace.messages.arguments import Arguments, parse_arguments
from headrace.messages.deltas import MetadataDelta, StreamError
from headrace.messages.finish import Finish, decide
from headrace.messages.growing import Choice, Growing, Head
from headrace.messages.identity import Call
from headrace.messages.message import AssistantMessage, ToolMessage
from headrace.messages.parts import (
    MediaPart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.messages.reasoning_details import join_details
from headrace.messages.value_merge import merge_all
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

NewId = Callable[[], str]
_UNSAFE = frozenset({"content_filter", "error", None})


class Ending(NamedTuple):
    """Whether and how a message has ended.

    Attributes:
        is_ended: it is whole; else it is a snapshot, in which nothing is runnable.
        error: why the stream failed, or None.
        is_terminated: the wire itself said that the message is whole.
    """

    is_ended: bool
    error: StreamError | None
    is_terminated: bool


class _Rules(NamedTuple):
    """What holds for all calls of a choice."""

    can_run: bool
    may_be_blank: bool
    is_whole: bool
    is_cut_by_length: bool


def assemble_assistant(choice: Choice, head: Head, ending: Ending, new_id: NewId | None = None) -> AssistantMessage:
    """Build the message of one choice.

    Args:
        choice: what came for it.
        head: what is known of the message as a whole.
        ending: whether and how the stream ended.
        new_id: makes the call ids that are missing; by default `call_1`, `call_2`, … unique in the message.
    """
    has_calls = any(part.kind == "tool_call" for part in choice.parts)
    finish = decide(choice.words, has_calls=has_calls, is_ended=ending.is_ended, error_kind=ending.error.kind if ending.error else None)
    warnings = list(choice.warnings)
    parts = _parts(choice, _rules(choice, ending, finish), warnings, new_id)
    warnings += [Warning(code, *choice.finish_at, choice.index) for code in finish.codes]
    metadata = merge_metadata(choice.metadata)
    return AssistantMessage.assemble(
        parts,
        id=head.id,
        name=head.name,
        model=head.model,
        provider=head.provider,
        created_at=head.created_at,
        metadata=metadata,
        usage=head.usage,
        finish_reason=finish.reason,
        finish_reason_raw=finish.raw,
        warnings=tuple(warnings),
        parsed=merge_all(choice.parsed),
        logprobs=merge_all(choice.logprobs),
        prompt_token_ids=choice.prompt_ids,
        completion_token_ids=tuple(token for ids in choice.completion_ids for token in ids) if choice.completion_ids else None,
    )


def assemble_tool(choice: Choice, head: Head) -> ToolMessage:
    """Build the tool message: one result that holds all the content."""
    rules = _Rules(can_run=False, may_be_blank=False, is_whole=False, is_cut_by_length=False)
    parts = _parts(choice, rules, [], None)
    result = make(
        ToolResultPart,
        call_id=head.call_id or "",
        name=head.result_name or head.name or "",
        parts=tuple(parts),
        state=head.state or "success",
    )
    return ToolMessage.assemble([result], id=head.id, name=head.name, created_at=head.created_at, metadata=merge_metadata(choice.metadata))


def assemble_content(choice: Choice) -> list[Part]:
    """Build the parts alone, for roles that call nothing."""
    return _parts(choice, _Rules(can_run=False, may_be_blank=False, is_whole=False, is_cut_by_length=False), [], None)


def merge_metadata(deltas: list[MetadataDelta]) -> dict[str, Any]:
    """Fold metadata by key: `merge_values`, but of a key that was ever declared a snapshot the last value that is not None."""
    if not deltas:
        return EMPTY
    snapshots = {key for delta in deltas for key in delta.snapshot_keys}
    by_key: dict[str, list[Any]] = {}
    for delta in deltas:
        for key, value in delta.values.items():
            if value is not None and key in snapshots:
                by_key[key] = [value]
            else:
                by_key.setdefault(key, []).append(value)
    return {key: merge_all(values) for key, values in by_key.items()}


def ordered(choice: Choice) -> list[Growing]:
    """Return the parts in their order: by key; the calls, in the places that calls have, by wire index and then arrival.

    A call without index sorts with the call that arrived before it, before all if none did.
    """
    parts = sorted(choice.parts, key=lambda part: part.key)
    arrived = [part for part in choice.parts if part.kind == "tool_call"]
    ranks: dict[int, tuple[int, int]] = {}
    index = -1
    for n, part in enumerate(arrived):
        if part.call is not None and part.call.index is not None:
            index = part.call.index
        ranks[id(part)] = (index, n)
    calls = iter(sorted(arrived, key=lambda part: ranks[id(part)]))
    return [next(calls) if part.kind == "tool_call" else part for part in parts]


def _rules(choice: Choice, ending: Ending, finish: Finish) -> _Rules:
    can_run = ending.is_ended and ending.error is None and finish.reason not in _UNSAFE
    says_calls = any(reason == "tool_calls" for _, reason in choice.words)
    is_length = finish.reason == "length"
    return _Rules(
        can_run=can_run,
        may_be_blank=can_run and not is_length and (ending.is_terminated or says_calls),
        is_whole=ending.is_ended,
        is_cut_by_length=is_length,
    )


def _parts(choice: Choice, rules: _Rules, warnings: list[Warning], new_id: NewId | None) -> list[Part]:
    growing = ordered(choice)
    ids = _ids(growing, new_id)
    parts: list[Part] = []
    for part in growing:
        if part.kind == "tool_call":
            parts.append(_call(part, choice, rules, warnings, ids))
        else:
            parts.append(_content(part))
    return parts


def _content(part: Growing) -> Part:
    text = "".join(part.pieces)
    match part.kind:
        case "text":
            return make(TextPart, text=text, citations=tuple(part.items))  # type: ignore[no-any-return]
        case "reasoning":
            return make(  # type: ignore[no-any-return]
                ReasoningPart,
                text=text,
                signature="".join(part.signature) or None,
                encrypted="".join(part.encrypted) or None,
                details=join_details(part.items),
            )
        case "refusal":
            return make(RefusalPart, text=text)  # type: ignore[no-any-return]
        case "media":
            provider_data = {"id": part.media_id} if part.media_id else EMPTY
            return make(  # type: ignore[no-any-return]
                MediaPart,
                kind=part.media_kind,
                data=b"".join(part.data),
                media_type=part.media_type,
                transcript=text or None,
                provider_data=provider_data,
            )
        case _:
            assert part.whole is not None, part.kind  # noqa: S101 - a whole part is opened and filled in one step
            return part.whole


def _call(part: Growing, choice: Choice, rules: _Rules, warnings: list[Warning], ids: dict[int, str]) -> ToolCallPart:
    call = part.own_call()
    is_custom = call.kind == "custom"
    outcome = (
        Arguments("".join(call.body.pieces), None)
        if is_custom
        else parse_arguments(call.body, is_whole=rules.is_whole, may_be_blank=rules.may_be_blank)
    )
    has_arguments = (not rules.is_cut_by_length or part.is_settled) if is_custom else outcome.parsed is not None
    made_up = ids.get(id(part))
    codes = list(outcome.codes)
    if made_up is not None and call.wire_id is None and not call.is_id_optional and rules.is_whole:
        codes.insert(0, "missing_tool_id")
    if not call.name and rules.is_whole:
        codes.append("missing_tool_name")
    warnings += [Warning(code, part.event, part.offset, choice.index, part.key, call.name) for code in codes]
    return make(  # type: ignore[no-any-return]
        ToolCallPart,
        id=call.id or made_up or "",
        name=call.name,
        kind=call.kind or "function",
        arguments=outcome.raw,
        parsed=outcome.parsed,
        runnable=rules.can_run and bool(call.name) and has_arguments,
        index=call.index,
        id_made_up=made_up is not None,
        provider_data=part.provider_data or EMPTY,
    )


def _ids(growing: list[Growing], new_id: NewId | None) -> dict[int, str]:
    """Make the ids that are missing, unique in the message."""
    calls: list[tuple[Growing, Call]] = [(part, part.own_call()) for part in growing if part.kind == "tool_call"]
    taken = {call.id for _, call in calls if call.id}
    made: dict[int, str] = {}
    count = 0
    for part, call in calls:
        if call.id:
            continue
        identifier = new_id() if new_id is not None else ""
        while not identifier or identifier in taken:
            count += 1
            identifier = f"call_{count}"
        taken.add(identifier)
        made[id(part)] = identifier
    return made
