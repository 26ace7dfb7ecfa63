"""What events say of errors."""

from __future__ import annotations

import pytest

from headrace.agent.failure import error_of, is_retryable, kind_of
from headrace.errors import (
    APIError,
    AuthError,
    ConnectionLostError,
    HeadraceError,
    InvalidEventError,
    RateLimitError,
    StreamTimeoutError,
    StreamTruncatedError,
    TransportError,
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


@pytest.mark.parametrize("error", [AuthError("no key"), ConnectionLostError("gone"), UsageError("wrong"), HeadraceError("odd")])
def test_an_error_is_known_again_by_what_its_event_says(error):
    again = error_of(kind_of(error), str(error))
    assert (type(again), str(again)) == (type(error), str(error))


def test_one_whose_facts_are_not_told_is_of_the_nearest_class():
    error = StreamTimeoutError("too slow", stage="idle", timeout_s=1)
    assert type(error_of(kind_of(error), str(error))) is TransportError
    assert type(error_of("nobody_knows", "what")) is HeadraceError
