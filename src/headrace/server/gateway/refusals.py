"""What a client is told when there is no answer: the status, a neutral word, and what happened.

The rule of this file: whose fault it is decides the status. What the client asked wrongly is a 4xx as the upstream said it; an upstream
that is unwell is a 5xx of the gateway. No key, address or body of an upstream stands here: of its refusals the words alone pass, secrets
removed; of all else the upstream's name.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from headrace._json import dumps
from headrace.errors import (
    APIError,
    AuthError,
    ConfigError,
    ConnectFailedError,
    HeadraceError,
    InvalidRequestError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTimeoutError,
    TransportError,
    UsageError,
)
from headrace.messages.deltas import ErrorKind, StreamError
from headrace.server.asgi import Headers
from headrace.wire.protocols import Wire
from headrace.wire.server_side import RefusalKind

_OF_STATUS: Final[dict[int, RefusalKind]] = {404: "not_found", 413: "too_large", 401: "authentication", 403: "permission"}


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer.

    Attributes:
        status: the HTTP status.
        kind: why, in a neutral word.
        message: what happened and what helps.
        argument: the member of the request that was wrong.
        retry_after_s: how long to wait, where somebody said so.
        allow: the methods that would do, for a 405.
    """

    status: int
    kind: RefusalKind
    message: str
    argument: str | None = None
    retry_after_s: float | None = None
    allow: str = ""

    @property
    def headers(self) -> Headers:
        """The headers that say more than the body."""
        wait = () if self.retry_after_s is None else (("retry-after", str(max(0, math.ceil(self.retry_after_s)))),)
        challenge = (("www-authenticate", "Bearer"),) if self.status == 401 else ()
        allow = (("allow", self.allow),) if self.allow else ()
        return (*wait, *challenge, *allow)


def body_of(refusal: Refusal, wire: Wire | None) -> tuple[int, bytes]:
    """Return the status and body, as the protocol writes them; plainly where the protocol is unknown or not served."""
    if wire is not None and wire.serves:
        return wire.refuse()(refusal.status, refusal.kind, refusal.message, argument=refusal.argument)
    error = {"type": refusal.kind, "message": refusal.message, "param": refusal.argument, "code": refusal.status}
    return refusal.status, dumps({"error": error})


def refusal_of(error: HeadraceError, upstream: str) -> Refusal:
    """Return what a client is told of an error that came before the answer.

    Args:
        error: what was raised.
        upstream: the name of who was asked last.
    """
    match error:
        case ConfigError():
            return Refusal(status=500, kind="server", message=f"the gateway's settings for the upstream {upstream} do not do")
        case UsageError():
            return Refusal(status=400, kind="invalid_request", message=str(error), argument=error.argument)
        case RateLimitError():
            return Refusal(status=429, kind="rate_limit", message=_said(error, upstream), retry_after_s=error.retry_after_s)
        case OverloadedError():
            return Refusal(status=503, kind="overloaded", message=_said(error, upstream), retry_after_s=error.retry_after_s)
        case InvalidRequestError():
            status = error.status if error.status is not None and 400 <= error.status < 500 else 400
            return Refusal(status=status, kind=_OF_STATUS.get(status, "invalid_request"), message=_said(error, upstream))
        case StreamTimeoutError():
            return Refusal(status=504, kind="timeout", message=_said(error, upstream))
        case _:
            wait_s = error.retry_after_s if isinstance(error, APIError) else None
            return Refusal(status=502, kind="server", message=_said(error, upstream), retry_after_s=wait_s)


def stream_error_of(error: HeadraceError, upstream: str) -> StreamError:
    """Return what a client is told of an error in the midst of the answer; arguments as `refusal_of`."""
    refusal = refusal_of(error, upstream)
    kind: ErrorKind = "provider_error"
    if isinstance(error, ProtocolError):
        kind = "stream_truncated" if error.kind == "stream_truncated" else "invalid_event"
    return StreamError(kind, refusal.message, refusal.kind, retryable=refusal.status >= 429)


def strict_error(code: str, upstream: str) -> StreamError:
    """Return what a client is told where a repair was needed and none is wanted."""
    said = f"the upstream {upstream} broke its protocol ({code}), and this gateway is strict: nothing is repaired"
    return StreamError("invalid_event", said, "server", retryable=True)


def _said(error: HeadraceError, upstream: str) -> str:
    match error:
        case AuthError():
            return f"the upstream {upstream} does not take the gateway's key"
        case APIError():
            _, _, words = str(error).partition(": ")  # before it stands what the upstream is called inside
            return f"the upstream {upstream}: {words}"
        case ConnectFailedError():
            return f"the upstream {upstream} cannot be reached"
        case StreamTimeoutError():
            return f"the upstream {upstream} took too long (stage: {error.stage}, {error.timeout_s:g} s)"
        case TransportError():
            return f"the connection to the upstream {upstream} broke"
        case ProtocolError():
            return f"the answer of the upstream {upstream} broke its own protocol ({error.kind})"
        case _:
            return f"the upstream {upstream} failed"
