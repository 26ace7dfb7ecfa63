"""What a provider's "no" means: one table for HTTP statuses and for errors inside a stream that had started well.

The rule of this file: the same refusal is the same class, whether it came as a status or inside a 200 answer; and no text
leaves here with a secret in it. It decides from values and raises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from headrace.errors import (
    APIError,
    AuthError,
    ContextLengthError,
    HeadraceError,
    InvalidEventError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    StreamTimeoutError,
    StreamTruncatedError,
    TransportError,
)
from headrace.io.redact import cut, redact
from headrace.io.retry import Failure, is_retryable, retry_after_s
from headrace.messages.deltas import StreamError
from headrace.models.pace import wait_in_body_s

_STATUSES: Final[dict[int, type[APIError]]] = {
    400: InvalidRequestError,
    401: AuthError,
    403: AuthError,
    404: InvalidRequestError,
    413: InvalidRequestError,
    422: InvalidRequestError,
    429: RateLimitError,
    503: OverloadedError,
    529: OverloadedError,
}

# The providers' words in lower case, without separators and without a final "error", "exception" or "exceeded".
_CODES: Final[dict[type[APIError], str]] = {
    ContextLengthError: "contextlength contextsize exceedcontextsize contextwindow modelcontextwindow contextlengthexceed prompttoolong inputtoolong "
    "tokenslimitreached modelmaxprompttokens 1261",
    AuthError: "authentication authenticationfailed unauthenticated unauthorized unauthorizedclient permission permissiondenied forbidden accessdenied "
    "invalidapikey incorrectapikey invalidauthentication invalidiamtoken unrecognizedclient expiredtoken billing billinghardlimitreached",
    RateLimitError: "ratelimit ratelimited ratelimitreached toomanyrequests requestlimit tokenlimit quota insufficientquota resourceexhausted "
    "throttling throttled throttlingratequota throttlingallocationquota",
    OverloadedError: "overloaded overload serveroverloaded engineoverloaded modeloverloaded serviceunavailable unavailable insufficientsystemresource "
    "modelnotready capacity nocapacity",
    InvalidRequestError: "invalidrequest badrequest invalidargument invalidparameter invalidprompt validation notfound modelnotfound "
    "failedprecondition requesttoolarge unprocessableentity unsupportedparameter unsupportedvalue missingrequiredparameter invalidvalue",
}
_BY_CODE: Final[dict[str, type[APIError]]] = {word: kind for kind, words in _CODES.items() for word in words.split()}
_SUFFIX: Final = re.compile(r"(?:error|exception|exceeded)+$")

# How servers say in prose that the messages are longer than the context; most give no code of their own for it.
_TOO_LONG_WORDS: Final = (
    # "This model's maximum context length is 8192 tokens", "… maximum prompt length is …": most servers.
    r"maximum (?:context|prompt) length",
    r"reduce the length of (?:the )?(?:messages|prompt|input)",
    # "Your input exceeds the context window", "… exceed context limit", "… exceeds the maximum allowed input length".
    r"context (?:length|size|window)(?: of the model)? (?:is |was |has been )?exceed",
    r"exceed(?:s|ed)? (?:the |its |this )?(?:model'?s? )?(?:available |maximum |max |allowed )*(?:context|input (?:token|length))",
    r"exceed(?:s|ed)? max(?:imum)?[ _]?(?:model_?len|seq_?len|context|message tokens)",
    r"exceed(?:s|ed)? (?:the )?model token limit|input tokens exceed|prompt exceeds (?:the )?max(?:imum)? length",
    r"input token count .{0,80}exceeds",
    r"(?:longer|greater) than the (?:model'?s? )?(?:maximum )?(?:context|model length)|reached context length of",
    # "prompt is too long: 210000 tokens > 200000 maximum", "Input is too long for requested model.", "too many tokens: …".
    r"(?:prompt|input|request|conversation) (?:is |was )?too long|too many (?:input |prompt )?tokens|\u8d85\u957f",
    # Bounds that only a prompt can pass, by the name that a server gives to it.
    r"range of input length should be|must be less than max_seq_len|max size: \d+ tokens",
    r"`?inputs`? tokens \+ `?max_new_tokens`? must be|`?inputs`? must have less than \d+ tokens",
)
_TOO_LONG: Final = re.compile("|".join(_TOO_LONG_WORDS), re.IGNORECASE)
# Tokens can be too many for a minute as well.
_TOO_FAST: Final = re.compile(r"per (?:minute|hour|day)|rate.?limit|throttl|quota|please wait|\bTPM\b", re.IGNORECASE)
# A key that is refused or a rate that is passed is never about the length, whatever the prose says.
_NEVER_LENGTH: Final = frozenset({401, 403, 429})

_REQUEST_IDS: Final = (
    *("x-request-id", "request-id", "x-amzn-requestid", "x-ms-request-id", "apim-request-id", "x-goog-request-id"),
    *("x-generation-id", "x-tt-logid", "x-log-id", "x-trace-id", "cf-ray"),
)
_HELP: Final[dict[type[APIError], str]] = {
    AuthError: "check the key and what it may do",
    ContextLengthError: "send fewer or shorter messages",
}
# What a refusal inside a stream would have been as a status: retries look at statuses.
_STANDS_FOR: Final[dict[type[APIError], int]] = {AuthError: 401, RateLimitError: 429, OverloadedError: 503}
_MAX_MESSAGE: Final = 600
_WAITING: Final = frozenset({429, 503, 529})


class Where(msgspec.Struct, frozen=True):
    """Which answer it was.

    Attributes:
        what: names the provider or endpoint, without secrets.
        status: the HTTP status.
        headers: the answer's headers, names in lower case.
        secrets: what must not stand in any error.
    """

    what: str
    status: int
    headers: Mapping[str, str]
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Show no header and no secret."""
        return f"Where({self.what!r}, {self.status})"


