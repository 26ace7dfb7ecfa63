"""Every error that headrace raises, in one tree that says who has to act.

    HeadraceError
    ├── UsageError            the caller used the library wrongly
    │   ├── ConfigError       a setting, a key or a name is missing or unknown
    │   ├── MissingExtraError an optional dependency is not installed
    │   ├── StateError        a call at the wrong moment
    │   ├── UnsupportedError  asked for what this provider or version cannot do
    │   ├── NoStructuredOutputError       the message holds no structured output
    │   └── InvalidStructuredOutputError  it does not convert to the type asked for
    ├── TransportError        the network failed
    │   ├── ConnectFailedError
    │   ├── StreamTimeoutError (also a builtin TimeoutError)
    │   └── ConnectionLostError
    ├── APIError              the provider said no
    │   ├── AuthError
    │   ├── RateLimitError
    │   ├── OverloadedError
    │   ├── InvalidRequestError
    │   └── ContextLengthError
    ├── ProtocolError         the peer broke its own format
    │   ├── StreamTruncatedError
    │   └── InvalidEventError
    ├── ModelOutputError      well-formed, but of no use
    │   ├── ArgumentsError
    │   ├── UnknownToolError
    │   ├── RefusalError
    │   └── OutputValidationError
    ├── ToolError             for the authors of tools; its text goes to the model
    ├── LimitError            a budget of the caller's own ran out
    └── StoreError
        ├── ConflictError
        │   └── FencedError   somebody else has taken the run over
        ├── NotFoundError
        └── SchemaVersionError

Facts are attributes; the message says what happened, with which value, and what helps. Errors that carry
a message or a result type it as `object`, because this is the ground floor and knows no messages.
"""

from __future__ import annotations

from typing import Literal

TimeoutStage = Literal["connect", "first_chunk", "idle", "total"]


class HeadraceError(Exception):
    """The base of every error that headrace raises.

    Attributes:
        result: what a run had kept when it failed (a `RunResult`), or None outside a run.
    """

    result: object = None


class UsageError(HeadraceError):
    """The caller used the library wrongly; nothing was sent.

    Attributes:
        argument: the argument, field or path that was wrong, or None.
    """

    def __init__(self, message: str, *, argument: str | None = None) -> None:
        """Say what was wrong, and name the argument or path."""
        super().__init__(message)
        self.argument = argument


class UsageTypeError(UsageError, TypeError):
    """A `UsageError` about a type; also a `TypeError`, so that Python's own protocols understand it."""


class ConfigError(UsageError):
    """A setting, a key or a name is missing, unknown or contradicts another."""


class MissingExtraError(UsageError, ImportError):
    """An optional dependency is not installed.

    Attributes:
        extra: the extra to install, as in `pip install 'headrace[extra]'`.
    """

    def __init__(self, extra: str, *, feature: str, module: str) -> None:
        """Name the feature, the missing module and the extra that brings it."""
        super().__init__(f"{feature} needs {module}, which is not installed: pip install 'headrace[{extra}]'", argument=module)
        self.extra = extra


class StateError(UsageError):
    """A call came at the wrong moment, for example `feed` after `close`."""


class UnsupportedError(UsageError):
    """The provider, the protocol or this version cannot do what was asked."""


class NoStructuredOutputError(UsageError):
    """The message holds no structured output."""


class InvalidStructuredOutputError(UsageError, ValueError):
    """The structured output does not convert to the type that was asked for."""


class TransportError(HeadraceError):
    """The network failed. A try again may help.

    Attributes:
        partial: the message that had arrived, or None.
    """

    def __init__(self, message: str, *, partial: object = None) -> None:
        """Say what failed; `partial` is what had arrived by then."""
        super().__init__(message)
        self.partial = partial


class ConnectFailedError(TransportError):
    """No connection could be made (name, route, refusal, TLS)."""


