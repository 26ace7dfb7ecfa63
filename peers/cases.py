"""What is tried: the controls, the faults written here, and the fault cases of the conformance folder where that is there.

The conformance folder is read in place: HEADRACE_CONFORMANCE names it, or it lies beside the repository. What a stream means is what
`headrace.decode_stream` makes of it, which the tests hold against what the cases say of themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from own_cases import CONTROLS, FAULTS, Case

import headrace

ROOT = Path(__file__).resolve().parents[1]
PROTOCOL = "openai-chat"


def conformance() -> Path | None:
    """Return the folder of fault cases, or None."""
    named = os.environ.get("HEADRACE_CONFORMANCE")
    folder = Path(named).expanduser() if named else ROOT.parent / "shared" / "conformance"
    return folder / "cases" if (folder / "cases").is_dir() else None


def conformance_cases(folder: Path | None) -> Iterator[Case]:
    """Give the fault cases of Chat Completions, in the order of their numbers."""
    for file in sorted(folder.glob("*.json")) if folder else ():
        facts = json.loads(file.read_text(encoding="utf-8"))
        if facts["protocol"] == PROTOCOL:
            yield Case(
                name=facts["id"],
                title=facts["title"],
                segments=_segments(facts),
                group=facts["group"],
                content_type=facts.get("content_type") or "text/event-stream",
                options=facts.get("options") or {},
                also_right=tuple(facts.get("also_acceptable") or ()),
            )


def all_cases() -> list[Case]:
    """Return all of them: the controls first."""
    return [*CONTROLS, *FAULTS, *conformance_cases(conformance())]


def meaning(case: Case) -> dict[str, Any]:
    """Return what a stream means: the summary of its decoding."""
    decoder = headrace.StreamDecoder(protocol=PROTOCOL, options=case.options, content_type=case.content_type)
    for segment in case.segments:
        decoder.feed(segment)
    decoder.close(complete=not case.is_broken_off)
    return decoder.result.summary()


def meanings(case: Case) -> list[dict[str, Any]]:
    """Return what a stream means, and after it what else it may be taken for."""
    truth = meaning(case)
    others = [
        {name: value for name, value in other.items() if name in {"text", "tool_calls", "finish_reason", "error"}}
        for other in case.also_right
    ]
    return [truth, *(truth | other for other in others)]


def why_not_carried(truth: dict[str, Any]) -> str | None:
    """Return why Chat Completions has no form for what a stream means, or None where it has one."""
    if any(not call["name"] for call in truth["tool_calls"]):
        return "a call without a name"
    return None


def _segments(facts: dict[str, Any]) -> tuple[bytes, ...]:
    if "segments_hex" in facts:
        return tuple(bytes.fromhex(segment) for segment in facts["segments_hex"])
    eol = facts.get("eol", "\n")
    return ((eol.join(facts["wire"]) + (eol if facts.get("final_eol", True) else "")).encode(),)
