"""Measures the gateway beside a relay of raw bytes, each in a process of its own, and prints what a chunk costs.

    python bench/gateway.py             everything (a minute)
    python bench/gateway.py --quick     smaller sizes

What is measured is the CPU time of the process in the middle alone. *Ahead*: the upstream sends everything at once. *Alone*: it sends an event,
and the next one when the last has long left; one stream, and fifty whose events come by turns, with so much time between that none waits for another of its stream. The relay reads bytes and writes them, by asyncio's streams, and knows nothing of events.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

GOALS = {"ahead_us": 20.0, "alone_ratio": 1.5, "first_ms": 2.0}
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PAUSES_S = {"alone": 0.001, "many": 0.01, "slow": 0.05}
"""So long that nobody in the middle falls behind: events that meet there would be cheaper, and more of them meet where more time is taken."""


def _event(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text} if finish is None else {}, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


# ---------------------------------------------------------------------------------------------- the three processes


async def _upstream() -> None:
    # In turn, since a proxy may take text that repeats itself a hundred times for a model that has gone astray.
    events, end = (_event(" token"), _event(" other")), _event("", "stop") + b"data: [DONE]\n\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                body = await _request(reader)
                manner, _, count = json.loads(body)["model"].partition("-")
                writer.write(_HEAD)
                if manner == "ahead":
                    data = b"".join(events) * (int(count) // 2) + end
                    for at in range(0, len(data), 1 << 16):
                        writer.write(b"%x\r\n%b\r\n" % (len(data[at : at + (1 << 16)]), data[at : at + (1 << 16)]))
                        await writer.drain()
                else:
                    for n in range(int(count)):
                        writer.write(b"%x\r\n%b\r\n" % (len(events[n % 2]), events[n % 2]))
                        await asyncio.sleep(PAUSES_S[manner])
                    writer.write(b"%x\r\n%b\r\n" % (len(end), end))
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=2048)
    await _until_told(server.sockets[0].getsockname()[1])


async def _relay(upstream: str) -> None:
    port = int(upstream.rpartition(":")[2])
    going: set[asyncio.Task[None] | None] = set()  # the loop holds its tasks weakly, and one that waits would be collected

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        going.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            body = await _request(reader)
            there, out = await asyncio.open_connection("127.0.0.1", port)
            out.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
            while data := await there.read(1 << 16):
                writer.write(data)
                await writer.drain()
                if data.endswith(b"\r\n0\r\n\r\n"):
                    break
            out.close()
        writer.close()
        going.discard(asyncio.current_task())

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=2048)
    await _until_told(server.sockets[0].getsockname()[1])


async def _gateway(upstream: str) -> None:
    from headrace.server.gateway.config import config_of  # noqa: PLC0415 - in this process alone
    from headrace.server.gateway.serve import serving  # noqa: PLC0415

    config = config_of({"port": 0, "upstreams": [{"name": "up", "base_url": f"{upstream}/v1", "protocol": "openai-chat"}]})
    async with serving(config, environ={}) as served:
        await _until_told(int(served.url.rpartition(":")[2]))


async def _until_told(port: int) -> None:
    """Say the port; at each line say CPU time and memory; end with the input."""
    print(port, flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(time.process_time(), _memory_bytes(), flush=True)
    os._exit(0)  # whatever is still open has done its part


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _memory_bytes() -> int:
    facts = Path("/proc/self/statm")
    return int(facts.read_text().split()[1]) * 4096 if facts.exists() else 0


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))


class Process:
    """One of them, from outside."""

    def __init__(self, *role: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--role", *role], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}"
        self.pid = self._process.pid

    def cost(self) -> tuple[float, int]:
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        cpu, memory = self._process.stdout.readline().split()
        return float(cpu), int(memory)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@contextlib.contextmanager
def process(*role: str) -> Iterator[Process]:
    running = Process(*role)
    try:
        yield running
    finally:
        running.close()


# ---------------------------------------------------------------------------------------------- the client


async def ask(url: str, model: str, path: str = "/v1/chat/completions") -> tuple[float, int]:
    """Ask once, read to the end; returns the seconds to the first event and how many bytes came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), limit=1 << 22)
    body = json.dumps({"model": model, "stream": True, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}).encode()
    began = time.perf_counter()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    first, size, tail = 0.0, 0, b""
    while data := await reader.read(1 << 18):
        size += len(data)
        tail = (tail + data)[-4096:]
        if not first and b"token" in tail:
            first = time.perf_counter() - began
        if tail.endswith(b"0\r\n\r\n"):
            break
    writer.close()
    return first, size


async def chunk_us(middle: Process, model: str, count: int, path: str, streams: int = 1) -> float:
    """Return what a chunk costs, without what its request does: that of a short stream is taken off."""
    few, marks = 10, [middle.cost()[0]]
    for events in (few, count):
        await asyncio.gather(*(ask(middle.url, f"{model}-{events}", path) for _ in range(streams)))
        marks.append(middle.cost()[0])
    return (marks[2] - 2 * marks[1] + marks[0]) / ((count - few) * streams) * 1e6


async def memory_mb(middle: Process, streams: int, events: int) -> list[float]:
    """Return the memory before, while so many streams are open, and after."""
    _, before = middle.cost()
    tasks = [asyncio.create_task(ask(middle.url, f"slow-{events}")) for _ in range(streams)]
    seen = [before]
    for _ in range(3):
        await asyncio.sleep(events * 0.05 / 4)
        seen.append(middle.cost()[1])
    await asyncio.gather(*tasks)
    seen.append(middle.cost()[1])
    return [round(value / 1e6, 1) for value in seen]


async def measure(*, quick: bool) -> dict[str, object]:
    ahead, alone, runs, streams = (4_000, 800, 3, 100) if quick else (20_000, 1_500, 7, 500)
    figures: dict[str, object] = {}
    with process("upstream") as upstream, process("relay", upstream.url) as relay, process("gateway", upstream.url) as gateway:
        for middle in (relay, gateway):
            await ask(middle.url, "ahead-2000")
        for name, path in (("same protocol", "/v1/chat/completions"), ("another protocol", "/v1/messages")):
            await ask(gateway.url, "ahead-2000", path)
            costs = [await chunk_us(gateway, "ahead", ahead, path) for _ in range(runs)]
            figures[f"ahead, {name}, us a chunk"] = round(statistics.median(costs), 2)
            for streams_at_once, model, count in ((1, "alone", alone), (50, "many", alone // 10)):
                pairs = [[await chunk_us(middle, model, count, path, streams_at_once) for middle in (relay, gateway)] for _ in range(runs)]
                raw, own = (statistics.median(column) for column in zip(*pairs, strict=True))
                what = f"alone, {streams_at_once} at once, {name}, us a chunk"
                figures[what] = {"relay": round(raw, 1), "gateway": round(own, 1), "ratio": round(own / raw, 2)}
        firsts = [(await ask(upstream.url, "alone-3"), await ask(gateway.url, "alone-3")) for _ in range(40)]
        figures["first event later by, ms"] = round(statistics.median(via[0] - direct[0] for direct, via in firsts) * 1000, 2)
        figures[f"memory with {streams} streams, MB"] = await memory_mb(gateway, streams, 80)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--role", nargs="+")
    given = parser.parse_args()
    if given.role is None:
        for name, value in asyncio.run(measure(quick=given.quick)).items():
            print(f"{name:>50}: {value}")
        return
    roles = {"upstream": _upstream, "relay": _relay, "gateway": _gateway}
    asyncio.run(roles[given.role[0]](*given.role[1:]))


if __name__ == "__main__":
    main()
