"""How an answer ended, and what it used, in the words of the Messages protocol.

The rule of this file: the wire's own words, with those of a peer kept where they are such; the wire insists on counts of input and output,
so there an unknown one is 0; any other count that nobody said is not sent.
"""

# Metadata is JSON: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, Final

from headrace.messages.deltas import StreamError
from headrace.messages.finish import NEUTRAL, FinishReason
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage
from headrace.wire.server_side import RefusalKind, kind_of_error

_STOP: Final[dict[FinishReason, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "pause": "pause_turn",
    "other": "end_turn",
    "error": "end_turn",  # it has gone out as an error before anybody asks
}
_WORDS: Final = frozenset({"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"})
_BESIDE: Final = ("stop_details", "container")
_ERRORS: Final[dict[RefusalKind, str]] = {
    "invalid_request": "invalid_request_error",
    "authentication": "authentication_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "rate_limit": "rate_limit_error",
    "overloaded": "overloaded_error",
    "timeout": "timeout_error",
    "server": "api_error",
}


def stop_fields(message: AssistantMessage, *, is_cut: bool) -> dict[str, Any]:
    """Return what says why the model stopped; `is_cut` if a call turned out cut off although the answer said otherwise."""
    kept = message.metadata.get("provider_fields")
    beside: dict[str, Any] = kept if isinstance(kept, dict) else {}
    sequence = beside.get("stop_sequence")
    fields = {"stop_reason": _word(message, is_cut=is_cut), "stop_sequence": sequence if isinstance(sequence, str) else None}
    return fields | {name: beside[name] for name in _BESIDE if isinstance(beside.get(name), dict)}


def _word(message: AssistantMessage, *, is_cut: bool) -> str:
    if is_cut:
        return "max_tokens"
    reason, raw = message.finish_reason or "stop", message.finish_reason_raw
    if reason == "tool_calls" and not message.tool_calls:
        return "end_turn"
    if raw in _WORDS and NEUTRAL[raw] == reason:
        return raw
    return "refusal" if reason == "stop" and message.refusal else _STOP[reason]


def error_body(kind: RefusalKind, message: str) -> dict[str, Any]:
    """Return the object of an error."""
    return {"type": "error", "error": {"type": _ERRORS[kind], "message": message}}


def stream_error_body(error: StreamError) -> dict[str, Any]:
    """Return the object of an error inside a stream."""
    return error_body(kind_of_error(error), error.message or "the answer broke off")


def usage_body(usage: Usage | None) -> dict[str, Any]:
    """Return the usage object; tokens of a cache are counted apart here."""
    known = usage or Usage()
    reads, writes = known.cache_read_tokens, known.cache_write_tokens
    body: dict[str, Any] = {"input_tokens": max(0, (known.input_tokens or 0) - (reads or 0) - (writes or 0))}
    if writes is not None:
        body["cache_creation_input_tokens"] = writes
    if reads is not None:
        body["cache_read_input_tokens"] = reads
    body["output_tokens"] = known.output_tokens or 0
    if known.reasoning_tokens is not None:
        body["output_tokens_details"] = {"thinking_tokens": known.reasoning_tokens}
    return body
