"""When a request is tried again, and after how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError, ConnectFailedError, ConnectionLostError, StreamTimeoutError
from headrace.io.retry import Failure, RetryPolicy, is_retryable, retry_after_s

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
POLICY = RetryPolicy()


def delay(attempt=1, *, policy=POLICY, random=0.5, **failure):
    return policy.next_delay_s(attempt, Failure(**failure), random=random, now=NOW)


@pytest.mark.parametrize(
    ("status", "again"),
    [(status, False) for status in (None, 200, 301, 400, 401, 403, 404, 413, 422, 499, 600)]
    + [(status, True) for status in (408, 409, 429, 500, 502, 503, 529, 599)],
)
def test_the_status_says_whether_a_try_again_may_help(status, again):
    assert is_retryable(Failure(status=status)) is again


@pytest.mark.parametrize(("kind", "again"), [("connection", True), ("timeout", False), ("status", False)])
def test_a_failure_without_a_status_is_judged_by_its_kind(kind, again):
    assert is_retryable(Failure(kind=kind)) is again


@pytest.mark.parametrize(
    ("status", "word", "again"),
    [(400, "true", True), (400, " TRUE ", True), (500, "false", False), (429, "False", False), (500, "maybe", True), (400, "", False)],
)
def test_the_servers_own_word_wins_over_the_status(status, word, again):
    assert is_retryable(Failure(status=status, headers={"x-should-retry": word})) is again


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": " 7 "}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-3"}, -3),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Mon, 30 Nov 2026 11:59:30 GMT"}, -30),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 +0000"}, 30),
        ({"retry-after": "Monday, 30-Nov-26 12:00:30 GMT"}, 30),
        ({"retry-after": "Monday, 30-Nov-99 12:00:30 GMT"}, (datetime(1999, 11, 30, 12, 0, 30, tzinfo=UTC) - NOW).total_seconds()),
        ({"retry-after": "Mon Nov 30 12:00:30 2026"}, 30),
        ({"retry-after": "Tue Dec  1 12:00:00 2026"}, 86400),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:60 GMT"}, 59),
        ({"retry-after": "Mon, 31 Nov 2026 12:00:30 GMT"}, None),
        ({"retry-after": "Mon, 30 Nix 2026 12:00:30 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 25:00:30 GMT"}, None),
    ],
)
def test_what_the_server_asks_for_is_read_in_all_its_forms(headers, seconds):
    assert retry_after_s(headers, now=NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "60"}, 60),
        ({"retry-after": "60.1"}, 0.25),  # more than we accept: our own delay
        ({"retry-after": "0"}, 0.25),
        ({"retry-after": "-1"}, 0.25),
        ({"retry-after-ms": "90000"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:30 GMT"}, 0.25),
    ],
)
def test_the_server_is_obeyed_up_to_a_bound(headers, expected):
    assert delay(status=429, headers=headers) == expected


@pytest.mark.parametrize(
    ("attempt", "random", "expected"),
    [(1, 1.0, 0.5), (2, 1.0, 1.0), (3, 1.0, 2.0), (5, 1.0, 8.0), (6, 1.0, 8.0), (4, 0.25, 1.0), (9, 0.0, 0.0)],
)
def test_own_delays_double_up_to_the_cap_and_take_full_jitter(attempt, random, expected):
    assert delay(attempt, policy=RetryPolicy(max_retries=10), random=random, status=500) == expected


@pytest.mark.parametrize(("max_retries", "delays"), [(2, [True, True, False]), (0, [False]), (-1, [False])])
def test_the_number_of_retries_is_bounded_and_negative_means_none(max_retries, delays):
    policy = RetryPolicy(max_retries=max_retries)
    assert [delay(attempt, policy=policy, status=503) is not None for attempt in range(1, len(delays) + 1)] == delays


def test_the_servers_wish_for_a_retry_does_not_lift_the_bound():
    assert delay(3, status=500, headers={"x-should-retry": "true", "retry-after": "1"}) is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectFailedError("no"), "connection"),
        (ConnectionLostError("no"), "connection"),
        (StreamTimeoutError("no", stage="connect", timeout_s=1), "connection"),
        (StreamTimeoutError("no", stage="first_chunk", timeout_s=1), "timeout"),
        (StreamTimeoutError("no", stage="total", timeout_s=1), "timeout"),
    ],
)
def test_a_transport_error_has_its_kind(error, kind):
    assert Failure.of(error).kind == kind


@pytest.mark.parametrize("setting", ["base_s", "cap_s", "max_retry_after_s"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_policy_refuses_times_that_make_no_sense(setting, value):
    with pytest.raises(ConfigError, match=setting):
        RetryPolicy(**{setting: value})


@given(
    attempt=st.integers(1, 10**9),
    random=st.floats(0, 1, exclude_max=True),
    header=st.one_of(st.text(max_size=40), st.floats().map(str), st.integers().map(str)),
    now=st.datetimes(timezones=st.just(UTC)),
)
def test_every_delay_is_a_number_within_the_bounds(attempt, random, header, now):
    policy = RetryPolicy(max_retries=10**9)
    result = policy.next_delay_s(attempt, Failure(status=429, headers={"retry-after": header}), random=random, now=now)
    assert 0 <= result <= 60


@given(ahead=st.integers(1, 60))
def test_a_date_within_the_bound_is_obeyed_to_the_second(ahead):
    date = (NOW + timedelta(seconds=ahead)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert delay(status=503, headers={"retry-after": date}) == ahead
