"""The bound on an answer: whether it is kept, and said, also in the middle of a call. Pure."""

from __future__ import annotations

from typing import Final

from headrace.inspect.doctor.evidence import Evidence
from headrace.inspect.doctor.probe import Ask, Finding, asking, right, unclear, wrong
from headrace.inspect.doctor.questions import WRITE, briefly
from headrace.inspect.doctor.trouble import unless_trouble

_BOUND: Final = 8
_CALL_BOUND: Final = 24
# What a word of prose has at the very most, and what a server may add at the end.
_CHARACTERS: Final = 12 * _BOUND
_SPARE: Final = 2


def _judge_bound(evidence: Evidence) -> Finding:
    tokens = evidence.output_tokens
    size = len(evidence.text) + len(evidence.message.reasoning or "")
    if (tokens or 0) > _BOUND + _SPARE or size > _CHARACTERS:
        return wrong("max_tokens is not kept", f"{_BOUND} were allowed; {tokens} tokens, {size} characters came")
    if evidence.finish == "length":
        return right("max_tokens is kept, and the answer says that it was cut off", f"{tokens} tokens")
    if evidence.finish == "stop" and (tokens or 0) < _BOUND:
        return unclear("The answer was shorter than its bound", evidence.text[:80])
    return wrong(
        "An answer that was cut off does not say so",
        f"it has the {_BOUND} tokens that were allowed, and ends with {evidence.message.finish_reason_raw!r} instead of length",
    )


def _judge_call(evidence: Evidence) -> Finding:
    if any(call.runnable for call in evidence.calls):
        return unclear("The call was shorter than the bound", evidence.calls[0].arguments[:80])
    if evidence.finish == "length" and evidence.calls:
        return right(
            "A call that was cut off comes with the finish reason length", f"arguments so far: {evidence.calls[0].arguments[:60]!r}"
        )
    if evidence.finish == "length":
        return right("An answer that was cut off in a call comes with the finish reason length, and without the call")
    if evidence.calls:
        return wrong(
            "A call that was cut off ends as if it were whole",
            f"finish reason {evidence.message.finish_reason_raw!r}, arguments {evidence.calls[0].arguments[:60]!r}; Headrace does not run such a call",
        )
    return unclear("The model did not call the tool", evidence.text[:80])


LENGTHS: Final = (
    asking(
        "max_tokens",
        "Is max_tokens kept, and said?",
        Ask(name="story", messages="Tell a long story about a mill, in twenty sentences.", settings=briefly(_BOUND)),
        Ask(name="count", messages="Count from 1 to 100.", settings=briefly(_BOUND)),
        judge=unless_trouble(_judge_bound, refused="So small a bound is refused"),
    ),
    asking(
        "cut_arguments",
        "What comes when a call is cut off?",
        Ask(
            name="letter",
            messages="Write a letter about the sea, of at least ten sentences.",
            tools=(WRITE,),
            tool_choice="required",
            settings=briefly(_CALL_BOUND),
        ),
        Ask(
            name="long-letter",
            messages="Use write_letter now: a letter of at least thirty sentences about a mill.",
            tools=(WRITE,),
            settings=briefly(_CALL_BOUND),
        ),
        judge=unless_trouble(_judge_call),
    ),
)
