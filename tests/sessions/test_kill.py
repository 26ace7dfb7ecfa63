"""Workers with `Runs` are killed at random moments: their runs end as if nothing had been, and no tool does anything twice.

The short forms run here; `make soak` runs the long ones.
"""

from __future__ import annotations

import pytest

from lasting_fleet import killed_again_and_again, over_to_another
from lasting_places import count, place_of


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    return place_of(request, tmp_path)


async def test_workers_are_killed_again_and_again(place, tmp_path):
    await killed_again_and_again("runs", place, tmp_path, kills=count(4, 200), say=print)


async def test_a_worker_that_only_slept_leaves_no_trace_once_another_has_taken_over(place, tmp_path):
    for n in range(count(1, 10)):
        await over_to_another("runs", place, tmp_path, f"z{n}")
