"""The breaker as a machine: values in, values out, no clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.models.breaker import Breaker, BreakerPolicy

TWICE = BreakerPolicy(failures=2, cool_down_s=10)


def fail(breaker, now_s, times=1):
    for _ in range(times):
        breaker.report(breaker.ask(now_s), "failure", now_s, reason="no route")


def opened(now_s=0.0):
    breaker = Breaker(TWICE)
    fail(breaker, now_s, 2)
    return breaker


def test_it_opens_after_so_many_failures_in_a_row():
    breaker = Breaker(TWICE)
    fail(breaker, 0)
    assert breaker.state(0) == "closed"
    fail(breaker, 1)
    assert (breaker.state(1), breaker.ask(1), breaker.wait_s(1), breaker.reason) == ("open", None, 10, "no route")


def test_a_success_between_begins_the_count_anew():
    breaker = Breaker(TWICE)
    fail(breaker, 0)
    breaker.report(breaker.ask(0), "success", 0)
    fail(breaker, 0)
    assert breaker.state(0) == "closed"


def test_what_says_nothing_neither_counts_nor_begins_anew():
    breaker = Breaker(TWICE)
    fail(breaker, 0)
    breaker.report(breaker.ask(0), "neither", 0)
    fail(breaker, 0)
    assert breaker.state(0) == "open"


def test_after_the_cool_down_one_probe_at_a_time_is_let_through():
    breaker = opened()
    assert breaker.ask(9.9) is None
    assert breaker.state(10) == "half_open"
    probe = breaker.ask(10)
    assert probe is not None
    assert (breaker.ask(10), breaker.ask(1000), breaker.wait_s(1000)) == (None, None, None)


def test_a_probe_that_succeeds_closes_it():
    breaker = opened()
    breaker.report(breaker.ask(10), "success", 11)
    assert (breaker.state(11), breaker.wait_s(11)) == ("closed", 0)
    fail(breaker, 11)
    assert breaker.state(11) == "closed"


def test_a_probe_that_fails_opens_it_for_another_cool_down():
    breaker = opened()
    breaker.report(breaker.ask(10), "failure", 15, reason="still no route")
    assert (breaker.state(24), breaker.state(25)) == ("open", "half_open")


def test_a_probe_that_was_left_makes_room_for_another():
    breaker = opened()
    breaker.report(breaker.ask(10), "neither", 12)
    assert breaker.ask(12) is not None


@pytest.mark.parametrize("outcome", ["success", "failure", "neither"])
def test_what_began_before_a_change_changes_nothing_after_it(outcome):
    breaker = Breaker(TWICE)
    late = breaker.ask(0)
    fail(breaker, 0, 2)
    breaker.report(late, outcome, 5)
    assert breaker.wait_s(5) == 5
    probe = breaker.ask(10)
    breaker.report(late, outcome, 10)
    assert breaker.ask(10) is None
    breaker.report(probe, "success", 10)
    breaker.report(late, "failure", 10)
    assert breaker.state(10) == "closed"


@given(st.lists(st.tuples(st.sampled_from(["ask", "success", "failure", "neither", "wait"]), st.integers(0, 9)), max_size=60))
def test_whatever_happens_only_one_probe_is_out_and_no_breaker_stays_open_for_ever(steps):
    breaker = Breaker(BreakerPolicy(failures=3, cool_down_s=5))
    now_s, out = 0.0, []
    for what, number in steps:
        if what == "wait":
            now_s += number
        elif what == "ask":
            was = breaker.state(now_s)
            permit = breaker.ask(now_s)
            assert permit is None or was != "open"
            if permit is not None:
                out.append(permit)
        elif out:
            breaker.report(out.pop(number % len(out)), what, now_s)
        if breaker.state(now_s) != "closed":
            assert sum(permit.epoch == breaker._epoch for permit in out) <= 1
    for permit in out:
        breaker.report(permit, "neither", now_s)
    assert breaker.ask(now_s + 5) is not None


@pytest.mark.parametrize("fields", [{"failures": 0}, {"cool_down_s": 0}, {"cool_down_s": float("nan")}])
def test_a_policy_that_makes_no_breaker_is_refused(fields):
    with pytest.raises(ConfigError) as caught:
        BreakerPolicy(**fields)
    assert caught.value.argument == f"breaker.{next(iter(fields))}"


def test_it_shows_its_state():
    assert repr(opened()) == "Breaker(open, 2 of 2 failures in a row)"
