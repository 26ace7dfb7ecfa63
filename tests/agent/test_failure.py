"""What events say of errors."""

from __future__ import annotations

import pytest

from headrace.agent.failure import is_retryable, kind_of
from headrace.errors import (
    APIError,
    ConnectionLostError,
    InvalidEventError,
    RateLimitError,
    StreamTimeoutError,
    StreamTruncatedError,
    UsageError,
)


@pytest.mark.parametrize(
    ("error", "kind", "can_retry"),
    [
        (StreamTruncatedError("x"), "stream_truncated", True),
        (InvalidEventError("x", kind="limit_exceeded"), "limit_exceeded", False),
        (RateLimitError("x", retryable=True), "rate_limit", True),
        (APIError("x"), "api", False),
        (ConnectionLostError("x"), "connection_lost", True),
        (StreamTimeoutError("x", stage="idle", timeout_s=1), "stream_timeout", True),
        (UsageError("x"), "usage", False),
        (ValueError("x"), "value", False),
        (type("Error", (Exception,), {})("x"), "error", False),
    ],
)
def test_an_error_has_a_kind_and_says_whether_trying_again_may_help(error, kind, can_retry):
    assert (kind_of(error), is_retryable(error)) == (kind, can_retry)
