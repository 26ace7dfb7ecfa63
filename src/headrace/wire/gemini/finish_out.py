"""How an answer ended, and what it used, in the words of generateContent.

The rule of this file: the wire's own words, with those of a peer kept where they are such; a count that nobody said is not sent.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.messages.deltas import StreamError
from headrace.messages.finish import NEUTRAL, FinishReason
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage
from headrace.wire.server_side import RefusalKind, kind_of_error

MALFORMED: Final = "MALFORMED_FUNCTION_CALL"
_FINISH: Final[dict[FinishReason, str]] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
    "pause": "STOP",
    "other": "OTHER",
    "error": "OTHER",
}
_WORDS: Final = frozenset(
    """
    STOP MAX_TOKENS SAFETY RECITATION LANGUAGE OTHER BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT
    IMAGE_RECITATION IMAGE_OTHER NO_IMAGE MODEL_ARMOR MISSING_THOUGHT_SIGNATURE
    """.split()
)
_ERRORS: Final[dict[RefusalKind, tuple[int, str]]] = {
    "invalid_request": (400, "INVALID_ARGUMENT"),
    "authentication": (401, "UNAUTHENTICATED"),
    "permission": (403, "PERMISSION_DENIED"),
    "not_found": (404, "NOT_FOUND"),
    "too_large": (400, "INVALID_ARGUMENT"),
    "rate_limit": (429, "RESOURCE_EXHAUSTED"),
    "overloaded": (503, "UNAVAILABLE"),
    "timeout": (504, "DEADLINE_EXCEEDED"),
    "server": (500, "INTERNAL"),
}
"""For each kind: the code and the status of a `google.rpc.Status`."""


def finish_word(message: AssistantMessage, *, is_cut: bool) -> str:
    """Return the finish reason; `is_cut` if a call turned out cut off although the answer said otherwise."""
    if is_cut:
        return "MAX_TOKENS"
    reason, raw = message.finish_reason or "stop", message.finish_reason_raw
    return raw if raw in _WORDS and NEUTRAL.get(raw, "other") == reason else _FINISH[reason]


def error_body(kind: RefusalKind, message: str, *, code: int | None = None) -> dict[str, Any]:
    """Return the object of an error."""
    usual, status = _ERRORS[kind]
    return {"error": {"code": code or usual, "message": message, "status": status}}


def stream_error_body(error: StreamError) -> dict[str, Any]:
    """Return the object of an error inside a stream."""
    return error_body(kind_of_error(error), error.message or "the answer broke off")


def usage_fields(usage: Usage | None) -> dict[str, Any]:
    """Return the member that says what was used; none if nothing is known. Thoughts are counted apart from the answer here."""
    if usage is None:
        return {}
    body: dict[str, Any] = {}
    thoughts = usage.reasoning_tokens
    _put(body, "promptTokenCount", usage.input_tokens)
    _put(body, "cachedContentTokenCount", usage.cache_read_tokens)
    _put(body, "candidatesTokenCount", None if usage.output_tokens is None else max(0, usage.output_tokens - (thoughts or 0)))
    _put(body, "thoughtsTokenCount", thoughts)
    if usage.input_tokens is not None or usage.output_tokens is not None:
        body["totalTokenCount"] = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    return {"usageMetadata": body} if body else {}


def _put(body: dict[str, Any], name: str, count: int | None) -> None:
    if count is not None:
        body[name] = count
