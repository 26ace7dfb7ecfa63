"""A worker as a process of its own, to be killed: it works on the runs of a store with `Runs` or `DurableRuns`, and does what it is told.

    python lasting_worker.py --kind durable --database FILE-OR-URL --effects FILE --pause 0.02

Commands are lines of JSON on standard input, `{"do": "start", "run_id": "r"}`; each is answered by a line. What tools do in the world is
written to the file of effects, and is on the disk before the tool goes on: a line when it begins, one when it is done.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import resource
import signal
import sys
import time
from pathlib import Path

from headrace.agent.agent import Agent
from headrace.errors import HeadraceError
from headrace.models.script import chunks_of
from headrace.models.scripted import ScriptedModel
from headrace.sessions.opening import open_store
from headrace.sessions.runs import Runs
from headrace.tools.context import Context
from headrace.tools.tool import tool
from lasting import answer, inner_answer, outer_answer, rounds_of


class Deeds:
    """The file of effects."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, *words):
        os.write(self._file, (" ".join([*words, str(os.getpid())]) + "\n").encode())
        os.fsync(self._file)


def slow(script, pause_s):
    """A model that answers as the script says, a chunk after each pause; it remembers nothing."""

    async def play(request):
        loop, steps = asyncio.get_running_loop(), []
        for n, chunk in enumerate(chunks_of(script(request), 8), 1):
            gate = asyncio.Event()
            loop.call_later(n * pause_s, gate.set)
            steps += [gate, chunk]
        return steps

    class Endless(ScriptedModel):
        async def _next(self, request):
            self._answers = [play]
            self.requests.clear()
            return await super()._next(request)

    return Endless(play)


def approving(request):
    """Asks for one approval at once, and is done."""
    return answer("May I?", ("sign", {"what": "it"}), at=1) if rounds_of(request) == 0 else answer("All is done.")


def agent_of(deeds, pause_s, scenario="all"):
    """The agent of `lasting.py`, slow, its tools' effects in a file."""

    async def done(kind, what, context):
        deeds.write("begin", str(context.deps), kind, what)
        await asyncio.sleep(pause_s * 3)
        deeds.write("done", str(context.deps), kind, what)

    @tool(idempotent=True)
    async def look(what: str, context: Context[str]) -> str:
        """Look."""
        await done("look", what, context)
        return f"saw {what}"

    @tool
    async def pay(what: str, context: Context[str]) -> str:
        """Pay."""
        await done("pay", what, context)
        return f"paid {what}"

    @tool(needs_approval=True)
    async def sign(what: str, context: Context[str]) -> str:
        """Sign."""
        await done("sign", what, context)
        return f"signed {what}"

    if scenario == "approval":
        return Agent(slow(approving, pause_s), tools=[sign])
    inner = Agent(slow(inner_answer, pause_s), tools=[pay])
    return Agent(slow(outer_answer, pause_s), tools=[look, pay, sign, inner.as_tool("helper", "Helps.")])


def runs_of(options, agent, store):
    deps = lambda record: record.id  # noqa: E731
    if options.kind == "runs":
        return Runs(agent, store, deps=deps, beat_s=options.beat, dead_after_s=options.dead_after, listen_s=0.05)
    from headrace.durable import DurableRuns, Pace

    pace = Pace(beat_s=options.beat, dead_after_s=options.dead_after, listen_s=0.05, poll_s=options.poll)
    return DurableRuns(agent, store, deps=deps, pace=pace, concurrency=options.concurrency, works=not options.front)


async def answer_all(runs, run_id):
    """Say yes to what is asked; "run it again" never: what is in doubt gets its result from a person."""
    replies = []
    for pending in (await runs.result(run_id)).pending:
        if pending.kind == "in_doubt":
            replies.append(pending.answer(f"a person says: {pending.call.name} was done"))
        else:
            replies.append(pending.approve())
    await runs.resume(run_id, replies)
    return len(replies)


def usage():
    """The processor's time and the memory that this process has used so far, and uses."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {"cpu_s": used.ru_utime + used.ru_stime, "rss_mb": pages * os.sysconf("SC_PAGE_SIZE") / 1e6}


def say(what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def obey(runs, command):
    match command["do"]:
        case "start":
            return (await runs.start("Do it.", run_id=command["run_id"], session_id=f"s-{command['run_id']}")).status
        case "answer":
            return await answer_all(runs, command["run_id"])
        case "interrupt":
            return await runs.interrupt(command["run_id"])
        case "usage":
            return usage()


async def serve(runs):
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=2**24)
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    over = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    tasks = set()

    async def one(command):
        try:
            said = {"id": command["id"], "said": await obey(runs, command)}
        except HeadraceError as error:
            said = {"id": command["id"], "error": type(error).__name__, "why": str(error)}
        say(said)

    async def listen():
        while line := await lines.readline():
            task = asyncio.create_task(one(json.loads(line)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        over.set()  # whoever gave the commands is gone

    listening = asyncio.create_task(listen())
    say({"id": 0, "said": runs.worker_id})
    await over.wait()
    listening.cancel()
    pipe.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=["runs", "durable"], required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--effects", required=True)
    parser.add_argument("--pause", type=float, default=0.01)
    parser.add_argument("--scenario", default="all")
    parser.add_argument("--beat", type=float, default=0.3)
    parser.add_argument("--dead-after", type=float, default=1.5)
    parser.add_argument("--poll", type=float, default=0.05)
    parser.add_argument("--concurrency", type=int, default=None)
    parser.add_argument("--front", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=os.environ.get("LASTING_LOG", "ERROR"), format="%(asctime)s %(name)s %(message)s")
    agent = agent_of(Deeds(options.effects), options.pause, options.scenario)
    async with open_store(options.database) as store, runs_of(options, agent, store) as runs:
        await serve(runs)
        began = time.perf_counter()
    with contextlib.suppress(BrokenPipeError):
        say({"id": -1, "said": time.perf_counter() - began})


if __name__ == "__main__":
    asyncio.run(main())
