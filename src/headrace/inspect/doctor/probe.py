"""A probe: what it asks, and how the evidence is judged.

The rule of this file: pure. A probe says what to ask next from what it has seen, and judges it; who asks is `ask.py`. It judges the server,
not the model's wits: a model that did not do as it was asked leaves the thing `unclear`, after it was asked in other words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from headrace._json import EMPTY
from headrace.inspect.doctor.evidence import Evidence, Seen
from headrace.messages.message import Message
from headrace.messages.request import OutputFormat, Settings, ToolChoice, ToolSpec

Level: TypeAlias = Literal["right", "wrong", "unsupported", "unclear"]
LEVELS: Final[tuple[Level, ...]] = ("wrong", "unsupported", "unclear", "right")
"""Every level, in the order in which a reader wants them."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about one thing.

    Attributes:
        level: `right`, `wrong`, `unsupported` (it says no, or has no such thing), `unclear` (it could not be found out).
        what: the finding in a sentence.
        detail: what was seen, and what it means for those who use the server.
        switches: the `Profile` switches with which Headrace copes.
        probe: the probe's name.
        evidence: the recordings that show it, as paths.
    """

    level: Level
    what: str
    detail: str = ""
    switches: dict[str, Any] = EMPTY
    probe: str = ""
    evidence: tuple[str, ...] = ()


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question.

    Attributes:
        name: names it within its probe, and its recording.
        messages: a text (one user message), or the history.
        tools, tool_choice, output, settings, is_streamed: as for `Model.stream`.
        model: another model's name than the one that is examined, or None.
        profile: switches that differ for this question.
        leaves_early: leave as soon as the answer has begun.
    """

    name: str
    messages: str | tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    output: OutputFormat | None = None
    settings: Settings = Settings()
    is_streamed: bool = True
    model: str | None = None
    profile: dict[str, Any] = EMPTY
    leaves_early: bool = False


JudgeOne: TypeAlias = Callable[[Evidence], Finding]


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to find out.

    Attributes:
        name: its name, for `--only`.
        question: what it finds out, for people.
        possible: every question that it may ask.
        then: which questions come next, after what was seen; they may be asked side by side. None: the probe is done.
        judge: what the evidence shows.
        is_alone: whether nothing else may be asked meanwhile.
        protocols: the protocols that have such a thing; empty: all.
    """

    name: str
    question: str
    possible: tuple[Ask, ...]
    then: Callable[[Seen], tuple[Ask, ...]]
    judge: Callable[[Seen], tuple[Finding, ...]]
    is_alone: bool = False
    protocols: tuple[str, ...] = ()

    @property
    def max_tokens(self) -> int:
        """The most tokens that its questions let the model generate."""
        return sum((ask.settings.max_tokens or 0) * (ask.settings.n or 1) for ask in self.possible)

    def findings(self, seen: Seen) -> tuple[Finding, ...]:
        """Return what the evidence shows, with the probe's name and the recordings on each finding."""
        captures = tuple(evidence.capture for evidence in seen if evidence.capture)
        return tuple(
            msgspec.structs.replace(found, probe=self.name, evidence=found.evidence or captures[-1:]) for found in self.judge(seen)
        )


def in_other_words(*asks: Ask, judge: JudgeOne) -> tuple[Callable[[Seen], tuple[Ask, ...]], Callable[[Seen], tuple[Finding, ...]]]:
    """Return `then` and `judge` of a probe that asks again, in other words, while what it saw is unclear.

    Args:
        asks: the question, in one wording after the other.
        judge: judges one answer.
    """

    def then(seen: Seen) -> tuple[Ask, ...]:
        if len(seen) >= len(asks) or (seen and judge(seen[-1]).level != "unclear"):
            return ()
        return (asks[len(seen)],)

    def judged(seen: Seen) -> tuple[Finding, ...]:
        return (judge(seen[-1]),)

    return then, judged


def asking(name: str, question: str, *asks: Ask, judge: JudgeOne, is_alone: bool = False, protocols: Iterable[str] = ()) -> Probe:
    """Return a probe with one question, asked in other words while the answer leaves it unclear."""
    then, judged = in_other_words(*asks, judge=judge)
    return Probe(name=name, question=question, possible=asks, then=then, judge=judged, is_alone=is_alone, protocols=tuple(protocols))


def right(what: str, detail: str = "", **switches: Any) -> Finding:
    """Return a finding that something is as it should be."""
    return Finding(level="right", what=what, detail=detail, switches=switches)


def wrong(what: str, detail: str = "", **switches: Any) -> Finding:
    """Return a finding that something is not as it should be."""
    return Finding(level="wrong", what=what, detail=detail, switches=switches)


def unsupported(what: str, detail: str = "", **switches: Any) -> Finding:
    """Return a finding that there is no such thing here."""
    return Finding(level="unsupported", what=what, detail=detail, switches=switches)


def unclear(what: str, detail: str = "") -> Finding:
    """Return a finding that something could not be found out."""
    return Finding(level="unclear", what=what, detail=detail)
