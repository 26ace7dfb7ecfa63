"""Rate limits as a machine: what headers say, what the caller allows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.models.pace import Pace, RateLimits, exhausted_s, reset_s, wait_in_body_s
from headrace.providers.rate_limits import RATE_HEADERS

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
AT = NOW.timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("0", 0),
        ("6m0s", 360),
        ("1s", 1),
        ("17ms", 0.017),
        ("2m59.56s", 179.56),
        ("1d2h", 93600),
        ("1h0m0s", 3600),
        ("1m30s500ms", 90.5),
        (f"{AT + 12:.0f}", 12),
        (f"{(AT + 12) * 1000:.0f}", 12),
        ("2026-05-04T12:00:30Z", 30),
        ("2026-05-04T14:00:30+02:00", 30),
        ("2026-05-04T11:59:30Z", -30),
        (" 7 ", 7),
        ("", None),
        ("soon", None),
        ("-7", None),
        ("7 apples", None),
        ("1e400", None),
        ("\u0667", None),
        ("9" * 70, None),
        ("2026-99-04T12:00:30Z", None),
    ],
)
def test_a_reset_is_seconds_a_duration_or_a_moment(text, seconds):
    assert reset_s(text, now=NOW) == (None if seconds is None else pytest.approx(seconds))


@given(st.text(max_size=70))
def test_any_text_is_read_without_an_error(text):
    reset_s(text, now=NOW)


@pytest.mark.parametrize(("remaining", "reset"), RATE_HEADERS)
def test_each_providers_header_of_a_spent_limit_is_understood(remaining, reset):
    assert exhausted_s({remaining: "0", reset: "9"}, now=NOW) == [9]
    assert exhausted_s({remaining: "1", reset: "9"}, now=NOW) == []
    assert exhausted_s({remaining: "0"}, now=NOW) == []


def heard(status, headers, **limits):
    pace = Pace(RateLimits(**limits))
    pace.hear(status, headers, now_s=100.0, now=NOW)
    return pace.wait_s(100.0)


@pytest.mark.parametrize(
    ("status", "headers", "wait_s"),
    [
        (429, {"retry-after": "7"}, 7),
        (429, {"retry-after-ms": "250"}, 0.25),
        (429, {"retry-after": "Mon, 04 May 2026 12:00:30 GMT"}, 30),
        (503, {"retry-after": "7"}, 7),
        (500, {"retry-after": "7"}, 0),
        (200, {"retry-after": "7"}, 0),
        (200, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6s"}, 6),
        (200, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6s", "x-ratelimit-remaining-tokens": "5"}, 6),
        (
            200,
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "6s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "9s",
            },
            9,
        ),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{(AT + 5) * 1000:.0f}"}, 5),
        # What the server concludes from its windows wins over what can be concluded from them.
        (429, {"retry-after": "2", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "50s"}, 2),
        (429, {}, 0),
        (429, {"retry-after": "0"}, 0),
        (429, {"retry-after": "-5"}, 0),
        (429, {"retry-after": "61"}, 0),
        (200, {"x-ratelimit-remaining-requests-day": "0", "x-ratelimit-reset-requests-day": "33011"}, 0),
    ],
)
def test_what_a_server_says_of_its_limits_is_the_wait_before_the_next_request(status, headers, wait_s):
    assert heard(status, headers) == pytest.approx(wait_s)


def test_a_server_is_not_obeyed_beyond_the_bound_or_if_the_caller_does_not_want_it():
    assert heard(429, {"retry-after": "61"}, max_wait_s=100) == 61
    assert heard(429, {"retry-after": "7"}, max_wait_s=5) == 0
    assert heard(429, {"retry-after": "7"}, obeys_server=False) == 0


def test_a_later_answer_shortens_no_wait():
    pace = Pace(RateLimits())
    pace.hear(429, {"retry-after": "30"}, now_s=0, now=NOW)
    pace.hear(429, {"retry-after": "5"}, now_s=1, now=NOW)
    assert (pace.wait_s(1), pace.wait_s(30), pace.wait_s(31)) == (29, 0, 0)


@given(st.integers(1, 5), st.lists(st.floats(0, 40), max_size=40))
def test_no_minute_holds_more_requests_than_the_caller_allows(allowed, gaps_s):
    pace, now_s, begun = Pace(RateLimits(requests_per_minute=allowed)), 0.0, []
    for gap_s in gaps_s:
        now_s += gap_s
        now_s += pace.wait_s(now_s)
        assert pace.wait_s(now_s) == pytest.approx(0, abs=1e-6)
        pace.begin(now_s)
        begun.append(now_s)
    for first, after in zip(begun, begun[allowed:], strict=False):
        assert after - first >= 60 - 1e-6


def test_without_a_limit_nothing_is_counted():
    pace = Pace(RateLimits())
    for _ in range(1000):
        pace.begin(0)
    assert pace.wait_s(0) == 0


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"max_concurrent": 0}, "rate_limits.max_concurrent"),
        ({"requests_per_minute": -1}, "rate_limits.requests_per_minute"),
        ({"max_wait_s": float("inf")}, "rate_limits.max_wait_s"),
        ({"max_concurent": 1}, "rate_limits.max_concurent"),
        ({"max_concurrent": "1"}, "rate_limits"),
    ],
)
def test_limits_that_do_not_fit_are_refused_by_name(fields, argument):
    with pytest.raises(ConfigError) as caught:
        RateLimits.of(fields)
    assert caught.value.argument == argument


def test_limits_are_a_value_or_the_fields_that_differ():
    assert RateLimits.of({"max_concurrent": 3}) == RateLimits(max_concurrent=3)
    assert RateLimits.of(None) == RateLimits()
    assert RateLimits.of(kept := RateLimits(max_wait_s=1)) is kept


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ('{"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}]}}', 17),
        ('{"retryDelay":"0.847655010s"}', 0.847655010),
        ("Rate limit reached for the model on requests per minute. Please try again in 7.66s. Visit", 7.66),
        ("Please try again in 1m2.5s.", 62.5),
        ("Please try again in 20ms.", 0.02),
        ("please try again in a moment", None),
        ("try again in 1.2.3s", None),
        ('{"retryDelay": "soon"}', None),
        ("", None),
    ],
)
def test_a_wait_that_stands_in_a_body_is_found(body, seconds):
    assert wait_in_body_s(body, now=NOW) == (None if seconds is None else pytest.approx(seconds))
