"""From the growing state to a message: joined, ordered, parsed, judged.

The rule of this file: it reads the state and changes nothing, so a snapshot can be taken at any time; whether a call may be run is
decided here and only here (law 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from headrace._json import EMPTY, has_lone_surrogate, replace_surrogates
from headrace.messages.arguments import Arguments, parse_arguments
from headrace.messages.deltas import MetadataDelta, StreamError
from headrace.messages.finish import Finish, decide
from headrace.messages.growing import Choice, Growing, Head
from headrace.messages.identity import Call, object_of
from headrace.messages.message import AssistantMessage, ToolMessage
from headrace.messages.parts import (
    MediaPart,
    Part,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.messages.reasoning_details import join_details
from headrace.messages.value_merge import as_json, merge_all
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

NewId = Callable[[], str]
_TEXTS: Final = {"text": TextPart, "reasoning": ReasoningPart, "refusal": RefusalPart}
_UNSAFE: Final = frozenset({"content_filter", "error", None})


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


class Judged(NamedTuple):
    """What a choice's parts are, why it stopped, and what was odd."""

    parts: list[Part]
    finish: Finish
    warnings: tuple[Warning, ...]


def judge(choice: Choice, ending: Ending, new_id: NewId | None = None) -> Judged:
    """Build the parts of one choice, with its calls parsed and judged; arguments as in `assemble_assistant`."""
    has_calls = any(part.kind == "tool_call" for part in choice.parts)
    finish = decide(choice.words, has_calls=has_calls, is_ended=ending.is_ended, error_kind=ending.error.kind if ending.error else None)
    warnings = list(choice.warnings)
    parts = _parts(choice, _rules(choice, ending, finish), warnings, new_id)
    warnings += [Warning(code, *choice.finish_at, choice.index) for code in finish.codes]
    return Judged(parts, finish, tuple(warnings))


