"""How a response ended, and what it used, in the words of the Responses protocol.

The rule of this file: the wire's own words. A client of this wire insists on every count, so one that nobody said is 0 there; without any
report there is no usage.

Source: https://platform.openai.com/docs/api-reference/responses/object.
"""

from __future__ import annotations

import re
from typing import Any, Final

from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage
from headrace.wire.server_side import RefusalKind, kind_of_error

_REASONS: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why an answer is not complete."""
_ERRORS: Final[dict[RefusalKind, tuple[str, str | None]]] = {
    "invalid_request": ("invalid_request_error", None),
    "authentication": ("invalid_request_error", "invalid_api_key"),
    "permission": ("invalid_request_error", "permission_denied"),
    "not_found": ("invalid_request_error", "not_found"),
    "too_large": ("invalid_request_error", "request_too_large"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "overloaded": ("server_error", "server_is_overloaded"),
    "timeout": ("server_error", "timeout"),
    "server": ("server_error", "server_error"),
}
"""For each kind: the type of the error, and its code where the peer gave none that is a word."""
_WORD: Final = re.compile(r"[a-z][a-z0-9_.-]*")


def status_fields(message: AssistantMessage, *, is_cut: bool) -> dict[str, Any]:
    """Return status and what is missing; `is_cut` if a call turned out cut off although the answer said otherwise."""
    reason = "max_output_tokens" if is_cut else _REASONS.get(message.finish_reason or "")
    if reason is None:
        return {"status": "completed"}
    return {"status": "incomplete", "incomplete_details": {"reason": reason}}


def error_body(kind: RefusalKind, message: str, *, code: str | None = None, argument: str | None = None) -> dict[str, Any]:
    """Return the object of an error."""
    of_kind, usual = _ERRORS[kind]
    if code is not None and not _WORD.fullmatch(code):
        code = None  # a status, or another wire's word
    return {"type": of_kind, "code": code or usual, "message": message, "param": argument}


def stream_error_body(error: StreamError) -> dict[str, Any]:
    """Return the object of an error inside a stream."""
    return error_body(kind_of_error(error), error.message or "the answer broke off", code=error.code or error.kind)


def usage_body(usage: Usage | None) -> dict[str, Any] | None:
    """Return the usage object."""
    if usage is None:
        return None
    of_input: dict[str, Any] = {"cached_tokens": usage.cache_read_tokens or 0}
    if usage.cache_write_tokens is not None:
        of_input["cache_write_tokens"] = usage.cache_write_tokens
    return {
        "input_tokens": usage.input_tokens or 0,
        "input_tokens_details": of_input,
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
    }
