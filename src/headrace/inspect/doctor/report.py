"""The report of an examination, for people and as JSON. Pure.

The rule of this file: it says what was found and judges nothing. What is wrong comes first, with the recording that shows it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from headrace.inspect.doctor.ask import Examination
from headrace.inspect.doctor.probe import LEVELS, Finding, Level

Look: TypeAlias = Literal["text", "label", "note", "title", "right", "wrong", "unsupported", "unclear"]


class Word(NamedTuple):
    """A piece of the report; it may end with a newline."""

    text: str
    look: Look = "text"


TITLES: Final[dict[Level, str]] = {
    "wrong": "wrong",
    "unsupported": "not supported",
    "unclear": "unclear",
    "right": "right",
}
_NAME_WIDTH: Final = 22
_WIDTH: Final = 118


def text_report(examination: Examination, *, profile_goes_to: str = "") -> list[Word]:
    """Return the report: what was asked of whom, then the findings, the wrong ones first, then what was not asked.

    Args:
        examination: what was found.
        profile_goes_to: the file that its profile is written to; "": none yet.
    """
    endpoint, findings = examination.endpoint, examination.findings
    words = [
        Word(f"{endpoint.model} at {endpoint.base_url}", "title"),
        Word(f", by {endpoint.protocol}\n{cost_of(examination)}\n", "note"),
    ]
    for level in LEVELS:
        of_level = [finding for finding in findings if finding.level == level]
        if of_level:
            words.append(Word(f"\n{TITLES[level]} ({len(of_level)})\n", level))
            words += [word for finding in of_level for word in _finding(finding)]
    if examination.is_nobody_there:
        words.append(Word("\nNothing else was asked: nobody answers there.\n", "note"))
    elif examination.not_asked:
        words.append(Word(f"\nnot finished: {', '.join(examination.not_asked)}\n", "note"))
    if switches := examination.switches:
        where = f"in {profile_goes_to}" if profile_goes_to else "write it with --profile FILE"
        words.append(Word(f"\nprofile: {', '.join(switches)} ({where})\n", "note"))
    return words


def finding_line(finding: Finding) -> list[Word]:
    """Return a finding in one line, for whoever watches."""
    return [
        Word(f"{TITLES[finding.level]:<14}", finding.level),
        Word(f"{finding.probe:<{_NAME_WIDTH}}", "label"),
        Word(f"{finding.what}\n"),
    ]


def cost_of(examination: Examination) -> str:
    """Return how much was asked, in words."""
    tokens = f"{examination.input_tokens:,} tokens in, {examination.output_tokens:,} out"
    return f"{examination.requests} requests, {tokens}, {examination.seconds:.1f} s"


def document_of(examination: Examination) -> dict[str, Any]:
    """Return the report as a JSON-ready dictionary."""
    endpoint, findings = examination.endpoint, examination.findings
    return {
        "base_url": endpoint.base_url,
        "model": endpoint.model,
        "protocol": endpoint.protocol,
        "requests": examination.requests,
        "input_tokens": examination.input_tokens,
        "output_tokens": examination.output_tokens,
        "seconds": round(examination.seconds, 3),
        "is_reachable": not examination.is_nobody_there,
        "not_finished": list(examination.not_asked),
        "counts": counts_of(findings),
        "findings": [
            {
                "probe": finding.probe,
                "level": finding.level,
                "what": finding.what,
                "detail": finding.detail,
                "switches": dict(finding.switches),
                "evidence": list(finding.evidence),
            }
            for finding in findings
        ],
        "profile": examination.switches,
    }


def counts_of(findings: Iterable[Finding]) -> dict[Level, int]:
    """Return how many findings there are of each level."""
    found: Sequence[Finding] = tuple(findings)
    return {level: sum(finding.level == level for finding in found) for level in LEVELS}


def _finding(finding: Finding) -> Iterator[Word]:
    yield Word(f"  {finding.probe:<{_NAME_WIDTH}}", "label")
    yield Word(_indented(finding.what))
    if finding.detail:
        yield Word(f"{' ' * (_NAME_WIDTH + 2)}{_indented(finding.detail)}", "note")
    if finding.level in ("wrong", "unsupported"):
        for capture in finding.evidence:
            yield Word(f"{' ' * (_NAME_WIDTH + 2)}{capture}\n", "note")


def _indented(text: str) -> str:
    """A text wrapped beside the names; it may hold what a server said, so white space in it is made plain."""
    lines = textwrap.wrap(" ".join(text.split()), _WIDTH - _NAME_WIDTH - 2, break_on_hyphens=False) or [""]
    return f"\n{' ' * (_NAME_WIDTH + 2)}".join(lines) + "\n"
