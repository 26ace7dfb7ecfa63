"""Why a model stopped: the providers' words, the neutral ones, and the rule that decides between several.

The tables are DESIGN 6.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "pause", "error", "other"]

_WORDS: Final[dict[FinishReason, str]] = {
    "stop": "stop end_turn eos eos_token stop_sequence STOP_SEQUENCE STOP COMPLETE completed FINISH",
    "length": "length max_tokens MAX_TOKENS LENGTH model_length max_output_tokens incomplete model_context_window_exceeded",
    "tool_calls": "tool_calls function_call tool_use TOOL_CALL requires_action",
    "content_filter": "content_filter sensitive refusal guardrail_intervened content_filtered SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT "
    "SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR ERROR_TOXIC",
    "pause": "pause_turn",
    "error": "error failed cancelled network_error insufficient_system_resource MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL "
    "TOO_MANY_TOOL_CALLS malformed_model_output malformed_tool_use ERROR ERROR_LIMIT TIMEOUT",
}
NEUTRAL: Final[dict[str, FinishReason]] = {word: reason for reason, words in _WORDS.items() for word in words.split()}
"""From each raw word to its neutral one; a word that is not here is `other`."""

_DECISIVE: Final = frozenset({"length", "content_filter", "pause", "error"})
_DIED: Final = frozenset({"stream_truncated", "invalid_event", "not_event_stream", "limit_exceeded"})


class Finish(msgspec.Struct, frozen=True, gc=False):
    """What was decided: the neutral reason, the raw word, and the codes of what was odd about it."""

    reason: FinishReason | None
    raw: str | None
    codes: tuple[str, ...] = ()


def neutral(word: str) -> FinishReason:
    """Return the neutral word for a raw one."""
    return NEUTRAL.get(word, "other")


def is_word(word: str | None) -> bool:
    """Return whether a raw word says anything: None, "" and "null" do not."""
    return word is not None and word not in ("", "null")


def first_said(words: Sequence[tuple[str, FinishReason]]) -> tuple[str, FinishReason] | None:
    """Return the word that counts among several: the first decisive one, else the first."""
    return next((pair for pair in words if pair[1] in _DECISIVE), words[0] if words else None)


def decide(words: Sequence[tuple[str, FinishReason]], *, has_calls: bool, is_ended: bool, error_kind: str | None) -> Finish:
    """Decide why the model stopped.

    Args:
        words: the raw words in order, each with its neutral one.
        has_calls: whether tool calls came that the client has to run.
        is_ended: whether the message is whole; a missing word is odd only then.
        error_kind: the kind of the stream's error, or None.

    Returns:
        The decision. Length, content filter, pause and error win over everything; else calls that came mean
        `tool_calls`, whatever the word; a stream that died has no reason.
    """
    said = first_said(words)
    codes: list[str] = ["multiple_finish_reasons"] if len(words) > 1 else []
    if error_kind in _DIED:
        return Finish(None, said[0] if said else None, tuple(codes))
    if error_kind is not None:
        return Finish("error", said[0] if said else None, tuple(codes))
    if said is None:
        if not is_ended:
            return Finish(None, None)
        return Finish("tool_calls" if has_calls else "stop", None, ("finish_reason_missing",))
    raw, reason = said
    if reason in _DECISIVE or reason == "other":
        return Finish(reason, raw, tuple(codes))
    if has_calls:
        tool_word = next((word for word, meaning in words if meaning == "tool_calls"), None)
        if tool_word is None:
            codes.append("finish_reason_mismatch")
        return Finish("tool_calls", tool_word or raw, tuple(codes))
    if reason == "tool_calls":
        codes.append("finish_without_tool_calls")
    return Finish(reason, raw, tuple(codes))