def assemble_assistant(choice: Choice, head: Head, ending: Ending, new_id: NewId | None = None) -> AssistantMessage:
    """Build the message of one choice.

    Args:
        choice: what came for it.
        head: what is known of the message as a whole.
        ending: whether and how the stream ended.
        new_id: makes the call ids that are missing; by default `call_1`, `call_2`, … unique in the message.

    Raises:
        UsageError: the parser's value, which only people give, cannot be written as JSON.
    """
    parts, finish, warnings = judge(choice, ending, new_id)
    return AssistantMessage.assemble(
        parts,
        id=head.id,
        name=head.name,
        model=head.model,
        provider=head.provider,
        created_at=head.created_at,
        metadata=merge_metadata(choice.metadata),
        usage=head.usage,
        finish_reason=finish.reason,
        finish_reason_raw=finish.raw,
        warnings=warnings,
        parsed=as_json(merge_all(choice.parsed)),
        logprobs=merge_all(choice.logprobs),
        prompt_token_ids=choice.prompt_ids,
        completion_token_ids=choice.all_completion_ids(),
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


def text_of(choice: Choice, kind: str) -> str:
    """Return the text of the parts of one kind, in their order, joined with nothing; a whole part counts as what it is."""
    texts: list[str] = []
    for part in ordered(choice):
        if part.kind == kind:
            texts.append(_text(part.pieces, part, choice, []))
        elif isinstance(part.whole, (TextPart, ReasoningPart, RefusalPart)) and type(part.whole) is _TEXTS.get(kind):
            texts.append(part.whole.text)
    return "".join(texts)


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
    """Return the parts in their order: by key; the calls whose key the wire did not give, among themselves by wire index, then arrival.

    A call without index sorts with the call that arrived before it, before all if none did.
    """
    if len(choice.parts) < 2:
        return list(choice.parts)
    parts = sorted(choice.parts, key=lambda part: part.key)
    arrived = [part for part in choice.parts if part.kind == "tool_call" and not part.is_numbered]
    ranks: dict[int, tuple[int, int]] = {}
    index = -1
    for n, part in enumerate(arrived):
        if part.call is not None and part.call.index is not None:
            index = part.call.index
        ranks[id(part)] = (index, n)
    calls = iter(sorted(arrived, key=lambda part: ranks[id(part)]))
    return [next(calls) if id(part) in ranks else part for part in parts]


def _rules(choice: Choice, ending: Ending, finish: Finish) -> _Rules:
    can_run = ending.is_ended and ending.error is None and finish.reason not in _UNSAFE
    # A finish word is an end only if nothing of substance follows it.
    says_calls = choice.has_finished and any(reason == "tool_calls" for _, reason in choice.words)
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
            parts.append(content_part(part, choice, warnings))
    return parts


def content_part(part: Growing, choice: Choice, warnings: list[Warning]) -> Part:
    """Build a part that is no call of the client's, as it stands; what is odd about it goes to the warnings."""
    text = _text(part.pieces, part, choice, warnings)
    match part.kind:
        case "text":
            return make(TextPart, text=text, citations=tuple(part.items), provider_data=part.provider_data or EMPTY)
        case "reasoning":
            return make(
                ReasoningPart,
                text=text,
                signature="".join(part.signature) or None,
                encrypted="".join(part.encrypted) or None,
                details=join_details(part.items),
                provider_data=part.provider_data or EMPTY,
            )
        case "refusal":
            return make(RefusalPart, text=text, provider_data=part.provider_data or EMPTY)
        case "provider_tool":
            return _provider_tool(part, choice, warnings)
        case "media":
            provider_data = {"id": part.media_id} if part.media_id else EMPTY
            return make(
                MediaPart,
                kind=part.media_kind,
                data=b"".join(part.data),
                media_type=part.media_type,
                transcript=text or None,
                provider_data=provider_data,
            )
        case _:
            assert part.whole is not None, part.kind
            return part.whole


def _provider_tool(part: Growing, choice: Choice, warnings: list[Warning]) -> ProviderToolPart:
    """Build a call that the provider ran itself; nothing runs it, so its arguments are parsed without repair and without a judgement."""
    call = part.own_call()
    raw = _text(call.body.pieces, part, choice, warnings)
    return make(
        ProviderToolPart,
        id=replace_surrogates(call.id or ""),
        name=_text([call.name], part, choice, warnings),
        arguments=raw,
        parsed=object_of(raw),
        result=part.result,
        provider=part.provider,
        provider_data=part.provider_data or EMPTY,
    )


def _text(pieces: list[str], part: Growing, choice: Choice, warnings: list[Warning]) -> str:
    """Join pieces of text; two halves of a character that meet are one, a half that is left alone becomes U+FFFD."""
    text = "".join(pieces)
    if text.isascii() or not has_lone_surrogate(text):
        return text
    mended: str = replace_surrogates(text)
    if mended.count("\ufffd") > text.count("\ufffd"):
        warnings.append(Warning("invalid_utf8", part.event, part.offset, choice.index, part.key))
    return mended


def _call(part: Growing, choice: Choice, rules: _Rules, warnings: list[Warning], ids: _Ids) -> ToolCallPart:
    call = part.own_call()
    if call.kind == "custom":
        outcome = Arguments("".join(call.body.pieces), None)
        has_arguments = rules.may_be_blank or (not rules.is_cut_by_length and bool(outcome.raw)) or part.is_settled
    else:
        outcome = parse_arguments(call.body, is_whole=rules.is_whole, may_be_blank=rules.may_be_blank)
        has_arguments = outcome.parsed is not None
    raw = _text([outcome.raw], part, choice, warnings)
    name = _text([call.name], part, choice, warnings)
    made_up = ids.made.get(id(part))
    codes = list(outcome.codes)
    if id(part) in ids.taken:
        codes.insert(0, "duplicate_tool_id")
    elif made_up is not None and call.wire_id is None and not call.is_id_optional and rules.is_whole:
        codes.insert(0, "missing_tool_id")
    if not name and rules.is_whole:
        codes.append("missing_tool_name")
    warnings += [Warning(code, part.event, part.offset, choice.index, part.key, name) for code in codes]
    return make(
        ToolCallPart,
        id=made_up or replace_surrogates(call.id),
        name=name,
        kind=call.kind or "function",
        arguments=raw,
        parsed=outcome.parsed,
        runnable=rules.can_run and bool(name) and has_arguments,
        index=call.index,
        id_made_up=made_up is not None,
        provider_data=part.provider_data or EMPTY,
    )


class _Ids(NamedTuple):
    """The ids that were made up, by part: for calls that have none, and for those (`taken`) whose id an earlier call has."""

    made: dict[int, str]
    taken: set[int]


def _ids(growing: list[Growing], new_id: NewId | None) -> _Ids:
    """Make the ids that are missing, unique in the message."""
    calls: list[tuple[Growing, Call]] = [(part, part.own_call()) for part in growing if part.kind == "tool_call"]
    used: set[str] = set()
    ids = _Ids({}, set())
    lacking: list[Growing] = []
    for part, call in calls:
        if call.id and call.id not in used:
            used.add(call.id)
            continue
        lacking.append(part)
        if call.id:
            ids.taken.add(id(part))
    count = 0
    for part in lacking:
        identifier = new_id() if new_id is not None else ""
        while not identifier or identifier in used:
            count += 1
            identifier = f"call_{count}"
        used.add(identifier)
        ids.made[id(part)] = identifier
    return ids
