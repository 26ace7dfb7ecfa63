"""The tables of docs/peers.md, and how they get there.

The rule of this file: pure but for `write`. What stands between the two markers is written by the script, all else by people.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from judging import NOT_CARRIED, OWN, RIGHT, WRONG

JSON = dict[str, Any]
BEGIN = "<!-- written by `make peers` -->"
END = "<!-- end of what `make peers` wrote -->"
NOT_TOLD = "not told"
"""The stream looks like an honest one, and a reader has to be told beforehand: that a client takes it for one is no fault."""
WAYS = ("direct", "gateway", "refusing")
HELD = (RIGHT, OWN, NOT_TOLD, NOT_CARRIED)


def tables(results: JSON) -> str:
    """Return the tables: what was run, the counts, and all cases on which a client broke."""
    clients: list[str] = list(results["clients"])
    parts = [_run(results), _counts(results, clients)]
    for title, wanted in (("The faults written here", True), ("The fault cases of the conformance folder", False)):
        cases = {name: case for name, case in results["cases"].items() if (case["group"] == "own") == wanted and not case["is_control"]}
        if cases:
            parts.append(f"### {title}\n\n{_cases(results, clients, cases)}")
    parts.append(f"### What clients do not make of clean streams\n\n{_controls(results, clients)}")
    return "\n\n".join(parts)


def write(page: Path, results: JSON) -> None:
    """Put the tables into the page, between its markers.

    Raises:
        ValueError: the page has none.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} lacks the markers {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n\n{END}{after}", encoding="utf-8")


def broken_by(results: JSON, way: str) -> dict[str, dict[str, JSON]]:
    """Return the cases that are no controls and on which a client breaks: by case, by client."""
    found: dict[str, dict[str, JSON]] = {}
    for name, case in results["cases"].items():
        for client, verdict in () if case["is_control"] else case.get(way, {}).items():
            if verdict["word"] not in HELD:
                found.setdefault(name, {})[client] = verdict
    return found


def _run(results: JSON) -> str:
    versions = ", ".join(f"{name} {facts['version']}" for name, facts in results["clients"].items())
    faults = sum(not case["is_control"] for case in results["cases"].values())
    return (
        f"Run on {results['date']} with headrace {results['headrace']} and Python {results['python']}: "
        f"{faults} broken streams and {len(results['cases']) - faults} clean ones, each asked for with {versions}."
    )


def _counts(results: JSON, clients: list[str]) -> str:
    faults = [case for case in results["cases"].values() if not case["is_control"]]
    rows = [
        "| client | version | breaks directly | of these: raises | breaks behind the gateway | own, behind the gateway | own, behind one that refuses cut calls |",
        "|---|---|---|---|---|---|---|",
    ]
    for client in clients:
        direct, behind, refusing = ([case[way][client] for case in faults if client in case.get(way, {})] for way in WAYS)
        hurt = [verdict for verdict in direct if verdict["word"] not in HELD]
        raises = sum(verdict["word"] != WRONG for verdict in hurt)
        cells = [f"{len(hurt)} of {len(direct)}", str(raises), "not run", "not run", "not run"]
        if behind:
            cells[2] = f"{sum(verdict['word'] not in HELD for verdict in behind)} of {len(behind)}"
            cells[3] = str(sum(verdict["word"] == OWN for verdict in behind))
        if refusing:
            cells[4] = str(sum(verdict["word"] == OWN for verdict in refusing))
        rows.append(f"| {client} | {results['clients'][client]['version']} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cases(results: JSON, clients: list[str], cases: dict[str, JSON]) -> str:
    behind = broken_by(results, "gateway")
    rows = [f"| case | {' | '.join(clients)} | behind the gateway |", "|---|" + "---|" * (len(clients) + 1)]
    fine: list[str] = []
    for name, case in cases.items():
        if all(verdict["word"] == RIGHT for way in WAYS for verdict in case.get(way, {}).values()):
            fine.append(name)
            continue
        cells = [_cell(case.get("direct", {}).get(client)) for client in clients]
        rows.append(f"| {_name(name, case)} | {' | '.join(cells)} | {_behind(case, behind.get(name, {}))} |")
    said = (
        f"\n\nOn the other {len(fine)} all clients understand everything, directly and behind the gateway: {', '.join(f'`{name}`' for name in fine)}."
        if fine
        else ""
    )
    return "\n".join(rows) + said


def _controls(results: JSON, clients: list[str]) -> str:
    rows = ["| client | not held against it |", "|---|---|"]
    rows += [f"| {client} | {', '.join(results['clients'][client]['inabilities']) or 'nothing'} |" for client in clients]
    return "\n".join(rows)


def _name(name: str, case: JSON) -> str:
    told = " (a reader has to be told)" if case["needs_telling"] else ""
    return f"`{name}`: {case['title']}{told}" if case["group"] == "own" else f"`{name}`{told}"


def _cell(verdict: JSON | None) -> str:
    if verdict is None:
        return "not run"
    match verdict["word"]:
        case "right":
            return "·"
        case "own" | "not told" | "not carried":
            return f"({verdict['word']})"
        case word:
            return f"**{word}**: {', '.join(verdict['differs'])}" if verdict["differs"] else f"**{word}**"


def _behind(case: JSON, hurt: dict[str, JSON]) -> str:
    if not case.get("gateway"):
        return "not run"
    verdicts = case["gateway"]
    said = [f"{client} {_cell(verdict)}" for client, verdict in hurt.items()]
    for word in (OWN, NOT_CARRIED):
        named = sorted(client for client, verdict in verdicts.items() if verdict["word"] == word)
        said += [f"{', '.join(named)}: ({word})"] if named else []
    if not said:
        return f"all hold: an error says it, since there is no form for {case['not_carried']}" if case["not_carried"] else "all hold"
    return "; ".join(said) if hurt else f"all others hold; {'; '.join(said)}"
