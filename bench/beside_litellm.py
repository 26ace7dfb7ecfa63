"""Measures the gateway beside LiteLLM's proxy: the same streams of the same upstream, each server in a process of its own.

    python peers/make_environments.py litellm-proxy     once: an environment for it, in .peers (about 700 MB)
    python bench/beside_litellm.py                      two minutes
    python bench/beside_litellm.py --quick              smaller sizes

What is measured is the CPU time of the process in the middle, as the system counts it (Linux), taken in turn. The proxy has the config that its
documentation begins with: one model, at an OpenAI-compatible address; no database, no keys, no logging of its own. See `bench/gateway.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import gateway

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
from make_environments import FOLDER, python_of, versions_in

MODELS = "ahead-*", "alone-*", "many-*"
CONFIG = {
    "model_list": [
        {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_base": "UPSTREAM/v1", "api_key": "none"}} for name in MODELS
    ],
    "litellm_settings": {"telemetry": False},
}


class Middle:
    """A server that is measured from outside."""

    def __init__(self, url: str, process: int) -> None:
        self.url = url
        self._stat = Path(f"/proc/{process}/stat")

    def cpu_s(self) -> float:
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def litellm(python: Path, upstream: str) -> Iterator[Middle]:
    """Serve it while the block runs."""
    port = gateway.free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(json.dumps(CONFIG).replace("UPSTREAM", upstream))  # JSON is YAML
        command = [python.parent / "litellm", "--config", config, "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
        environ = os.environ | {
            "LITELLM_LOG": "ERROR",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        }  # as little to do as the gateway has
        log = Path(folder, "log")
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environ, cwd=folder)
            try:
                asyncio.run(_begun(port, process, log))
                yield Middle(f"http://127.0.0.1:{port}", process.pid)
            finally:
                process.terminate()
                process.wait(30)


async def _begun(port: int, process: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + 180
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        if process.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"the proxy does not begin:\n{log.read_text()[-2000:]}")  # noqa: ASYNC240 - nothing else runs
        await asyncio.sleep(0.5)


async def chunk_us(middle: Middle, model: str, count: int, streams: int) -> float:
    """Return what one chunk costs, of streams at once; that all came is looked at."""
    before = middle.cpu_s()
    answers = await asyncio.gather(*(gateway.ask(middle.url, f"{model}-{count}") for _ in range(streams)))
    assert all(size > count * 100 for _, size in answers), f"{model}-{count}: {answers}"
    return (middle.cpu_s() - before) / (count * streams) * 1e6


async def measure(middles: dict[str, Middle], *, quick: bool) -> dict[str, dict[str, float]]:
    runs = 3 if quick else 7
    # A tick of the system's clock is 10 ms: the quick ones are asked for more chunks, so that their time is many ticks.
    sizes = {"ahead": ("ahead", 1, 2_000, 100_000), "alone": ("alone", 1, 600, 1_500), "alone, fifty at once": ("many", 50, 50, 200)}
    for middle in middles.values():
        await gateway.ask(middle.url, "ahead-500")
    figures: dict[str, dict[str, float]] = {}
    for what, (model, streams, few, many) in sizes.items():
        counts = {name: few if name == "litellm" else many for name in middles}
        rows = [{name: await chunk_us(middle, model, counts[name], streams) for name, middle in middles.items()} for _ in range(runs)]
        figures[what] = {name: round(statistics.median(row[name] for row in rows), 1) for name in middles}
        figures[what]["times"] = round(figures[what]["litellm"] / figures[what]["gateway"], 1)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the environment is (default: .peers)")
    given = parser.parse_args()
    python = python_of(given.folder, "litellm-proxy")
    if not python.exists():
        print("there is no environment for it: python peers/make_environments.py litellm-proxy makes it", file=sys.stderr)
        return 2
    with (
        gateway.process("upstream") as upstream,
        gateway.process("relay", upstream.url) as relay,
        gateway.process("gateway", upstream.url) as own,
        litellm(python, upstream.url) as other,
    ):
        middles = {"relay": Middle(relay.url, relay.pid), "gateway": Middle(own.url, own.pid), "litellm": other}
        figures = asyncio.run(measure(middles, quick=given.quick))
    print("litellm", versions_in(given.folder).get("litellm-proxy", {}).get("version", "of an unknown version"))
    for model, costs in figures.items():
        print(f"{model}: CPU of a chunk in µs: {costs}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
