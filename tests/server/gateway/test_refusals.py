"""What a client is told, by whose fault it is."""

from __future__ import annotations

import json

import pytest

from headrace.errors import (
    APIError,
    AuthError,
    ConfigError,
    ConnectFailedError,
    ConnectionLostError,
    ContextLengthError,
    InvalidEventError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    StreamTimeoutError,
    StreamTruncatedError,
    UnsupportedError,
)
from headrace.server.gateway.refusals import Refusal, body_of, refusal_of, stream_error_of
from headrace.wire.protocols import WIRES

SECRET = "inner-host:8000"


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (UnsupportedError("no n here", argument="n"), 400, "invalid_request"),
        (ConfigError("the key of inner-host:8000"), 500, "server"),
        (InvalidRequestError("up: wrong", status=422), 422, "invalid_request"),
        (InvalidRequestError("up: wrong"), 400, "invalid_request"),
        (InvalidRequestError("up: none", status=404), 404, "not_found"),
        (InvalidRequestError("up: large", status=413), 413, "too_large"),
        (ContextLengthError("up: too long", status=500), 400, "invalid_request"),
        (AuthError("up: key sk-1 of inner-host:8000", status=401), 502, "server"),
        (RateLimitError("up: slow", status=429, retry_after_s=1.2), 429, "rate_limit"),
        (OverloadedError("up: full", status=529), 503, "overloaded"),
        (APIError("up: oops", status=500), 502, "server"),
        (ConnectFailedError("POST http://inner-host:8000: refused"), 502, "server"),
        (ConnectionLostError("POST http://inner-host:8000: broke"), 502, "server"),
        (StreamTimeoutError("POST http://inner-host:8000: late", stage="idle", timeout_s=3), 504, "timeout"),
        (StreamTruncatedError("inner-host:8000: cut"), 502, "server"),
        (InvalidEventError("inner-host:8000: begins with 'private'"), 502, "server"),
    ],
)
def test_each_error_has_its_status_and_tells_nothing_of_the_inside(error, status, kind):
    refusal = refusal_of(error, "up")
    assert (refusal.status, refusal.kind) == (status, kind)
    assert SECRET not in refusal.message + stream_error_of(error, "up").message
    assert "private" not in refusal.message
    assert stream_error_of(error, "up").retryable == (status >= 429)


def test_a_wait_is_rounded_up_and_never_negative():
    waits = [Refusal(status=429, kind="rate_limit", message="", retry_after_s=wait_s).headers for wait_s in (1.2, 0.0, -3.0)]
    assert waits == [(("retry-after", text),) for text in ("2", "0", "0")]


@pytest.mark.parametrize("wire", [wire for wire in WIRES.values() if wire.serves], ids=lambda wire: wire.name)
def test_each_protocol_has_its_own_form(wire):
    status, body = body_of(Refusal(status=404, kind="not_found", message="none such", argument="model"), wire)
    assert (status, "none such" in json.loads(body)["error"]["message"]) == (404, True)


def test_where_no_protocol_is_known_the_form_is_plain():
    _, body = body_of(Refusal(status=404, kind="not_found", message="none such"), None)
    assert json.loads(body)["error"] == {"type": "not_found", "message": "none such", "param": None, "code": 404}
