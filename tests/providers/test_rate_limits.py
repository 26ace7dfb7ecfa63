"""The headers of rate limits, as data."""

from __future__ import annotations

from headrace.providers.rate_limits import RATE_HEADERS


def test_every_pair_is_in_lower_case_and_stands_once():
    names = [name for pair in RATE_HEADERS for name in pair]
    assert len(set(names)) == len(names)
    assert all(name == name.lower().strip() for name in names)
