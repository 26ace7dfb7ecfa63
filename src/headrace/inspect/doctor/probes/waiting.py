"""Waiting and leaving: how long nothing comes, and what happens to others when a client leaves. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from headrace.inspect.doctor.evidence import Evidence, Seen, of
from headrace.inspect.doctor.probe import Ask, Finding, Probe, asking, right, wrong
from headrace.inspect.doctor.questions import briefly
from headrace.inspect.doctor.trouble import trouble, unless_trouble

_LEAVER: Final = Ask(name="leaver", messages="Count from 1 to 500, one number a line.", settings=briefly(400), leaves_early=True)
_OTHER: Final = Ask(name="other", messages="Say hello in one short sentence.", settings=briefly(24))
_AFTER: Final = Ask(name="after", messages="Say goodbye in one short sentence.", settings=briefly(24))

_PROMPT: Final = (
    "Here is a list. "
    + " ".join(
        f"Item {n}: the mill number {n} has a wheel of {n % 7 + 2} metres and grinds {n * 13 % 90 + 10} sacks a day." for n in range(1, 17)
    )
    + " Which mill was named first? Answer in one short sentence."
)
_SILENCE_MS: Final = 15_000.0
"""Proxies and clients often give up after so long without a byte, or not much longer."""


def _judge_leaving(seen: Seen) -> tuple[Finding, ...]:
    leaver, other, after = of(seen, _LEAVER.name), of(seen, _OTHER.name), of(seen, _AFTER.name)
    assert leaver is not None
    if found := trouble(leaver):
        return (found,)
    for evidence, words in (
        (other, "A request beside one whose client left did not end well"),
        (after, "After a client left, the next request did not end well"),
    ):
        if evidence is not None and evidence.failed is not None:
            return (wrong(words, evidence.failed.words),)
    left = "after its first piece" if leaver.is_left else "too late: the answer had ended already"
    return (right("A client may leave: other requests and the next one end well", f"the client left {left}"),)


def _then_leaving(seen: Seen) -> tuple[Ask, ...]:
    return {0: (_LEAVER, _OTHER), 2: (_AFTER,)}.get(len(seen), ())


def _judge_silence(evidence: Evidence) -> Finding:
    reads = evidence.reads_ms
    if not reads:
        return wrong("Nothing came")
    silences = [reads[0], *(later - earlier for earlier, later in pairwise(reads))]
    longest = max(silences)
    first = evidence.message.timing.first_chunk_s if evidence.message.timing is not None else None
    words = f"first bytes after {reads[0] / 1000:.1f} s" + (f", first piece after {first:.1f} s" if first is not None else "")
    words += f", longest silence {longest / 1000:.1f} s, {evidence.comments} comments"
    if longest > _SILENCE_MS and not evidence.comments:
        return wrong("For a long time nothing comes, not even a comment to keep the connection alive", words)
    return right("The connection does not stay silent for long", words)


WAITING: Final = (
    Probe(
        name="leaving",
        question="Do other requests go on when a client leaves?",
        possible=(_LEAVER, _OTHER, _AFTER),
        then=_then_leaving,
        judge=_judge_leaving,
        is_alone=True,
    ),
    asking(
        "silence",
        "How long does nothing come, and are there comments meanwhile?",
        Ask(name="long-prompt", messages=_PROMPT, settings=briefly(24)),
        judge=unless_trouble(_judge_silence),
        is_alone=True,
    ),
)
