"""The table of refusals: which class, what is kept, and that no secret leaves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headrace.errors import (
    APIError,
    AuthError,
    ConnectFailedError,
    ContextLengthError,
    InvalidEventError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    StreamTimeoutError,
    StreamTruncatedError,
)
from headrace.io.retry import Failure
from headrace.messages.deltas import StreamError
from headrace.models.failures import Where, class_of, failure_of, mid_stream_failure_of, refusal, request_id_of, stream_failure

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
KEY = "sk-abcdefghijklmnop1234"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequestError),
        (401, AuthError),
        (402, APIError),
        (403, AuthError),
        (404, InvalidRequestError),
        (408, APIError),
        (409, APIError),
        (413, InvalidRequestError),
        (422, InvalidRequestError),
        (429, RateLimitError),
        (500, APIError),
        (502, APIError),
        (503, OverloadedError),
        (529, OverloadedError),
        (302, APIError),
    ],
)
def test_a_status_has_one_class(status, kind):
    assert class_of(status, None, "") is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", RateLimitError),
        ("rate_limit_error", RateLimitError),
        ("RateLimitError", RateLimitError),
        ("ThrottlingException", RateLimitError),
        ("RESOURCE_EXHAUSTED", RateLimitError),
        ("insufficient_quota", RateLimitError),
        ("Throttling.RateQuota", RateLimitError),
        ("429", RateLimitError),
        ("overloaded_error", OverloadedError),
        ("UNAVAILABLE", OverloadedError),
        ("serviceUnavailableException", OverloadedError),
        ("503", OverloadedError),
        ("529", OverloadedError),
        ("authentication_error", AuthError),
        ("invalid_api_key", AuthError),
        ("PERMISSION_DENIED", AuthError),
        ("401", AuthError),
        ("invalid_request_error", InvalidRequestError),
        ("BadRequestError", InvalidRequestError),
        ("validationException", InvalidRequestError),
        ("NOT_FOUND", InvalidRequestError),
        ("400", InvalidRequestError),
        ("context_length_exceeded", ContextLengthError),
        ("exceed_context_size_error", ContextLengthError),
        ("ContextWindowExceededError", ContextLengthError),
        ("tool_use_failed", APIError),
        ("server_error", APIError),
        ("error", APIError),
        ("", APIError),
        (None, APIError),
        ("4290", APIError),
    ],
)
def test_a_code_inside_a_stream_has_the_class_of_its_http_form(code, kind):
    assert class_of(None, code, "") is kind


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size, try increasing it",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "Requested token count exceeds the model's maximum context length of 4096",
        "The context window has been exceeded",
    ],
)
@pytest.mark.parametrize("status", [None, 400, 413, 500])
def test_a_context_that_is_too_long_is_recognised_by_its_words(status, message):
    assert class_of(status, None, message) is ContextLengthError


@pytest.mark.parametrize(
    "message", ["max_tokens is too large", "the name is too long", "Request too large for the tier: 9000 tokens a minute", ""]
)
def test_other_words_are_not_about_the_context(message):
    assert class_of(400, None, message) is InvalidRequestError


@pytest.mark.parametrize(("status", "kind"), [(401, AuthError), (429, RateLimitError)])
def test_a_refused_key_is_never_about_the_context(status, kind):
    assert class_of(status, "context_length_exceeded", "prompt is too long") is kind


def test_the_status_wins_over_the_word_and_the_word_over_a_5xx_without_meaning():
    assert class_of(401, "invalid_request_error", "") is AuthError
    assert class_of(500, "overloaded_error", "") is OverloadedError


def test_a_refusal_keeps_its_facts():
    where = Where("lab:m", 429, {"retry-after": "7", "x-request-id": "req-1"})
    error = refusal(where, code="rate_limit_exceeded", message="slow down", body='{"error": "slow down"}', now=NOW)
    assert type(error) is RateLimitError
    facts = (error.status, error.code, error.request_id, error.retry_after_s, error.body, error.retryable, error.partial)
    assert facts == (429, "rate_limit_exceeded", "req-1", 7.0, '{"error": "slow down"}', True, None)
    assert str(error) == "lab:m: status 429 (rate_limit_exceeded): slow down; it asks to wait 7 s"


def test_a_refusal_says_what_helps():
    assert "check the key" in str(refusal(Where("m", 401, {}), code=None, message="no", body="", now=NOW))


def test_a_date_in_retry_after_is_counted_from_now():
    where = Where("m", 503, {"retry-after": "Mon, 04 May 2026 12:00:30 GMT"})
    assert refusal(where, code=None, message="", body="", now=NOW).retry_after_s == 30


def test_the_server_may_say_that_a_retry_is_in_vain():
    assert not refusal(Where("m", 500, {"x-should-retry": "false"}), code=None, message="", body="", now=NOW).retryable


def test_no_secret_stands_in_a_refusal():
    where = Where("m", 401, {"x-request-id": f"r-{KEY}"}, (KEY,))
    error = refusal(where, code=f"code-{KEY}", message=f"the key {KEY} is wrong", body=f'{{"key": "{KEY}"}}', now=NOW)
    for shown in (str(error), repr(error), error.body, error.code, error.request_id, repr(vars(error)), repr(where)):
        assert KEY not in shown
    assert "abcdefghij" not in repr(vars(error))


def test_a_long_body_is_cut_after_it_was_redacted():
    body = "x" * 4090 + KEY + "y" * 5000
    error = refusal(Where("m", 500, {}, (KEY,)), code=None, message="", body=body, now=NOW)
    assert len(error.body) <= 4096
    assert "sk-" not in error.body
    assert len(str(error)) < 1000


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"x-request-id": "a"}, "a"),
        ({"request-id": "b"}, "b"),
        ({"cf-ray": "c", "x-request-id": "a"}, "a"),
        ({"x-request-id": ""}, None),
        ({}, None),
    ],
)
def test_the_request_id_is_found_under_its_names(headers, found):
    assert request_id_of(headers) == found


def test_an_error_inside_a_stream_carries_the_partial_message():
    partial = object()
    said = StreamError("provider_error", "too busy", "overloaded_error", retryable=True)
    error = stream_failure(said, Where("m", 200, {"request-id": "r"}), partial=partial)
    assert type(error) is OverloadedError
    assert (error.status, error.code, error.request_id, error.retryable, error.partial) == (None, "overloaded_error", "r", True, partial)


@pytest.mark.parametrize("kind", ["invalid_event", "not_event_stream", "limit_exceeded", "malformed_function_call"])
def test_a_broken_format_says_its_kind(kind):
    error = stream_failure(StreamError(kind, "what was seen", which="parts"), Where("m", 200, {}), partial="so far")
    assert type(error) is InvalidEventError
    assert (error.kind, error.partial) == (kind, "so far")
    assert "what was seen" in str(error)


def test_a_truncated_stream_has_a_class_of_its_own():
    error = stream_failure(StreamError("stream_truncated"), Where("m", 200, {}), partial="so far")
    assert type(error) is StreamTruncatedError
    assert (error.kind, error.partial) == ("stream_truncated", "so far")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ConnectFailedError("x"), Failure(kind="connection")),
        (StreamTimeoutError("x", stage="first_chunk", timeout_s=1), Failure(kind="timeout")),
        (APIError("x", status=500), Failure(status=500, headers={"a": "b"})),
        (OverloadedError("x", retryable=True), Failure(status=503)),
        (RateLimitError("x", retryable=True), Failure(status=429)),
        (APIError("x", retryable=True), Failure(status=500)),
        (APIError("x"), None),
        (StreamTruncatedError("x"), Failure(kind="connection")),
        (InvalidEventError("x"), None),
    ],
)
def test_each_error_is_one_failure_for_the_retry_policy(error, failure):
    assert failure_of(error, {"a": "b"}) == failure


def test_a_stall_after_chunks_counts_as_a_broken_connection_and_the_total_limit_does_not():
    assert mid_stream_failure_of(StreamTimeoutError("x", stage="idle", timeout_s=1), {}) == Failure(kind="connection")
    assert mid_stream_failure_of(StreamTimeoutError("x", stage="total", timeout_s=1), {}) == Failure(kind="timeout")