class StreamTimeoutError(TransportError, TimeoutError):
    """The peer took too long.

    Attributes:
        stage: `connect`, `first_chunk`, `idle` or `total`.
        timeout_s: the limit that ran out, in seconds.
        chunks: how many chunks had arrived.
    """

    def __init__(self, message: str, *, stage: TimeoutStage, timeout_s: float, chunks: int = 0, partial: object = None) -> None:
        """Say which limit ran out and how far the stream had come."""
        super().__init__(message, partial=partial)
        self.stage: TimeoutStage = stage
        self.timeout_s = timeout_s
        self.chunks = chunks


class ConnectionLostError(TransportError):
    """The connection broke while the answer was on its way."""


class APIError(HeadraceError):
    """The provider said no, by HTTP status or inside a stream that had started well.

    Attributes:
        status: the HTTP status, or None for an error inside a stream.
        code: the provider's own code, as text, or None.
        request_id: the provider's name for the request, or None.
        retry_after_s: how long the provider asked to wait, in seconds, or None.
        body: the answer's body, secrets removed and cut to a bound.
        retryable: whether the same request may succeed later.
        partial: the message that had arrived, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
        body: str = "",
        retryable: bool = False,
        partial: object = None,
    ) -> None:
        """Keep the facts; `body` must be redacted already."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.body = body
        self.retryable = retryable
        self.partial = partial


class AuthError(APIError):
    """The key is missing, wrong or not allowed to do this (401, 403)."""


class RateLimitError(APIError):
    """Too many requests or tokens (429)."""


class OverloadedError(APIError):
    """The provider has no capacity now (503, 529 and their names inside a stream)."""


class InvalidRequestError(APIError):
    """The provider did not accept the request (400, 404, 413, 422)."""


class ContextLengthError(InvalidRequestError):
    """The messages are longer than the model's context."""


class ProtocolError(HeadraceError):
    """The peer broke its own format.

    Attributes:
        partial: the message that had arrived, or None.
        kind: the error kind of `StreamResult.error`, for example `invalid_event`.
    """

    kind = "invalid_event"

    def __init__(self, message: str, *, partial: object = None, kind: str | None = None) -> None:
        """Say what was broken; `partial` is what had arrived by then."""
        super().__init__(message)
        self.partial = partial
        if kind is not None:
            self.kind = kind


class StreamTruncatedError(ProtocolError):
    """The stream ended before it said that it was finished."""

    kind = "stream_truncated"


class InvalidEventError(ProtocolError):
    """An event was not what its format promises, or the body was no event stream, or passed a limit."""


class ModelOutputError(HeadraceError):
    """The model's answer was well-formed but is of no use.

    Attributes:
        partial: the message, or None.
    """

    def __init__(self, message: str, *, partial: object = None) -> None:
        """Say what was wrong with the answer."""
        super().__init__(message)
        self.partial = partial


class ArgumentsError(ModelOutputError):
    """A call's arguments are not JSON, not an object, or do not fit the tool."""


class UnknownToolError(ModelOutputError):
    """The model called a tool that was not offered."""


class RefusalError(ModelOutputError):
    """The model refused."""


class OutputValidationError(ModelOutputError):
    """The structured output did not validate, and the tries are used up."""


class ToolError(HeadraceError):
    """For the authors of tools: raise it, and its text goes to the model as an error result."""


class LimitError(HeadraceError):
    """A budget of the caller's own ran out.

    Attributes:
        which: `rounds`, `tool_calls`, `tokens`, `cost` or `time`.
    """

    def __init__(self, message: str, *, which: str) -> None:
        """Say which budget ran out, and at what value."""
        super().__init__(message)
        self.which = which


class StoreError(HeadraceError):
    """A store could not do its work."""


class ConflictError(StoreError):
    """Somebody else wrote first."""


class FencedError(ConflictError):
    """Somebody else has taken the run over: whoever gets this has lost it, and must do nothing more in its name."""


class NotFoundError(StoreError):
    """There is no such run, session or event."""


class SchemaVersionError(StoreError):
    """A stored document is newer than this version can read, or too old."""
