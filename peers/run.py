"""Asks real clients for broken streams, directly and through the gateway, and writes down who understood what.

    python peers/run.py                            all clients that have an environment, all cases; writes docs/peers.md
    python peers/run.py --clients openai litellm   these alone; prints what they do, and writes no page
    python peers/run.py --match index              cases whose name holds this; likewise
    python peers/run.py --ways direct              without the gateway

`python peers/make_environments.py` makes the environments. See docs/peers.md for what is judged, and how.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import page
from asking import ask_all
from cases import all_cases, meanings, why_not_carried
from desk import served
from judging import NOT_CARRIED, OWN, RIGHT, WRONG, broken, inabilities_of, judge_all
from make_environments import CLIENTS, FOLDER, ROOT, python_of, versions_in
from own_cases import CONTROLS, Case

import headrace

PAGE = ROOT / "docs" / "peers.md"
SCRIPTS = {client: f"ask_{client.removesuffix('-openai').replace('-', '_')}.py" for client in CLIENTS}
WAYS = ("direct", "gateway", "refusing")
"""Without the gateway, with it, and with one that refuses calls that were cut off; to that one only answers with a broken call matter."""
Answers = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""By way, by client, by case: the client's line."""


async def ask(asked: argparse.Namespace, cases: list[Case], clients: list[str]) -> Answers:
    """Ask all clients for all cases, a few clients at a time."""
    answers: Answers = {way: {} for way in asked.ways}
    turns = asyncio.Semaphore(asked.parallel)
    async with served(cases, ways=asked.ways) as urls:

        async def one(client: str, way: str) -> None:
            async with turns:
                start = time.monotonic()
                questions = [(case.name, urls[way][case.name]) for case in cases if way != "refusing" or any(map(broken, meanings(case)))]
                answers[way][client] = await ask_all(python_of(asked.folder, client), SCRIPTS[client], questions)
                print(f"{client}, {way}: {len(questions)} cases in {time.monotonic() - start:.0f} s", flush=True)

        await asyncio.gather(*(one(client, way) for client in clients for way in asked.ways))
    return answers


def results_of(cases: list[Case], answers: Answers, versions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return everything that was found, JSON-ready: the verdicts, and the lines that they rest on."""
    truths = {case.name: meanings(case) for case in cases}
    controls = [case.name for case in cases if case in CONTROLS]
    clients = {
        client: {
            "version": versions[client]["version"],
            "inabilities": inabilities_of((truths[name][0], answers["direct"][client][name]) for name in controls),
        }
        for client in answers["direct"]
    }
    found: dict[str, Any] = {}
    for case in cases:
        truth = truths[case.name][0]
        facts: dict[str, Any] = {
            "group": "own" if case.group == "own" else "conformance",
            "title": case.title if case.group == "own" else "",
            "is_control": case in CONTROLS,
            "needs_telling": any(case.options.values()),
            "not_carried": why_not_carried(truth),
            "meaning": {name: value for name, value in truth.items() if name != "message"},
        }
        for way, by_client in answers.items():
            facts[way] = {
                client: _verdict(facts, way, truths[case.name], lines[case.name], clients[client]["inabilities"])
                for client, lines in by_client.items()
                if case.name in lines
            }
        found[case.name] = facts
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "headrace": headrace.__version__,
        "python": platform.python_version(),
        "clients": clients,
        "cases": found,
    }


def _verdict(facts: dict[str, Any], way: str, truths: list[dict[str, Any]], line: dict[str, Any], inabilities: list[str]) -> dict[str, Any]:
    word, differs = judge_all(truths, line, inabilities)
    if facts["needs_telling"] and way == "direct" and word == WRONG:
        word = page.NOT_TOLD
    if facts["not_carried"] and way != "direct" and word not in {RIGHT, OWN}:
        word = NOT_CARRIED
    return {"word": word, "differs": differs, "line": line}


def say(results: dict[str, Any]) -> None:
    """Print who breaks on what."""
    for way in WAYS:
        for name, hurt in page.broken_by(results, way).items():
            for client, verdict in hurt.items():
                print(f"{way:8} {name:40} {client:18} {verdict['word']}: {', '.join(verdict['differs'])}")


def main() -> int:
    """Run; returns the exit status: 1 if a client breaks behind the gateway."""
    parser = argparse.ArgumentParser(description="Real clients, broken streams, with and without the gateway.")
    parser.add_argument("--clients", nargs="*", choices=CLIENTS, default=[], help="these alone")
    parser.add_argument("--match", default="", help="cases whose name holds this; the controls are always asked")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the environments are (default: .peers)")
    parser.add_argument("--parallel", type=int, default=2, help="how many clients at a time")
    parser.add_argument("--json", type=Path, help="where everything that was found goes (default: results.json beside the environments)")
    asked = parser.parse_args()
    asked.ways = sorted({"direct", *asked.ways})  # what a client makes of clean streams is needed for every judgement
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(10)
    versions = versions_in(asked.folder)
    clients = [client for client in asked.clients or CLIENTS if client in versions]
    if not clients:
        print(f"there are no environments in {asked.folder}: python peers/make_environments.py makes them", file=sys.stderr)
        return 2
    logging.disable(logging.WARNING)  # each repair of the gateway is a line of its log
    cases = [case for case in all_cases() if case in CONTROLS or asked.match in case.name]
    results = results_of(cases, asyncio.run(ask(asked, cases, clients)), versions)
    say(results)
    (asked.json or asked.folder / "results.json").write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if not asked.match and len(clients) == len(CLIENTS):
        page.write(PAGE, results)
        print(f"{PAGE.relative_to(ROOT)} is written")
    return 1 if page.broken_by(results, "gateway") or page.broken_by(results, "refusing") else 0


if __name__ == "__main__":
    sys.exit(main())