def class_of(status: int | None, code: str | None, message: str) -> type[APIError]:
    """Return the class of a refusal.

    A context that is too long is recognised first, since it comes as 400, 413 and 500 alike; then the status says, and where
    that says nothing (none, 200, another 5xx) the code, as a number or a word.
    """
    by_word = _BY_CODE.get(_plain(code or ""))
    if status not in _NEVER_LENGTH and (by_word is ContextLengthError or _is_too_long(by_word, message)):
        return ContextLengthError
    for number in (status, int(code) if code and code.isascii() and code.isdecimal() and len(code) == 3 else None):
        if number in _STATUSES:
            return _STATUSES[number]
    return by_word or APIError


def _is_too_long(by_word: type[APIError] | None, message: str) -> bool:
    """Whether a refusal's words are about the length of the messages, and neither they nor its code about something else."""
    if by_word in {RateLimitError, AuthError, OverloadedError}:
        return False
    return _TOO_LONG.search(message) is not None and _TOO_FAST.search(message) is None


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the provider's name for the request, or None."""
    found = [headers[name] for name in _REQUEST_IDS if name in headers]
    return next(filter(None, found), None)


def refusal(where: Where, *, code: str | None, message: str, body: str, now: datetime) -> APIError:
    """Return the error for an answer whose status says no.

    Args:
        where: which answer.
        code: the provider's own, from the body, or None.
        message: the provider's words, from the body.
        body: the body's text, whole or bounded; it is redacted here, then cut.
        now: for a wait that is said as a date.
    """
    wait_s = retry_after_s(where.headers, now=now)
    if wait_s is None and where.status in _WAITING:
        wait_s = wait_in_body_s(body, now=now)
    return _api_error(
        where,
        status=where.status,
        code=code,
        message=message or body,
        body=cut(redact(body, where.secrets)),
        wait_s=None if wait_s is None else max(0.0, wait_s),
        retryable=is_retryable(Failure(status=where.status, headers=where.headers)),
    )


def stream_failure(error: StreamError, where: Where, *, partial: object) -> HeadraceError:
    """Return the error to raise for a stream that failed: the class that its HTTP form has, with the message so far."""
    words = _clean(error.message, where.secrets)
    said = f"{where.what}: {words}" if words else where.what
    match error.kind:
        case "provider_error":
            failure = _api_error(where, status=None, code=error.code, message=error.message, retryable=error.retryable)
            failure.partial = partial
            return failure
        case "stream_truncated":
            return StreamTruncatedError(f"{where.what}: the answer ended before it said that it was whole", partial=partial)
        case "not_event_stream":
            return InvalidEventError(f"{said} (status {where.status}; is the base URL right?)", partial=partial, kind=error.kind)
        case "limit_exceeded":
            return InvalidEventError(f"{said}: past the limit {error.which}", partial=partial, kind=error.kind)
        case _:
            return InvalidEventError(said, partial=partial, kind=error.kind)


def failure_of(error: HeadraceError, headers: Mapping[str, str]) -> Failure | None:
    """Return the failure that the retry policy judges, or None if the same request would fail again in the same way.

    An answer that ended before anything was said counts as a broken connection.
    """
    if isinstance(error, TransportError):
        return Failure.of(error)
    if isinstance(error, APIError):
        if error.status is not None:
            return Failure(status=error.status, headers=headers)
        return Failure(status=_STANDS_FOR.get(type(error), 500)) if error.retryable else None
    return Failure(kind="connection") if isinstance(error, StreamTruncatedError) else None


def mid_stream_failure_of(error: HeadraceError, headers: Mapping[str, str]) -> Failure | None:
    """As `failure_of`, for a stream that died after chunks: a stall counts as a broken connection, the total limit does not."""
    if isinstance(error, StreamTimeoutError) and error.stage == "idle":
        return Failure(kind="connection")
    return failure_of(error, headers)


def _api_error(
    where: Where, *, status: int | None, code: str | None, message: str, retryable: bool, body: str = "", wait_s: float | None = None
) -> APIError:
    kind = class_of(status, code, message)
    code = _clean(code, where.secrets) if code else None
    said = f"{where.what}: {f'status {status}' if status is not None else 'an error inside the answer'}{f' ({code})' if code else ''}"
    words = _clean(message, where.secrets)
    said += f": {words}" if words else ""
    said += f"; {_HELP[kind]}" if kind in _HELP else ""
    said += f"; it asks to wait {wait_s:g} s" if wait_s is not None else ""
    request_id = request_id_of(where.headers)
    return kind(
        said,
        status=status,
        code=code,
        request_id=None if request_id is None else _clean(request_id, where.secrets),
        retry_after_s=wait_s,
        body=body,
        retryable=retryable and kind is not ContextLengthError,
    )


def _clean(text: str, secrets: tuple[str, ...]) -> str:
    return cut(" ".join(redact(text, secrets).split()), _MAX_MESSAGE)


def _plain(code: str) -> str:
    return _SUFFIX.sub("", re.sub(r"[^a-z0-9]", "", code.lower()))
