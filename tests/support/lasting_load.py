"""Many runs on several workers: what they do when some die, when all wait, and when the database is away for a while."""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
import time
from collections import Counter
from pathlib import Path

from headrace.sessions.opening import open_store
from lasting_fleet import GoneError, Watched, WorkerProcess, check_run, deeds


async def ended(store, prefix):
    """How many runs have ended, those that wait, and those that are worked on, by their owner."""
    over, waiting, running, before = 0, [], {}, None
    while page := await store.runs(before=before, limit=500):
        before = page[-1].id
        for record in page:
            if record.id.startswith(prefix):
                over += record.status == "ended"
                if record.status == "waiting":
                    waiting.append(record.id)
                elif record.status == "running":
                    running.setdefault(record.owner, []).append(record.id)
    return over, waiting, running


async def so_many(store, prefix, what, runs):
    """Wait until so many runs wait or have ended."""
    while True:
        over, waiting, _ = await ended(store, prefix)
        if (over if what == "ended" else len(waiting)) >= runs:
            return
        await asyncio.sleep(0.1)


async def asked(worker, do, run_ids, at_once=32):
    """Ask a worker for the same of many runs."""
    room = asyncio.Semaphore(at_once)

    async def one(run_id):
        async with room:
            return await worker.ask(do, run_id=run_id)

    return await asyncio.gather(*(one(run_id) for run_id in run_ids))


async def checked(store, effects, run_ids):
    begun = Counter(tuple(words[1:-1]) for words in deeds(effects) if words[0] == "begin")
    doubled = {what: n for what, n in begun.items() if n > 1 and what[1] != "look"}
    assert not doubled, doubled
    for run_id in run_ids:
        await check_run(store, run_id, await store.entries(run_id, 0, 100_000))


async def spread(database, folder, *, runs, kill_every_s, workers=3, pause_s=0.004, say=print):
    """Have several workers do many runs while one of them is killed every few seconds; all end."""
    effects = Path(folder) / "effects"
    options = {"pause": pause_s, "concurrency": 8, "beat": 0.5, "dead_after": 3.0}
    run_ids = [f"m{n}" for n in range(runs)]
    recoveries, kills = [], 0
    async with open_store(str(database)) as store:
        front = await (await WorkerProcess.begun("durable", database, effects, front=True, **options)).ready()
        fleet = [await (await WorkerProcess.begun("durable", database, effects, **options)).ready() for _ in range(workers)]
        began = time.monotonic()
        starting = asyncio.create_task(asked(front, "start", run_ids))

        async def kill():
            nonlocal kills
            while True:
                await asyncio.sleep(kill_every_s * random.uniform(0.7, 1.3))
                victim = fleet.pop(random.randrange(len(fleet)))
                _, _, running = await ended(store, "m")
                left = running.get(victim.worker_id, [])
                await victim.kill()
                kills += 1
                at = time.monotonic()
                fleet.append(await WorkerProcess.begun("durable", database, effects, **options))
                recovering.update(asyncio.create_task(recovered(victim, run_id, at)) for run_id in left)

        async def recovered(victim, run_id, at):
            while True:
                record = await store.run(run_id)
                if record.owner != victim.worker_id or record.status in ("waiting", "ended"):
                    break
                await asyncio.sleep(0.02)
            recoveries.append(time.monotonic() - at)

        recovering = set()
        killer = asyncio.create_task(kill())
        try:
            while True:
                over, waiting, _ = await ended(store, "m")
                if over == runs:
                    break
                if killer.done():
                    killer.result()
                await asked(front, "answer", waiting)
                await asyncio.sleep(0.1)
            took = time.monotonic() - began
            await starting
        finally:
            killer.cancel()
            for worker in (front, *fleet):
                await worker.kill()
        await asyncio.gather(*recovering)
        await checked(store, effects, run_ids)
    middle = f"{statistics.median(recoveries):.2f} s, at most {max(recoveries):.2f} s" if recoveries else "none needed"
    say(f"{runs} runs on {workers} workers, {kills} killed: {took:.1f} s, {runs / took:.1f} runs/s; taken over after {middle} (median)")


async def waiting(kind, database, folder, *, runs, say=print):
    """Have many runs wait for approval on one worker, which is killed; the next one goes on with all of them."""
    effects = Path(folder) / "effects"
    run_ids = [f"w{n}" for n in range(runs)]
    options = {"pause": 0.001, "scenario": "approval"}
    async with open_store(str(database)) as store:
        worker = await (await WorkerProcess.begun(kind, database, effects, **options)).ready()
        await worker.ask("start", run_id="first")
        await so_many(store, "first", "waiting", 1)
        await asyncio.sleep(1)
        empty = (await worker.ask("usage"))["said"]
        began = time.monotonic()
        await asked(worker, "start", run_ids)
        await so_many(store, "w", "waiting", runs)
        asking_s = time.monotonic() - began
        await asyncio.sleep(1)
        full, at = (await worker.ask("usage"))["said"], time.monotonic()
        await asyncio.sleep(5)
        later, seconds = (await worker.ask("usage"))["said"], time.monotonic() - at
        await worker.kill()
        began = time.monotonic()
        worker = await (await WorkerProcess.begun(kind, database, effects, **options)).ready()
        ready_s, began = time.monotonic() - began, time.monotonic()
        await asked(worker, "answer", run_ids)
        await so_many(store, "w", "ended", runs)
        answering_s = time.monotonic() - began
        await worker.kill()
        signed = Counter(words[1] for words in deeds(effects) if words[0] == "begin")
        assert [signed[run_id] for run_id in run_ids] == [1] * runs
    growth, cpu = full["rss_mb"] - empty["rss_mb"], (later["cpu_s"] - full["cpu_s"]) / seconds
    say(
        f"{kind}: {runs} runs wait: {full['rss_mb']:.0f} MB (+{growth:.0f} MB), {cpu:.1%} of a processor; "
        f"asked in {asking_s:.1f} s, restarted in {ready_s:.1f} s, all ended {answering_s:.1f} s later"
    )


async def outage(kind, server, database, folder, *, seconds, runs=6, say=print):
    """Take the database away in the middle of runs, for a while; all end."""
    effects = Path(folder) / "effects"
    async with open_store(database) as store:
        watched = Watched(store, [f"o{n}" for n in range(runs)], effects)
        worker = await (await WorkerProcess.begun(kind, database, effects, pause=0.03)).ready()
        try:
            with contextlib.suppress(GoneError):
                await watched.through(worker, 1.0)
            going = asyncio.create_task(watched.through(worker))
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(server.start)
            back = time.monotonic()
            assert await going
            say(f"{kind}: database away for {seconds:.0f} s: {runs} runs ended {time.monotonic() - back:.1f} s after it was back")
            await watched.check()
        finally:
            await worker.kill()
