"""What it costs that a run lasts: a round kept in a store, and one that DBOS records as well, beside a round that is not kept.

    python bench/durable.py [--rounds 40] [--repeats 5] [--folder FOLDER] [--postgres URL]

A round is one answer of a scripted model, which takes no time, and one call of a tool, which does nothing. Each way does a run of so many
rounds, in turn, medians of wall-clock and processor time for each round. Beside them stands a bare commit of one row on the same disk, by the
standard library's sqlite3 (or psycopg): what is kept before a tool may start cannot cost less than one of these.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import sqlite3
import statistics
import tempfile
import time
import uuid
from pathlib import Path

import psycopg

from headrace import Agent, AssistantMessage, ScriptedModel, ToolCallPart, tool
from headrace.durable import DurableRuns, Pace
from headrace.sessions.memory import MemoryStore
from headrace.sessions.opening import open_store
from headrace.sessions.runs import Runs
from headrace.sessions.sqlite import SQLiteStore


@tool(idempotent=True)
async def nothing(n: int) -> str:
    """Do nothing."""
    return str(n)


def agent(rounds, runs):
    def script(request):
        n = sum(message.role == "assistant" for message in request.messages)
        return AssistantMessage([ToolCallPart(id=f"c{n}", name="nothing", arguments={"n": n})]) if n < rounds else "Done."

    return Agent(ScriptedModel(*[script] * (runs * (rounds + 1))), tools=[nothing], max_rounds=0)


class Timed:
    """Wall-clock and processor seconds of a block, the latter of all threads."""

    def __enter__(self):
        self._at = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.wall_s, self.cpu_s = time.perf_counter() - self._at[0], time.process_time() - self._at[1]


async def plain(rounds):
    with Timed() as timed:
        await agent(rounds, 1).run("Go.")
    return timed


async def kept(runs):
    run_id = uuid.uuid4().hex
    with Timed() as timed:
        await runs.start("Go.", run_id=run_id)
        record = await runs.wait(run_id)
    assert record.generate_reason == "completed", record
    return timed


def sqlite_commit(folder, synchronous, count=100):
    with contextlib.closing(sqlite3.connect(Path(folder) / f"floor-{synchronous}.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
        began = time.perf_counter()
        for _ in range(count):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t VALUES (1)")
            connection.execute("COMMIT")
        return (time.perf_counter() - began) / count


def postgres_commit(url, count=100):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS floor (x int)")
        began = time.perf_counter()
        for _ in range(count):
            connection.execute("INSERT INTO floor VALUES (1)")
        return (time.perf_counter() - began) / count


def ways(folder, postgres):
    """The stores, and the bare commit beside each."""
    yield "memory", MemoryStore, None
    for synchronous in ("full", "normal"):
        path = Path(folder) / f"{synchronous}.db"
        yield (
            f"sqlite {synchronous}",
            lambda path=path, synchronous=synchronous: SQLiteStore(path, synchronous=synchronous),
            lambda synchronous=synchronous: sqlite_commit(folder, synchronous),
        )
    if postgres:
        yield "postgres", lambda: open_store(postgres), lambda: postgres_commit(postgres)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder")
    parser.add_argument("--postgres")
    options = parser.parse_args()
    logging.getLogger("headrace").setLevel(logging.ERROR)
    rounds, pace = options.rounds, Pace(poll_s=0.02)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(
            f"{'store':14} {'commit ms':>9} | {'plain':>6} {'kept':>6} {'durable':>7} ms a round | over plain, in commits: kept, durable | processor ms"
        )
        for name, new_store, commit in ways(folder, options.postgres):
            database = Path(folder) / "memory-dbos.db" if name == "memory" else None
            times = {"plain": [], "kept": [], "durable": []}
            commits = []
            many = agent(rounds, 2 * options.repeats + 4)
            for repeat in range(options.repeats + 1):
                async with new_store() as store:
                    async with Runs(many, store) as runs:
                        times["kept"].append(await kept(runs))
                    async with DurableRuns(many, store, database=database, pace=pace) as runs:
                        await asyncio.sleep(1.2 if repeat == 0 else 0.1)  # a queue that is new is seen within a second
                        times["durable"].append(await kept(runs))
                times["plain"].append(await plain(rounds))
                if commit is not None:
                    commits.append(commit())
            wall, cpu = (
                {way: statistics.median(getattr(one, what) for one in taken[1:]) / rounds * 1000 for way, taken in times.items()}
                for what in ("wall_s", "cpu_s")
            )
            floor = statistics.median(commits) * 1000 if commits else 0.0
            over = [f"{(wall[way] - wall['plain']) / floor:.1f}" if floor else "-" for way in ("kept", "durable")]
            print(
                f"{name:14} {floor:9.3f} | {wall['plain']:6.2f} {wall['kept']:6.2f} {wall['durable']:7.2f}            | "
                f"{over[0]:>6} {over[1]:>6}, durable/kept {wall['durable'] / wall['kept']:.1f} | "
                f"{cpu['plain']:.2f} {cpu['kept']:.2f} {cpu['durable']:.2f}"
            )


if __name__ == "__main__":
    asyncio.run(main())
