"""How fast runs are kept: events per second into a store, and how far behind a reader is, beside what one commit costs on the same disk.

    python bench/sessions.py [--folder FOLDER] [--seconds 3] [--postgres URL] [--no-sync-floor]

Three figures for each store, as a log writer uses it: each run appends a batch of coalesced events and waits for it before it appends the next.

- one run, and 100 runs at once: events per second, batches per second, and the same as multiples of what a bare loop of commits does;
- the reader's lag: from before a batch is appended until a reader that was waiting (`changed`, then `entries`) has it, p50 and p99, in the same
  process and from another one;
- the floor: a commit of one row by the standard library's sqlite3 alone, and a write with fsync, on the same disk.

The database is put into a folder on this disk (not into memory): name another one with --folder.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from headrace.sessions.memory import MemoryStore
from headrace.sessions.records import Batch, Entry, NewRun
from headrace.sessions.sqlite import SQLiteStore

EVENT = b'{"type":"text_delta","seq":%d,"run_id":"0123456789abcdef0123456789abcdef","round":1,"at":"2026-05-01T00:00:00Z","message_id":"msg_0123456789","part":0,"text":"%s"}'
TEXT = b"eight or so tokens come within thirty milliseconds "
BATCH = 8
"""Events in a batch: what several parts, tools and rounds leave within one pause of the writer."""


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def batch(run_id, after, size):
    entries = tuple(Entry(seq, EVENT % (seq, TEXT)) for seq in range(after + 1, after + 1 + size))
    return Batch(run_id=run_id, epoch=1, after=after, entries=entries)


async def begin(store, run_id):
    await store.create_run(NewRun(id=run_id))
    await store.claim(run_id, "bench", epoch=0)


async def throughput(store, runs, size, seconds):
    """Events and batches per second, and processor seconds per event."""
    ids = [f"{runs}-{size}-{n:032}" for n in range(runs)]
    for run_id in ids:
        await begin(store, run_id)
    until = time.perf_counter() + seconds
    counts = [0] * runs

    async def write(n):
        seq = 0
        while time.perf_counter() < until:
            await store.append(batch(ids[n], seq, size))
            seq += size
            counts[n] += 1

    began, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*(write(n) for n in range(runs)))
    took, worked = time.perf_counter() - began, time.process_time() - worked
    batches = sum(counts)
    return batches * size / took, batches / took, worked / (batches * size)


async def lag(writing, reading, seconds, load=0):
    """How long after the beginning of an append a reader has the events, in seconds."""
    run_id = f"lag-{load}-{id(reading)}"
    await begin(writing, run_id)
    sent, lags = {}, []
    until = time.perf_counter() + seconds
    others = [f"load-{load}-{id(reading)}-{n}" for n in range(load)]
    for other in others:
        await begin(writing, other)

    async def write(other, pause):
        seq = 0
        while time.perf_counter() < until:
            if other == run_id:
                sent[seq + 1] = time.perf_counter()
            await writing.append(batch(other, seq, 1))
            seq += 1
            await asyncio.sleep(pause)
        return seq

    async def read():
        seen = 0
        while time.perf_counter() < until:
            await reading.changed(run_id, seen, 1)
            for entry in await reading.entries(run_id, seen):
                lags.append(time.perf_counter() - sent[entry.seq])
                seen = entry.seq

    await asyncio.gather(read(), write(run_id, 0.03), *(write(other, 0.03) for other in others))
    return lags


def commit_floor(folder, seconds):
    """Commits per second of one row each, by sqlite3 alone, as safely as the store writes."""
    path = Path(folder) / "floor.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, data BLOB)")
    until, done = time.perf_counter() + seconds, 0
    began = time.perf_counter()
    while time.perf_counter() < until:
        connection.execute("INSERT INTO events (data) VALUES (?)", (EVENT % (done, TEXT),))
        done += 1
    took = time.perf_counter() - began
    connection.close()
    return done / took


def fsync_floor(folder, seconds):
    """Appends of 300 bytes with fdatasync, per second."""
    with (Path(folder) / "floor").open("ab", buffering=0) as file:
        until, done = time.perf_counter() + seconds, 0
        began = time.perf_counter()
        while time.perf_counter() < until:
            file.write(b"x" * 300)
            os.fdatasync(file.fileno())
            done += 1
        return done / (time.perf_counter() - began)


async def measure(name, open_store, commits, seconds):
    async with open_store() as store:
        for runs, size in ((1, 1), (1, BATCH), (100, 1), (100, BATCH)):
            events, batches, cpu = await throughput(store, runs, size, seconds)
            ratio = f"{batches / commits:6.2f} x the commits of the floor" if commits else ""
            print(
                f"{name:16} {runs:4} runs, batches of {size}: {events:10,.0f} events/s {batches:8,.0f} batches/s {cpu * 1e6:7.1f} us CPU/event {ratio}"
            )
        for load in (0, 100):
            show_lag(name, f"same process, {load} other runs writing", await lag(store, store, seconds, load))
        if name == "memory":
            return
        async with open_store() as other:
            for load in (0, 100):
                show_lag(name, f"two stores as of two processes, {load} other runs", await lag(store, other, seconds, load))


def show_lag(name, what, lags):
    if not lags:
        print(f"{name:16} reader's lag, {what}: nothing came in time")
        return
    p50, p99 = statistics.median(lags) * 1e3, percentile(lags, 0.99) * 1e3
    print(f"{name:16} reader's lag, {what}: p50 {p50:6.1f} ms  p99 {p99:6.1f} ms  ({len(lags)} events)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="where to put the files (default: a folder in the system's folder for temporary files)")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each figure is measured")
    parser.add_argument("--postgres", metavar="URL", help="measure a PostgreSQL too; a schema headrace_bench is made in it")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="headrace-bench-", dir=options.folder)
    try:
        print(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores, files in {Path(folder).parent}")
        commits = commit_floor(folder, options.seconds)
        print(f"floor            a commit of one row, sqlite3 alone, WAL, FULL: {commits:8,.0f} /s ({1e3 / commits:.2f} ms)")
        syncs = fsync_floor(folder, options.seconds)
        print(f"floor            a write and fdatasync:                         {syncs:8,.0f} /s ({1e3 / syncs:.2f} ms)")
        asyncio.run(measure("memory", MemoryStore, commits, options.seconds))
        for synchronous in ("full", "normal"):
            path = Path(folder) / f"{synchronous}.db"
            asyncio.run(measure(f"sqlite {synchronous}", lambda: SQLiteStore(path, synchronous=synchronous), commits, options.seconds))  # noqa: B023
        if options.postgres:
            from headrace.sessions.postgres import PostgresStore  # noqa: PLC0415 - an extra

            asyncio.run(measure("postgresql", lambda: PostgresStore(options.postgres, schema="headrace_bench"), commits, options.seconds))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
