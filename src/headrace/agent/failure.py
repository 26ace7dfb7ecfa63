"""What events say of an error: its kind, and whether trying again may help."""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import APIError, HeadraceError, ProtocolError, TransportError

_WORD_START: Final = re.compile(r"(?<!^)(?=[A-Z][a-z])")


def kind_of(error: BaseException) -> str:
    """Return an error's kind: that of a broken protocol (`stream_truncated`), else its class in words (`rate_limit`)."""
    if isinstance(error, ProtocolError):
        return error.kind
    return _WORD_START.sub("_", type(error).__name__.removesuffix("Error")).lower() or "error"


def is_retryable(error: BaseException) -> bool:
    """Return whether the same run may succeed later."""
    if isinstance(error, APIError):
        return error.retryable
    return isinstance(error, TransportError) or (isinstance(error, ProtocolError) and error.kind == "stream_truncated")


def error_of(kind: str, message: str) -> HeadraceError:
    """Return an error again that an event tells of: of its class, or of the nearest one that needs no more than a message."""
    known: dict[str, type[HeadraceError]] = {}
    classes: list[type[HeadraceError]] = [HeadraceError]
    while classes:
        one = classes.pop()
        known[_WORD_START.sub("_", one.__name__.removesuffix("Error")).lower()] = one
        classes += one.__subclasses__()
    for candidate in known.get(kind, HeadraceError).__mro__:
        if issubclass(candidate, HeadraceError):
            try:
                return candidate(message)
            except TypeError:  # it has facts that an event does not tell
                continue
    return HeadraceError(message)
