"""Makes an environment of its own for each client that is tried, with its latest release, and writes down what was installed.

    python peers/make_environments.py                     all of them, into .peers
    python peers/make_environments.py --folder DIR        elsewhere
    python peers/make_environments.py openai litellm      these alone
    python peers/make_environments.py litellm-proxy       what `bench/beside_litellm.py` measures the gateway beside
    python peers/make_environments.py --again             also those that are there already, from nothing

One after the other, at low priority. `versions.json` in the folder holds each client's version, how many packages came with it and how many
megabytes they take.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".peers"
CLIENTS = {
    "openai": "openai",
    "langchain-openai": "langchain-openai",
    "pydantic-ai": "pydantic-ai-slim[openai]",  # the same library without the clients of other vendors
    "litellm": "litellm",
    "agentscope": "agentscope",
    "openjiuwen": "openjiuwen",
}
"""What is installed for each client. Latest releases: what people get who install it today."""
PROXIES = {"litellm-proxy": "litellm[proxy]"}
"""Servers that are measured beside the gateway; made only when asked for by name."""
PACKAGES = CLIENTS | PROXIES


def python_of(folder: Path, client: str) -> Path:
    """Return where the Python of a client's environment is, or would be."""
    return folder / client / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def versions_in(folder: Path) -> dict[str, dict[str, object]]:
    """Return what was installed for each client; {} if nothing was."""
    file = folder / "versions.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def make(folder: Path, client: str) -> dict[str, object]:
    """Make a client's environment from nothing and return its version, its packages and its size."""
    start = time.monotonic()
    shutil.rmtree(folder / client, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / client)], check=True)
    python = python_of(folder, client)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGES[client]], check=True)
    listed = subprocess.run([python, "-m", "pip", "list", "--format", "json"], check=True, capture_output=True, text=True)
    packages = {package["name"].lower(): package["version"] for package in json.loads(listed.stdout)}
    name = PACKAGES[client].partition("[")[0]
    return {
        "package": PACKAGES[client],
        "version": packages[name],
        "openai": packages.get("openai"),
        "packages": len(packages) - 1,  # pip itself is not the client's
        "size_mb": round(sum(file.stat().st_size for file in (folder / client).rglob("*") if file.is_file()) / 1e6),
        "python": ".".join(map(str, sys.version_info[:3])),
        "made_in_s": round(time.monotonic() - start),
    }


def main() -> int:
    """Make what is asked for; returns the exit status: 1 if a client could not be installed."""
    parser = argparse.ArgumentParser(description="An environment for each client that is tried.")
    parser.add_argument("clients", nargs="*", help=f"of: {', '.join(PACKAGES)}; none: all clients")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where they go (default: .peers)")
    parser.add_argument("--again", action="store_true", help="make those again that are there already")
    asked = parser.parse_args()
    if unknown := set(asked.clients) - set(PACKAGES):
        parser.error(f"no such client: {', '.join(sorted(unknown))}; there are {', '.join(PACKAGES)}")
    asked.folder.mkdir(parents=True, exist_ok=True)
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(15)
    failed = 0
    for client in asked.clients or CLIENTS:
        if client in versions_in(asked.folder) and python_of(asked.folder, client).exists() and not asked.again:
            continue
        try:
            made = make(asked.folder, client)
        except subprocess.CalledProcessError as error:
            print(f"{client}: could not be installed ({error})", flush=True)
            failed += 1
            continue
        print(f"{client} {made['version']}: {made['packages']} packages, {made['size_mb']} MB, {made['made_in_s']} s", flush=True)
        versions = versions_in(asked.folder) | {client: made}
        (asked.folder / "versions.json").write_text(json.dumps(versions, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
