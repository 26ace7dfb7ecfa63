"""What a question that failed says of the server, whatever it was about. Pure.

The rule of this file: a server that says no to a request lacks something; one that breaks, hangs or answers in no known form is wrong;
what has to do with the key or with load says nothing.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.errors import (
    APIError,
    AuthError,
    ConnectFailedError,
    ConnectionLostError,
    HeadraceError,
    OverloadedError,
    RateLimitError,
    StreamTimeoutError,
    StreamTruncatedError,
    UsageError,
)
from headrace.inspect.doctor.evidence import Evidence, Failed, FailureKind
from headrace.inspect.doctor.probe import Finding, JudgeOne, Level

_FIRST_SERVER_ERROR: Final = 500
_NOT_IMPLEMENTED: Final = 501
_KINDS: Final[tuple[tuple[type[HeadraceError], FailureKind], ...]] = (
    (UsageError, "unsendable"),
    (ConnectFailedError, "unreachable"),
    (StreamTimeoutError, "hung"),
    (ConnectionLostError, "broken_off"),
    (AuthError, "forbidden"),
    (RateLimitError, "busy"),
    (OverloadedError, "busy"),
    (StreamTruncatedError, "truncated"),
)
_WORDS: Final[dict[FailureKind, tuple[Level, str]]] = {
    "unsendable": ("unsupported", "There is no way to ask for this here"),
    "unreachable": ("wrong", "No connection could be made"),
    "hung": ("wrong", "The answer hung"),
    "broken_off": ("wrong", "The connection broke in the middle of the answer"),
    "forbidden": ("unclear", "The key was not accepted"),
    "busy": ("unclear", "The server was too busy to answer"),
    "refused": ("unsupported", "The server refuses such a request"),
    "server_error": ("wrong", "The server failed (an internal error)"),
    "error_inside": ("wrong", "The answer began well and ended in an error"),
    "truncated": ("wrong", "The answer ended before it said that it was whole"),
    "malformed": ("wrong", "The answer was no stream of this protocol"),
}


def failed_of(error: HeadraceError) -> Failed:
    """Return what an error of `Model` means for an examination."""
    kind: FailureKind | None = next((kind for kinds, kind in _KINDS if isinstance(error, kinds)), None)
    status = error.status if isinstance(error, APIError) else None
    if kind is None or (kind == "busy" and status is None and isinstance(error, APIError)):
        kind = _kind_of_status(status) if isinstance(error, APIError) else "malformed"
    return Failed(
        kind=kind,
        words=str(error),
        status=status,
        code=error.code if isinstance(error, APIError) else None,
        retry_after_s=error.retry_after_s if isinstance(error, APIError) else None,
        stage=error.stage if isinstance(error, StreamTimeoutError) else None,
    )


def _kind_of_status(status: int | None) -> FailureKind:
    if status is None:
        return "error_inside"
    return "server_error" if status >= _FIRST_SERVER_ERROR and status != _NOT_IMPLEMENTED else "refused"


def trouble(evidence: Evidence, *, refused: str = "", **switches: Any) -> Finding | None:
    """Return what a question that failed shows, or None if it was answered.

    Args:
        evidence: what the question gave.
        refused: the finding in a sentence where the server refuses the request.
        switches: what helps then.
    """
    failed = evidence.failed
    if evidence.is_runaway:
        return Finding(level="wrong", what="The answer goes on far beyond the tokens that were allowed", detail=_quoted(evidence))
    if failed is None:
        return None
    level, what = _WORDS[failed.kind]
    if failed.kind == "refused":
        return Finding(level=level, what=refused or what, detail=failed.words, switches=switches)
    if failed.kind == "hung":
        what = "Nothing came" if failed.stage == "first_chunk" else "The answer stopped in the middle, and the connection stayed open"
    return Finding(level=level, what=what, detail=failed.words)


def unless_trouble(judge: JudgeOne, *, refused: str = "", **switches: Any) -> JudgeOne:
    """Return a judge that is asked about whole answers alone; arguments as for `trouble`."""
    return lambda evidence: trouble(evidence, refused=refused, **switches) or judge(evidence)


def _quoted(evidence: Evidence) -> str:
    text = evidence.text or evidence.message.reasoning or ""
    return f"{len(text):,} characters had come"
