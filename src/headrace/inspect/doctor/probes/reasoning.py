"""Reasoning: in which form it comes, and whether it may go back. Pure."""

from __future__ import annotations

from typing import Any, Final

from headrace.inspect.doctor.evidence import Evidence, Seen, of
from headrace.inspect.doctor.probe import Ask, Finding, Probe, right, unclear, unsupported, wrong
from headrace.inspect.doctor.questions import briefly
from headrace.inspect.doctor.trouble import trouble
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import ReasoningPart, TextPart

FIELDS: Final = ("reasoning_content", "reasoning")
DETAILS: Final = "reasoning_details"
_OPENS: Final = ("<think>", "<thinking>")
_CLOSES: Final = ("</think>", "</thinking>")
_QUESTION: Final = "How many letters r are in the word strawberry? Think it through, then answer in one sentence."
_BACK: Final = (
    UserMessage("What is 2 + 2?"),
    AssistantMessage([ReasoningPart("Two and two make four."), TextPart("4")]),
    UserMessage("And twice that? Answer with the number."),
)
_FORWARD: Final = Ask(name="think", messages=_QUESTION, settings=briefly(400))


def _back(field: str) -> Ask:
    return Ask(
        name=f"back-{field.replace('_', '-')}",
        messages=_BACK,
        settings=briefly(200),
        profile={"reasoning_style": "field", "reasoning_field": field},
    )


def field_of(evidence: Evidence) -> str | None:
    """Return the name of the text field in which thinking came, or None."""
    return next((name for name, value in evidence.values_of(*FIELDS) if isinstance(value, str)), None)


def _then(seen: Seen) -> tuple[Ask, ...]:
    if not seen:
        return (_FORWARD,)
    field = field_of(seen[0])
    return (_back(field),) if field is not None and len(seen) == 1 and seen[0].is_answered else ()


def _judge(seen: Seen) -> tuple[Finding, ...]:
    evidence = seen[0]
    if found := trouble(evidence):
        return (found,)
    text = evidence.text
    tag = next((tag for tag in (*_OPENS, *_CLOSES) if tag in text), None)
    if tag is not None:
        return (_tagged(text, tag),)
    if not evidence.message.reasoning and not evidence.message.parts_of(ReasoningPart):
        return (unsupported("No reasoning is shown", "the model does not think, or the server keeps it"),)
    if evidence.values_of(DETAILS):
        form = right("Reasoning comes by itself, in reasoning_details", reasoning_style="details")
        return (form, *_whole(evidence))
    field = field_of(evidence)
    if field is None:
        return (right("Reasoning comes by itself", f"{len(evidence.message.reasoning or ''):,} characters"), *_whole(evidence))
    return (_field(field, of(seen, _back(field).name)), *_whole(evidence))


def _tagged(text: str, tag: str) -> Finding:
    options: dict[str, Any] = {"think_tags": True}
    is_open = not any(opening in text for opening in _OPENS)
    if is_open:
        options["think_starts_open"] = True
    return wrong(
        "Reasoning comes as tags in the text",
        f"{tag} stands in the text{', and nothing opens it (the template does)' if is_open else ''}; every client that shows the text shows it",
        decode_options=options,
    )


def _field(field: str, back: Evidence | None) -> Finding:
    switches: dict[str, Any] = {"reasoning_field": field}
    what = f"Reasoning comes by itself, in the field {field}"
    if back is None:
        return right(what)
    if back.is_refused:
        words = back.failed.words if back.failed is not None else ""
        return right(f"{what}; it must not go back", words, reasoning_style="none", **switches)
    return right(f"{what}, and it may go back in it", reasoning_style="field", **switches)


def _whole(evidence: Evidence) -> tuple[Finding, ...]:
    if evidence.text or evidence.calls or evidence.finish == "length":
        return ()
    return (unclear("The answer was reasoning alone", f"it ended with {evidence.finish!r} and no text"),)


REASONING: Final = (
    Probe(
        name="reasoning",
        question="In which form does reasoning come, and may it go back?",
        possible=(_FORWARD, _back(FIELDS[0])),
        then=_then,
        judge=_judge,
    ),
)
