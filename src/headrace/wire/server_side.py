"""What every protocol has that headrace speaks as a server: a request read, an answer written, a refusal.

The rule of this file: words and shapes only. A protocol's `request_in.py` has `read_request`, its `stream_out.py` has `StreamOut` and
`refuse`; both are pure: ids, times and the request's own wishes come in as arguments.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from headrace._json import EMPTY
from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.messages.request import Request
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

RefusalKind: TypeAlias = Literal[
    "invalid_request", "authentication", "permission", "not_found", "too_large", "rate_limit", "overloaded", "timeout", "server"
]
"""Why nothing was answered, or why an answer broke off, in neutral words."""

_WORDS: Final[dict[RefusalKind, str]] = {
    "rate_limit": r"\b429\b|rate.?limit|too.?many.?requests|throttl|quota|insufficient",
    "overloaded": r"\b(503|529)\b|overload|capacity|unavailable",
    "timeout": r"\b(408|504)\b|time.?out|timed.?out|deadline",
    "authentication": r"\b401\b|authenticat|api.?key|unauthori[sz]ed",
    "permission": r"\b403\b|permission|forbidden",
    "not_found": r"\b404\b|not.?found",
    "too_large": r"\b413\b|too.?large",
    "invalid_request": r"\b(400|422)\b|invalid.?request|invalid.?argument|bad.?request|validation",
}
_KINDS: Final[dict[RefusalKind, re.Pattern[str]]] = {kind: re.compile(words, re.IGNORECASE) for kind, words in _WORDS.items()}


class AnswerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a request asks of the form of its answer, and of nothing else.

    Attributes:
        includes_usage: the stream ends with a report of usage, on a wire that gives one only if asked.
    """

    includes_usage: bool = True


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """A client's request.

    Attributes:
        request: what is asked, in neutral words; its messages have no ids and no times.
        options: how the answer is to be written.
        extra: members of the body that have no neutral word. A server of the same protocol gets them as `settings.extra_body`; for
            any other they are lost, and whoever passes the request on has to say so.
    """

    request: Request
    options: AnswerOptions = AnswerOptions()
    extra: dict[str, Any] = EMPTY

    def with_extra(self) -> Request:
        """Return the request with the members that only its own protocol understands."""
        if not self.extra:
            return self.request
        settings = self.request.settings
        return msgspec.structs.replace(
            self.request, settings=msgspec.structs.replace(settings, extra_body={**settings.extra_body, **self.extra})
        )


class ReadRequest(Protocol):
    """A reader of requests: the inverse of the protocol's request encoder."""

    def __call__(self, body: bytes, *, model: str | None = None, is_streamed: bool | None = None, provider: str | None = None) -> Incoming:
        """Read a request.

        Args:
            body: the body.
            model: the model, on a wire whose address names it; elsewhere the body counts.
            is_streamed: whether a stream is wanted, on a wire whose address says so; elsewhere the body counts.
            provider: who made the assistant messages, if that is known; None counts as whoever is asked next.

        Raises:
            UsageError: it is no such request; `argument` is the path of what is wrong.
        """
        ...


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same in every event of an answer.

    Attributes:
        id: a name for the answer, unique; the protocol puts its usual prefix before it where it lacks that.
        model: the model's name, until the answer itself says another.
        created_s: when it was begun, in seconds since 1970, until the answer itself says another time.
    """

    id: str
    model: str
    created_s: int = 0


class StreamOut(Protocol):
    """An answer on its way to a client: chunks in, bytes of the protocol out, each at once.

    Attributes:
        media_type: the content type of what `feed` and `close` give.
    """

    media_type: str

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be said: the end or an error was written."""
        ...

    @property
    def repairs(self) -> tuple[Warning, ...]:
        """What was repaired or left out so far: the warnings of the chunks, and those made here."""
        ...

    def feed(self, chunk: MessageChunk) -> bytes:
        """Return what this chunk adds to the stream; b"" if it adds nothing yet."""
        ...

    def close(self, error: StreamError | None = None) -> bytes:
        """Return the rest: the end as the protocol has it, or the error.

        Args:
            error: why the stream broke off, where the chunks did not say so themselves.
        """
        ...

    def whole(self, message: AssistantMessage, *more: AssistantMessage) -> bytes:
        """Return the body of an answer that is not streamed; `more` are further choices, on a wire that has them.

        Ask `fault_of` first: an answer with a fault is refused, not written.
        """
        ...


class Refuse(Protocol):
    """Writes a refusal: what a client gets instead of an answer."""

    def __call__(self, status: int, kind: RefusalKind, message: str, *, argument: str | None = None) -> tuple[int, bytes]:
        """Return the HTTP status and the body.

        Args:
            status: the status.
            kind: why, in neutral words.
            message: what happened and what helps.
            argument: the member of the request that was wrong, if one was.
        """
        ...


def kind_of_error(error: StreamError) -> RefusalKind:
    """Say an error's kind, by its code or else its words."""
    for text in (error.code, error.message):
        if text:
            for kind, pattern in _KINDS.items():
                if pattern.search(text):
                    return kind
    return "server"


def fault_of(message: AssistantMessage) -> StreamError | None:
    """Return why a message cannot be passed on as an answer, or None.

    A call that was cut off by the bound of tokens or by a filter is no fault: the finish reason says what happened to it. Any other call
    that must not run is, since a client would run it or stop at it.
    """
    if message.finish_reason in ("error", None):
        return StreamError("provider_error", "the model's answer failed", retryable=True)
    if message.finish_reason in ("length", "content_filter"):
        return None
    for call in message.tool_calls:
        if not call.runnable and not is_cut(message, call.name):
            return broken_call(call.name)
    return None


def is_cut(message: AssistantMessage, name: str) -> bool:
    """Return whether a warning says that the arguments of a call of this name were cut off, whatever the finish word said."""
    return any(warning.code == "truncated_tool_arguments" and warning.detail == name for warning in message.warnings)


def broken_call(name: str) -> StreamError:
    """Return the error of a call that cannot be run and was not cut off."""
    what = f"the call of {name!r} has arguments that are no JSON object" if name else "a call without a name"
    return StreamError(
        "malformed_function_call", f"the model made a call that cannot be run: {what}", "malformed_function_call", retryable=True
    )
