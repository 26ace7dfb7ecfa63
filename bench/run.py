"""Measures headrace beside the floor, in one process and in turn, and prints ratios.

    python bench/run.py                 everything (two minutes)
    python bench/run.py --quick         smaller sizes
    python bench/run.py --json FILE     the figures as JSON as well

CPU time of this process, medians of several runs taken in turn with the floor's, so that a busy machine changes both. The floor is
`PerEvent` of the shared peers' bench if that folder is there (`../shared/bench`, or HEADRACE_BENCH), else the like in `own_floor.py`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import own_floor
import streams

from headrace import MessageChunk, StreamDecoder
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import ToolCallFragment

Result = tuple[str, list[str]]
SHARED = Path(os.environ.get("HEADRACE_BENCH", Path(__file__).resolve().parents[2] / "shared" / "bench"))
GOALS = {"decode": 2.0, "growth": 1.2, "import_ms": 100.0}


def floor_feed() -> tuple[Callable[[bytes], Any], Callable[[], Result], str]:
    """Return a fresh floor: its feed, its end, and its name."""
    if (SHARED / "floor.py").is_file():
        if str(SHARED) not in sys.path:
            sys.path.append(str(SHARED))
        machine = importlib.import_module("floor").PerEvent()
        return machine.feed, machine.done, "PerEvent"
    floor = own_floor.Floor()
    return floor.feed, floor.done, "own floor"


def headrace_feed() -> tuple[Callable[[bytes], Any], Callable[[], Result], str]:
    """Return a fresh decoder likewise; each chunk is taken in hand, as a caller would."""
    decoder = StreamDecoder(protocol="openai-chat")

    def feed(data: bytes) -> None:
        for _chunk in decoder.feed(data):
            pass

    def done() -> Result:
        decoder.close()
        message = decoder.result.message
        return message.text, [call.arguments for call in message.tool_calls]

    return feed, done, "headrace"


def cpu(make: Callable[[], tuple[Callable[[bytes], Any], Callable[[], Result], str]], kind: str, n: int, size: int) -> tuple[float, Result]:
    """Return the CPU seconds that one stream takes, without those of making it, and what came out."""
    feed, done, _ = make()
    clock = time.process_time
    spent = 0.0
    for data in streams.reads(kind, n, size):
        start = clock()
        feed(data)
        spent += clock() - start
    start = clock()
    result = done()
    return spent + clock() - start, result


def decode_rows(n: int, runs: int) -> list[dict[str, Any]]:
    """Bytes to chunks to message, beside the floor."""
    rows = []
    for kind in ("text", "arguments"):
        for size in (65536, 4096, 300):
            pairs = []
            for _ in range(runs):
                base, want = cpu(floor_feed, kind, n, size)
                mine, got = cpu(headrace_feed, kind, n, size)
                assert got == want, "headrace and the floor read different things"
                pairs.append((mine, base))
            count = streams.chunk_count(kind, n)
            mine, base = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(m / b for m, b in pairs)
            rows.append(
                {
                    "what": f"decode {kind}",
                    "read": size,
                    "chunks": count,
                    "us": mine / count * 1e6,
                    "floor_us": base / count * 1e6,
                    "ratio": ratio,
                }
            )
    return rows


def fold_cost(kind: str, n: int) -> float:
    """CPU microseconds a chunk of a left fold of `+`, the message at the end included."""
    if kind == "text":
        pieces = [AssistantMessageChunk(word) for word in streams.WORDS]
        total: MessageChunk = AssistantMessageChunk("")
    else:
        pieces = [
            AssistantMessageChunk(tool_calls=[ToolCallFragment(arguments=word.strip(), index=i % 4)])
            for i, word in enumerate(streams.WORDS)
        ]
        total = AssistantMessageChunk(tool_calls=[ToolCallFragment(id=f"c{i}", name="f", index=i) for i in range(4)])
    start = time.process_time()
    for i in range(n):
        total = total + pieces[i % 10]
    total.to_message()
    return (time.process_time() - start) / n * 1e6


def growth_rows(small: int, large: int, runs: int) -> list[dict[str, Any]]:
    """Cost per chunk of a long stream against that of a short one."""

    def decoder(kind: str, n: int) -> float:
        return cpu(headrace_feed, kind, n, 65536)[0] / streams.chunk_count(kind, n) * 1e6

    rows = []
    for name, measure in (("decoder", decoder), ("left fold of +", fold_cost)):
        for kind in ("text", "arguments"):
            shorts, longs = [], []
            for _ in range(runs):
                repeats = max(1, 20000 // small)
                gc.collect()
                shorts.append(statistics.median(measure(kind, small) for _ in range(repeats)))
                gc.collect()
                longs.append(measure(kind, large))
            short, long = statistics.median(shorts), statistics.median(longs)
            rows.append(
                {"what": f"growth {name}, {kind}", "from": small, "to": large, "us": long, "floor_us": short, "ratio": long / short}
            )
    return rows


def import_ms(runs: int) -> dict[str, Any]:
    """Wall milliseconds that `import headrace` adds to starting Python."""

    def start(code: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (time.perf_counter() - begin) * 1000

    pairs = [(start("import headrace; headrace.decode_stream"), start("pass"), start("import msgspec")) for _ in range(runs)]
    return {
        "what": "import headrace, with decode_stream",
        "ms": statistics.median(mine - bare for mine, bare, _ in pairs),
        "msgspec_ms": statistics.median(msgspec - bare for _, bare, msgspec in pairs),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    arguments = parser.parse_args()
    runs = 3 if arguments.quick else 7
    print(f"floor: {floor_feed()[2]}; CPU microseconds a chunk, medians of {runs}\n")
    rows = decode_rows(2_000 if arguments.quick else 10_000, runs)
    for row in rows:
        print(
            f"{row['what']:18} read {row['read']:6}  {row['us']:7.3f}  floor {row['floor_us']:7.3f}  ratio {row['ratio']:5.2f}  (goal {GOALS['decode']})",
            flush=True,
        )
    for row in growth_rows(1_000, 50_000 if arguments.quick else 1_000_000, 1 if arguments.quick else 3):
        rows.append(row)
        print(
            f"{row['what']:34} {row['from']} -> {row['to']}  {row['floor_us']:6.3f} -> {row['us']:6.3f}  ratio {row['ratio']:5.2f}  (goal {GOALS['growth']})",
            flush=True,
        )
    row = import_ms(3 if arguments.quick else 11)
    rows.append(row)
    print(f"{row['what']}: {row['ms']:.0f} ms (msgspec alone {row['msgspec_ms']:.0f}; goal {GOALS['import_ms']:.0f})")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
