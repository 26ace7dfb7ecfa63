"""Many runs: workers die, all wait, the database goes away, clocks jump. The short forms; `make soak` runs the long ones."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from headrace.durable import DurableRuns, Pace
from headrace.sessions.sqlite import SQLiteStore
from lasting import Effects
from lasting_load import outage, spread, waiting
from lasting_places import count, database_in


@pytest.fixture(scope="module")
def roomy_postgres(postgres_server):
    """A server for many processes, each with connections of its own."""
    from postgres_server import PostgresServer

    server = PostgresServer("max_connections=200")
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    return str(tmp_path / "runs.db") if request.param == "sqlite" else database_in(request.getfixturevalue("roomy_postgres"))


async def test_three_workers_do_many_runs_while_they_are_killed(place, tmp_path):
    async with asyncio.timeout(count(200, 3000)):
        await spread(place, tmp_path, runs=count(12, 500), kill_every_s=count(2.0, 4.0))


@pytest.mark.parametrize("kind", ["runs", "durable"])
async def test_runs_that_wait_cost_little_and_outlive_their_worker(kind, place, tmp_path):
    async with asyncio.timeout(count(200, 3000)):
        await waiting(kind, place, tmp_path, runs=count(20, 1000))


@pytest.mark.parametrize("kind", ["runs", "durable"])
async def test_a_database_that_is_away_for_a_while_loses_nothing(kind, tmp_path, roomy_postgres):
    async with asyncio.timeout(count(200, 2000)):
        await outage(kind, roomy_postgres, database_in(roomy_postgres), tmp_path, seconds=count(3, 30))


async def test_clocks_that_jump_change_nothing(tmp_path):
    offset = timedelta()
    async with SQLiteStore(tmp_path / "runs.db", now=lambda: datetime.now(UTC) + offset) as store:
        pace = Pace(beat_s=0.1, poll_s=0.02, dead_after_s=0.5)
        async with DurableRuns(Effects().agent(), store, pace=pace) as runs, DurableRuns(Effects().agent(), store, works=False, pace=pace):
            for n, jump in enumerate((timedelta(days=1), timedelta(days=-30), timedelta(days=400))):
                await runs.start("Do it.", run_id=f"r{n}", session_id="s")
                offset = jump
                while (await runs.wait(f"r{n}")).status == "waiting":
                    offset = -jump
                    await asyncio.sleep(0.3)
                    assert await runs.sweep() == 0
                    for pending in (await runs.result(f"r{n}")).pending:
                        await runs.resume(f"r{n}", pending.approve())
                assert (await store.run(f"r{n}")).generate_reason == "completed"
