"""What a client is told when something is refused or fails, and which of our errors it is told as.

The rule of this file: pure; one form for every error, and never a word of a fault of our own.

Source: the contract in docs/server.md: `{"error": {"kind", "message", "argument"?}}`.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

from headrace._json import dumps
from headrace.errors import ConflictError, HeadraceError, MissingExtraError, NotFoundError, StateError, StoreError, UsageError
from headrace.server.asgi import BodyTooLargeError, Headers

Kind: TypeAlias = Literal[
    "usage", "authentication", "forbidden", "not_found", "method", "timeout", "conflict", "state", "too_large", "media_type", "limit",
    "fault", "unavailable",
]  # fmt: skip
STATUS: Final[dict[Kind, int]] = {
    "usage": 400,
    "authentication": 401,
    "forbidden": 403,
    "not_found": 404,
    "method": 405,
    "timeout": 408,
    "conflict": 409,
    "state": 409,
    "too_large": 413,
    "media_type": 415,
    "limit": 429,
    "fault": 500,
    "unavailable": 503,
}
"""The status of each kind."""


class FaultError(HeadraceError):
    """A request that is not done.

    Attributes:
        kind: what is wrong, in a word.
        argument: the path of what is wrong in the request, or None.
        retry_after_s: when to come again, in seconds, or None.
        headers: what the answer has beside that.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        argument: str | None = None,
        retry_after_s: float | None = None,
        headers: Headers = (),
    ) -> None:
        """Say what is wrong."""
        super().__init__(message)
        self.kind: Kind = kind
        self.argument = argument
        self.retry_after_s = retry_after_s
        self._headers = headers

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.kind]

    @property
    def headers(self) -> Headers:
        """The headers that the answer has on account of it."""
        if self.retry_after_s is None:
            return self._headers
        return (*self._headers, ("retry-after", str(max(1, math.ceil(self.retry_after_s)))))

    def body(self) -> bytes:
        """Return the body of the answer."""
        form: dict[str, str] = {"kind": self.kind, "message": str(self)}
        if self.argument is not None:
            form["argument"] = self.argument
        return dumps({"error": form})


def fault_of(error: HeadraceError) -> FaultError | None:
    """Return what an error of ours is for the client, or None if it is a fault of our own."""
    match error:
        case FaultError():
            return error
        case BodyTooLargeError():
            return FaultError("too_large", str(error))
        case MissingExtraError():
            return None
        case StateError():
            return FaultError("state", _told(error), argument=error.argument)
        case UsageError():
            return FaultError("usage", _told(error), argument=error.argument)
        case ConflictError():
            return FaultError("conflict", _told(error))
        case NotFoundError():
            return FaultError("not_found", _told(error))
        case StoreError():  # its words may name files and servers
            return FaultError("unavailable", "the store cannot be reached, or what it keeps of this cannot be read", retry_after_s=2)
        case _:
            return None


def _told(error: HeadraceError) -> str:
    return str(error).encode("utf-8", "replace").decode()


def no_run(run_id: str) -> FaultError:
    """Return the fault for a run that is not there, or is another user's: nobody is told which."""
    return FaultError("not_found", f"there is no run {_short(run_id)}")


def no_session(session_id: str) -> FaultError:
    """Return the fault for a conversation that is not there, or is another user's."""
    return FaultError("not_found", f"there is no session {_short(session_id)}")


def _short(text: str) -> str:
    return repr(text[:200].encode("utf-8", "replace").decode())
