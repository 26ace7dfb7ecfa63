"""Which errors lead from one model to the next: a word for each kind.

The rule of this file: data. What is done with it stands in `fallback_stream.py`.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from headrace.errors import (
    APIError,
    AuthError,
    ContextLengthError,
    HeadraceError,
    InvalidRequestError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    TransportError,
)

FallsOver: TypeAlias = Literal["transport", "overloaded", "rate_limit", "retryable", "broken", "auth", "context_length", "request", "other"]

DEFAULT_FALLS_OVER: Final[tuple[FallsOver, ...]] = ("transport", "overloaded", "rate_limit", "retryable", "broken")
"""What another server may do better. A request that is wrong is wrong everywhere, and a wrong key should be noticed."""

_WORDS: Final[tuple[tuple[FallsOver, type[HeadraceError]], ...]] = (
    ("transport", TransportError),
    ("overloaded", OverloadedError),
    ("rate_limit", RateLimitError),
    ("auth", AuthError),
    ("context_length", ContextLengthError),
    ("request", InvalidRequestError),
    ("broken", ProtocolError),
)


def word_of(error: HeadraceError) -> FallsOver | None:
    """Return the word that an error falls over by, or None for one that never does."""
    for word, kind in _WORDS:
        if isinstance(error, kind):
            return word
    if isinstance(error, APIError):
        return "retryable" if error.retryable else "other"
    return None
