"""Workers to be killed, a person who answers, a reader who is there all along, and what must hold in the end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from pathlib import Path

from headrace.agent.event_codec import decode_event
from headrace.agent.events import RunEnded, SubRun
from headrace.agent.fold import fold
from headrace.errors import NotFoundError
from headrace.sessions.opening import open_store
from headrace.sessions.reading import read
from lasting import FINAL
from legal_history import problems

SUPPORT = Path(__file__).parent
SOURCE = SUPPORT.parents[1] / "src"


def deeds(path):
    """What tools did in the world: lines of words, the last one the process."""
    return [line.split() for line in Path(path).read_text().splitlines()] if Path(path).exists() else []


async def until(store, run_id, holds):
    """Wait until something holds of a run."""
    while True:
        if holds(await store.run(run_id)):
            return
        await asyncio.sleep(0.02)


class GoneError(Exception):
    """The worker is gone."""


class WorkerProcess:
    """One worker, as a process."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid
        self.worker_id = None
        self._numbers = itertools.count(1)
        self._asked = {}
        self._ready = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def begun(cls, kind, database, effects, **options):
        flags = [word for name, value in options.items() if value is not False for word in _flag(name, value)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", str(SUPPORT / "lasting_worker.py"), "--kind", kind),
            *("--database", str(database), "--effects", str(effects), *flags),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{SUPPORT}"},
            limit=2**24,
        )
        return cls(process)

    async def ready(self):
        self.worker_id = await asyncio.wait_for(asyncio.shield(self._ready), 60)
        return self

    async def ask(self, do, **more):
        """Give a command; raises GoneError if the worker dies before it answers."""
        number = next(self._numbers)
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            self.process.stdin.write((json.dumps({"id": number, "do": do, **more}) + "\n").encode())
            await self.process.stdin.drain()
        except OSError:
            self._lose()
        return await future

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def kill(self):
        self.signal(signal.SIGKILL)
        await self.gone()

    async def gone(self):
        await self.process.wait()
        await self._reading
        self.process.stdin.close()

    async def _read(self):
        while line := await self.process.stdout.readline():
            said = json.loads(line)
            if said["id"] == 0:
                self._ready.set_result(said["said"])
            elif (future := self._asked.pop(said["id"], None)) is not None and not future.done():
                future.set_result(said)
        self._lose()

    def _lose(self):
        if not self._ready.done():
            self._ready.set_exception(GoneError())
            self._ready.exception()
        for future in self._asked.values():
            if not future.done():
                future.set_exception(GoneError())
        self._asked.clear()


def _flag(name, value):
    flag = "--" + name.replace("_", "-")
    return [flag] if value is True else [flag, str(value)]


class Reader:
    """Reads one run from its first event to its last, by the number of the last one it has, as a client that connects again and again."""

    def __init__(self, store, run_id):
        self.entries = []
        self._store = store
        self._run_id = run_id
        self.task = asyncio.create_task(self._read())

    async def _read(self):
        while True:
            after = self.entries[-1].seq if self.entries else 0
            with contextlib.suppress(NotFoundError, TimeoutError):  # it was not begun yet, or connects again
                async with asyncio.timeout(random.uniform(0.2, 2)):
                    async for page in read(self._store, self._run_id, after, follow=True):
                        self.entries += page
                return
            await asyncio.sleep(0.01)


class Watched:
    """Runs of a store that workers work on, looked at from a process of its own: begun, answered, read, and checked in the end."""

    def __init__(self, store, run_ids, effects):
        self.store = store
        self.run_ids = list(run_ids)
        self.effects = effects
        self.readers = {run_id: Reader(store, run_id) for run_id in self.run_ids}
        self.started = set()
        self.ended_at = {}

    async def step(self, worker):
        """Begin what was not begun, and answer what waits; returns whether all have ended."""
        records = {}
        for run_id in self.run_ids:
            with contextlib.suppress(NotFoundError):
                records[run_id] = await self.store.run(run_id)
        commands = []
        for run_id in self.run_ids:
            record = records.get(run_id)
            if run_id not in self.started:
                commands.append(("start", run_id))
            elif record is not None and record.status == "waiting":
                commands.append(("answer", run_id))
            elif record is not None and record.status == "ended":
                self.ended_at.setdefault(run_id, time.monotonic())
        for (do, run_id), said in zip(
            commands, await asyncio.gather(*(worker.ask(do, run_id=run_id) for do, run_id in commands), return_exceptions=True), strict=True
        ):
            if isinstance(said, Exception) and not isinstance(said, GoneError):
                raise said
            if do == "start" and isinstance(said, dict) and "error" not in said:
                self.started.add(run_id)
        return len(self.ended_at) == len(self.run_ids)

    async def through(self, worker, until=None):
        """Step until all have ended (True), or the time is up or the worker gone (False)."""
        deadline = None if until is None else time.monotonic() + until
        while not await self.step(worker):
            if worker.process.returncode is not None or (deadline is not None and time.monotonic() > deadline):
                return False
            await asyncio.sleep(0.03)
        return True

    async def check(self):
        """What must hold once all runs have ended."""
        begun = Counter(tuple(words[1:-1]) for words in deeds(self.effects) if words[0] == "begin")
        for run_id in self.run_ids:
            await asyncio.wait_for(self.readers[run_id].task, 20)
            await check_run(self.store, run_id, self.readers[run_id].entries)
            doubled = {what: n for what, n in begun.items() if what[0] == run_id and n > 1 and what[1] != "look"}
            assert not doubled, doubled
        return begun


