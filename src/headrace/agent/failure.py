"""What events say of an error: its kind, and whether trying again may help."""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import APIError, ProtocolError, TransportError

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
