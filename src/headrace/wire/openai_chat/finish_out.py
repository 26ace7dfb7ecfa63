"""How an answer ended, and what it used, in the words of Chat Completions.

The rule of this file: the wire's own words, with those of a peer kept where they are such; a count that nobody said is not sent.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.messages.deltas import StreamError
from headrace.messages.finish import FinishReason
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage
from headrace.wire.server_side import RefusalKind, kind_of_error

_FINISH: Final[dict[FinishReason, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "pause": "stop",
    "other": "stop",
    "error": "stop",  # it has gone out as an error before anybody asks
}
_ERRORS: Final[dict[RefusalKind, tuple[str, str | None]]] = {
    "invalid_request": ("invalid_request_error", None),
    "authentication": ("invalid_request_error", "invalid_api_key"),
    "permission": ("invalid_request_error", "permission_denied"),
    "not_found": ("invalid_request_error", "not_found"),
    "too_large": ("invalid_request_error", "request_too_large"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "overloaded": ("server_error", "overloaded"),
    "timeout": ("server_error", "timeout"),
    "server": ("server_error", None),
}
"""For each kind: the type of the error, and its code where the peer gave none."""


def finish_word(message: AssistantMessage, *, is_cut: bool) -> str:
    """Return the finish reason; `is_cut` if a call turned out cut off although the answer said otherwise."""
    if is_cut:
        return "length"
    reason = message.finish_reason or "stop"
    return "stop" if reason == "tool_calls" and not message.tool_calls else _FINISH[reason]


def error_body(kind: RefusalKind, message: str, *, code: str | None = None, argument: str | None = None) -> dict[str, Any]:
    """Return the object of an error."""
    of_kind, usual = _ERRORS[kind]
    return {"error": {"message": message, "type": of_kind, "param": argument, "code": code or usual}}


def stream_error_body(error: StreamError) -> dict[str, Any]:
    """Return the object of an error inside a stream."""
    return error_body(kind_of_error(error), error.message or "the answer broke off", code=error.code or error.kind)


def usage_body(usage: Usage) -> dict[str, Any]:
    """Return the usage object."""
    body: dict[str, Any] = {}
    _put(body, "prompt_tokens", usage.input_tokens)
    _put(body, "completion_tokens", usage.output_tokens)
    if usage.input_tokens is not None and usage.output_tokens is not None:
        body["total_tokens"] = usage.total_tokens
    of_prompt: dict[str, Any] = {}
    _put(of_prompt, "cached_tokens", usage.cache_read_tokens)
    _put(of_prompt, "cache_write_tokens", usage.cache_write_tokens)
    if of_prompt:
        body["prompt_tokens_details"] = of_prompt
    if usage.reasoning_tokens is not None:
        body["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return body


def _put(body: dict[str, Any], name: str, count: int | None) -> None:
    if count is not None:
        body[name] = count
