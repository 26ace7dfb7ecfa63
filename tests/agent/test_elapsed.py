"""How long a run has taken, by clocks that come in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headrace.agent.elapsed import Elapsed


class Clock:
    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.now

    def move(self, seconds):
        self.now += timedelta(seconds=seconds)


def test_it_counts_from_now_on_on_top_of_what_was_before():
    clock = Clock()
    elapsed = Elapsed(clock, 5.0)
    assert elapsed.s == 5.0
    clock.move(2)
    assert elapsed.s == 7.0


def test_a_clock_that_is_set_back_takes_nothing_away():
    clock = Clock()
    elapsed = Elapsed(clock, 5.0)
    clock.move(-100)
    assert elapsed.s == 5.0


def test_what_another_clock_says_counts_if_it_is_more():
    clock = Clock()
    elapsed = Elapsed(clock)
    clock.move(3)
    elapsed.reach(10)
    assert elapsed.s == 10
    elapsed.reach(4)
    assert elapsed.s == 10
    clock.move(1)
    assert elapsed.s == 11
