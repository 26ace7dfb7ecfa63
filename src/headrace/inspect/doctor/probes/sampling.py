"""Settings: several answers, words that end one, sampling. Pure."""

from __future__ import annotations

from typing import Any, Final

from headrace.inspect.doctor.evidence import Evidence, Seen
from headrace.inspect.doctor.probe import Ask, Finding, Probe, asking, right, unclear, unsupported, wrong
from headrace.inspect.doctor.questions import briefly
from headrace.inspect.doctor.trouble import trouble, unless_trouble
from headrace.messages.request import Settings

_STOP: Final = ","
_HINTS: Final[dict[str, Any]] = {"top_p": 0.9, "seed": 7, "frequency_penalty": 0.1, "presence_penalty": 0.1}
_WORDS: Final = "Name a colour."


def _judge_n(evidence: Evidence) -> Finding:
    if evidence.indexes_seen == 1:
        return wrong("n = 2 is taken, and one answer comes", unsupported_settings=("n",))
    if not all(choice.text and choice.finish_reason for choice in evidence.choices):
        return wrong("n = 2 gives two answers, and one of them is not whole")
    return right("n = 2 gives two answers")


def _judge_stop(evidence: Evidence) -> Finding:
    if _STOP in evidence.text:
        return wrong(
            "stop is taken and not kept: the word that should end the answer is in it",
            f"{evidence.text[:80]!r}",
            unsupported_settings=("stop",),
        )
    if evidence.finish != "stop" or not any(letter.isdigit() for letter in evidence.text):
        return unclear("stop: the model did not come to the word", f"{evidence.text[:80]!r}, ended with {evidence.finish!r}")
    return right("stop ends the answer, and the word itself is left out")


_ALL: Final = Ask(name="all", messages=_WORDS, settings=Settings(max_tokens=16, temperature=0.2, **_HINTS))
_EACH: Final = tuple(
    Ask(name=name.replace("_", "-"), messages=_WORDS, settings=briefly(16, **{name: value})) for name, value in _HINTS.items()
)


def _then_settings(seen: Seen) -> tuple[Ask, ...]:
    if not seen:
        return (_ALL,)
    return _EACH if len(seen) == 1 and seen[0].is_refused else ()


def _taken(evidence: Evidence) -> Finding:
    told = [name for name in _HINTS if evidence.was_told(name)]
    lacking = [name for name in _HINTS if name not in told]
    words = ", ".join(told)
    if lacking:
        words += f"; this protocol has no {', '.join(lacking)}"
    return right("The usual settings of sampling are taken", words)


def _judge_settings(seen: Seen) -> tuple[Finding, ...]:
    if not seen[0].is_refused:
        return (trouble(seen[0]) or _taken(seen[0]),)
    refused = [(name, evidence) for name, evidence in zip(_HINTS, seen[1:], strict=False) if evidence.is_refused]
    if not refused:
        return (
            unclear("Settings of sampling: together they are refused, each alone is taken", seen[0].failed.words if seen[0].failed else ""),
        )
    return tuple(
        unsupported(f"{name} is refused", evidence.failed.words if evidence.failed else "", unsupported_settings=(name,))
        for name, evidence in refused
    )


SAMPLING: Final = (
    asking(
        "two_answers",
        "Does n = 2 give two answers?",
        Ask(name="two", messages=_WORDS, settings=briefly(24, n=2)),
        judge=unless_trouble(_judge_n, refused="n = 2 is refused", unsupported_settings=("n",)),
    ),
    asking(
        "stop",
        "Does a stop word end the answer?",
        Ask(name="numbers", messages="Write this line exactly: 1, 2, 3, 4, 5", settings=briefly(32, stop=(_STOP,))),
        Ask(name="count", messages="Count from 1 to 9 with a comma after each number.", settings=briefly(32, stop=(_STOP,))),
        Ask(name="days", messages='Continue: "1, 2, 3, "', settings=briefly(32, stop=(_STOP,))),
        judge=unless_trouble(_judge_stop, refused="stop is refused", unsupported_settings=("stop",)),
    ),
    Probe(
        name="sampling",
        question="Which settings of sampling are taken?",
        possible=(_ALL, *_EACH),
        then=_then_settings,
        judge=_judge_settings,
    ),
)