async def check_run(store, run_id, seen):
    record = await store.run(run_id)
    assert (record.status, record.generate_reason) == ("ended", "completed"), (record.status, record.generate_reason)
    entries = await store.entries(run_id, 0, 100_000)
    assert [(entry.seq, entry.data) for entry in seen] == [(entry.seq, entry.data) for entry in entries]
    messages = check_events([decode_event(entry.data) for entry in entries])
    kept = await store.begin(record.session_id, "next")
    await store.commit(record.session_id, "next", ())
    assert [message.text for message in kept] == [message.text for message in messages]


def check_events(events):
    """A log is whole, in order, and makes a legal history; returns its messages."""
    seqs = [event.seq for event in events]
    assert seqs == sorted(set(seqs))
    messages = fold(events)
    assert messages[-1].text == FINAL
    assert not problems(messages)
    assert isinstance(events[-1], RunEnded)
    opened = set()
    for event in [event.event if isinstance(event, SubRun) else event for event in events]:
        key = getattr(event, "call_key", None) or (getattr(event, "message_id", None), getattr(event, "part", None))
        match event.type:
            case "text_started" | "tool_call_started":
                assert key not in opened
                opened.add(key)
            case "text_ended" | "tool_call_ended":
                opened.remove(key)
            case "text_delta" | "tool_call_arguments":
                assert key in opened
    assert not opened
    return messages


async def killed_again_and_again(kind, database, folder, *, kills, runs=3, pause_s=0.012, longest_s=1.2, seed=None, say=lambda *_: None):
    """Kill workers at random moments until so many are dead and all runs have ended; returns how many runs there were."""
    chance = random.Random(seed)
    dead = trial = 0
    async with open_store(str(database)) as store:
        while dead < kills:
            effects = Path(folder) / f"effects-{trial}"
            watched = Watched(store, [f"t{trial}-{n}" for n in range(runs)], effects)
            while True:
                worker = await (await WorkerProcess.begun(kind, database, effects, pause=pause_s)).ready()
                is_last = dead >= kills
                try:
                    is_over = await watched.through(worker, None if is_last else chance.uniform(0.0, longest_s))
                except GoneError:
                    is_over = False
                await worker.kill()
                if is_over:
                    break
                dead += 1
            await watched.check()
            trial += 1
            say(f"{kind} {trial} trials, {dead} kills")
    return trial * runs


async def fallen_asleep(worker, database):
    """Stop a worker, but not while it holds the file of a SQLite store, which nobody could write then."""
    while True:
        worker.signal(signal.SIGSTOP)
        if "://" in database:
            return
        if is_free(database) and is_free(f"{database}-dbos"):
            return
        worker.signal(signal.SIGCONT)
        await asyncio.sleep(0.01)


def is_free(path):
    """Whether nobody holds a SQLite file, or there is none."""
    if not Path(path).exists():
        return True
    with contextlib.closing(sqlite3.connect(path, timeout=0.1, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.execute("ROLLBACK")
        return True


async def over_to_another(kind, database, folder, name, *, pause_s=0.03):
    """Put a worker to sleep in the middle of a run, let another one take over and end it, and wake the sleeper meanwhile."""
    async with asyncio.timeout(150):
        await _over_to_another(kind, database, folder, name, pause_s)


async def _over_to_another(kind, database, folder, name, pause_s):
    effects = Path(folder) / f"effects-{name}"
    async with open_store(str(database)) as store:
        watched = Watched(store, [name], effects)
        sleeper = await (await WorkerProcess.begun(kind, database, effects, pause=pause_s)).ready()
        try:
            while not watched.started or (await store.run(name)).owner != sleeper.worker_id:
                await watched.step(sleeper)
            await watched.through(sleeper, random.uniform(0, 0.6))
            await fallen_asleep(sleeper, database)
            while (await store.run(name)).status == "waiting":  # it is nobody's then, so there is nothing to take over
                sleeper.signal(signal.SIGCONT)
                await watched.step(sleeper)
                await fallen_asleep(sleeper, database)
            other = await (await WorkerProcess.begun(kind, database, effects, pause=pause_s)).ready()
            try:
                # Of durable runs the one who hands over claims first, then the one who goes on.
                claims = (await store.run(name)).epoch + (2 if kind == "durable" else 1)
                await until(store, name, lambda record: record.epoch >= claims or record.status in ("waiting", "ended"))
                handed_over = len(deeds(effects))
                sleeper.signal(signal.SIGCONT)
                await until(store, name, lambda record: record.status in ("waiting", "ended"))  # then it may be the sleeper's again
                await asyncio.sleep(0.5)
                late = deeds(effects)[handed_over:]
                begun_late = [words for words in late if words[0] == "begin" and int(words[-1]) == sleeper.pid]
                assert not begun_late, begun_late
                assert await watched.through(other, 60)
                await watched.check()
            finally:
                await other.kill()
        finally:
            await sleeper.kill()
