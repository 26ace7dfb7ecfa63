"""Measures the agent beside the same requests made raw, and prints ratios.

    python bench/agents.py                       rounds and many runs at once (two minutes)
    python bench/agents.py --only rounds         CPU per round, at 5 and at 50 rounds
    python bench/agents.py --peers FOLDER        beside the peers as well: FOLDER has an environment for each (see below)

Raw is the same HTTP client with the very same request bodies, recorded beforehand: each is sent and its answer read to the end, and
nothing is parsed. CPU time of this process, the least of several runs taken in turn, since what else a machine does only adds to it; the ratio
of the medians stands beside it.

The peers are run by `react.py` of the shared bench (`../shared/bench`, or HEADRACE_BENCH), each with the Python of its own environment
in FOLDER (`pydanticai/bin/python`, `oaiagents`, `agentscope`, `openjiuwen`, `langgraph`); those that are not there are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import react_server

from headrace import Agent, HTTPRequest, Model, tool
from headrace.io.httpx_transport import HttpTransport

SHARED = Path(os.environ.get("HEADRACE_BENCH", Path(__file__).resolve().parents[2] / "shared" / "bench"))
PEERS = ("pydanticai", "oaiagents", "agentscope", "openjiuwen", "langgraph")
ran = [0]


@tool
async def lookup(city: str) -> str:
    """Look a city up."""
    ran[0] += 1
    return "sunny in " + city


class Ours:
    """The agent, streamed, over HTTP."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._transport = HttpTransport()
        self._agents: dict[int, Agent] = {}

    async def run(self, rounds: int) -> None:
        """Do one run of so many rounds."""
        agent = self._agents.get(rounds)
        if agent is None:
            base = f"http://127.0.0.1:{self._port}/react/{rounds}/v1"
            model = Model("openai-chat:m", base_url=base, api_key="x", transport=self._transport)
            agent = self._agents[rounds] = Agent(model, tools=[lookup], max_rounds=None)
        result = await agent.run("hi")
        assert result.message.text.strip() == react_server.ANSWER, result

    async def aclose(self) -> None:
        """Close the pool."""
        await self._transport.aclose()


class Raw:
    """The same requests, sent by the same client and not looked at."""

    def __init__(self, port: int, bodies: dict[int, list[bytes]]) -> None:
        self._port = port
        self._bodies = bodies
        self._client = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=200), timeout=60)

    async def run(self, rounds: int) -> None:
        """Send the requests of one run, one after the other."""
        url = f"http://127.0.0.1:{self._port}/react/{rounds}/v1/chat/completions"
        headers = {"content-type": "application/json", "authorization": "Bearer x"}
        for body in self._bodies[rounds]:
            async with self._client.stream("POST", url, content=body, headers=headers) as response:
                async for _piece in response.aiter_raw():
                    pass

    async def aclose(self) -> None:
        """Close the pool."""
        await self._client.aclose()


async def recorded(port: int, rounds: int) -> list[bytes]:
    """Return the bodies of the requests that a run makes."""
    bodies: list[bytes] = []

    class Recording(HttpTransport):
        def stream(self, request: HTTPRequest, **options: Any) -> Any:
            bodies.append(bytes(request.body))
            return super().stream(request, **options)

    transport = Recording()
    model = Model("openai-chat:m", base_url=f"http://127.0.0.1:{port}/react/{rounds}/v1", api_key="x", transport=transport)
    await Agent(model, tools=[lookup], max_rounds=None).run("hi")
    await transport.aclose()
    return bodies


async def cpu_of(run: Callable[[int], Awaitable[None]], rounds: int) -> float:
    """Return the CPU time of one run, in milliseconds; short runs are done several times, or the first steps after a change would be most of it."""
    times = max(1, 50 // rounds)
    began = time.process_time()
    for _ in range(times):
        await run(rounds)
    return (time.process_time() - began) * 1e3 / times


def per_round(taken: dict[tuple[str, int], list[float]], who: str, rounds: int, of: Callable[[list[float]], float]) -> float:
    """Return what a round costs: runs of so many, less what a run of one costs."""
    return (of(taken[who, rounds]) - of(taken[who, 1])) / (rounds - 1)


async def measure_rounds(port: int, reps: int) -> dict[str, Any]:
    """CPU per round over 5 and over 50 rounds, beside raw."""
    bodies = {rounds: await recorded(port, rounds) for rounds in (1, 5, 50)}
    ours, raw = Ours(port), Raw(port, bodies)
    for rounds in (1, 5, 50):
        await ours.run(rounds)
        await raw.run(rounds)
    taken: dict[tuple[str, int], list[float]] = {}
    for _ in range(reps):
        for rounds in (1, 5, 50):
            taken.setdefault(("ours", rounds), []).append(await cpu_of(ours.run, rounds))
            taken.setdefault(("raw", rounds), []).append(await cpu_of(raw.run, rounds))
    await ours.aclose()
    await raw.aclose()
    found: dict[str, Any] = {}
    for rounds in (5, 50):
        mine, theirs = (per_round(taken, who, rounds, min) for who in ("ours", "raw"))
        middle = per_round(taken, "ours", rounds, statistics.median) / per_round(taken, "raw", rounds, statistics.median)
        found[f"over {rounds}"] = {
            "ms_per_round": round(mine, 3),
            "raw_ms_per_round": round(theirs, 3),
            "ratio": round(mine / theirs, 2),
            "ratio_of_medians": round(middle, 2),
        }
    found["growth"] = round(found["over 50"]["ms_per_round"] / found["over 5"]["ms_per_round"], 2)
    return found


async def measure_many(port: int, runs: int) -> dict[str, Any]:
    """So many runs of three rounds at once, beside raw."""
    ours, raw = Ours(port), Raw(port, {3: await recorded(port, 3)})
    rates: dict[str, list[float]] = {"ours": [], "raw": []}
    await ours.run(3)
    await raw.run(3)
    for _ in range(4):
        for name, run in (("ours", ours.run), ("raw", raw.run)):
            began = time.perf_counter()
            await asyncio.gather(*(run(3) for _ in range(runs)))
            rates[name].append(runs / (time.perf_counter() - began))
    await ours.aclose()
    await raw.aclose()
    mine, theirs = (statistics.median(rates[name][1:]) for name in ("ours", "raw"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"runs_per_s": round(mine, 1), "raw_runs_per_s": round(theirs, 1), "ratio": round(mine / theirs, 2), "peak_rss_mb": peak}


def measure_peers(folder: Path, reps: int) -> list[dict[str, Any]]:
    """Run the peers' bench with each environment that is there; returns its lines."""
    lines: list[dict[str, Any]] = []
    for peer in PEERS:
        python = folder / peer / "bin" / "python"
        if not python.exists():
            continue
        command = [str(python), str(SHARED / "react.py"), peer, "--reps", str(reps)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
        lines += [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"bench"')]
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("rounds", "many"))
    parser.add_argument("--reps", type=int, default=21)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--peers", type=Path)
    chosen = parser.parse_args()
    with react_server.running() as port:
        if chosen.only != "many":
            print(json.dumps({"rounds": asyncio.run(measure_rounds(port, chosen.reps))}), flush=True)
        if chosen.only != "rounds":
            print(json.dumps({"many": asyncio.run(measure_many(port, chosen.runs))}), flush=True)
    if chosen.peers is not None:
        for line in measure_peers(chosen.peers, 3):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
