"""Refusals: with which status and in which form the server says no. Pure."""

from __future__ import annotations

from typing import Any, Final

from headrace.inspect.doctor.evidence import Evidence, Failed, members
from headrace.inspect.doctor.probe import Ask, Finding, Probe, right, unsupported, wrong
from headrace.inspect.doctor.questions import briefly
from headrace.inspect.doctor.trouble import trouble

_NO_SUCH_MODEL: Final = "no-such-model-0"
# Where a protocol keeps what is said.
_MESSAGES: Final = ("messages", "input", "contents")
# Where a refusal keeps its words: a message, or a text as the error itself.
_WORDS: Final = ("message", "error")
_BAD: Final[dict[str, Any]] = dict.fromkeys(_MESSAGES, 5)


def form_of(evidence: Evidence) -> str | None:
    """Return what is odd about the form of a refusal, or None if a client can read it."""
    text = evidence.beginning.lstrip()
    if not text:
        return "it has no body"
    if text.startswith("<"):
        return "it is a web page"
    if not evidence.events:
        return f"it is no JSON: {text[:80]!r}"
    said = [value for key, value in members(evidence.events[0]) if key in _WORDS]
    return None if any(isinstance(value, str) and value for value in said) else f"it has no error with a message: {text[:80]!r}"


def _said_no(evidence: Evidence, failed: Failed, what: str) -> tuple[Finding, ...]:
    if failed.status is None:
        return (wrong(f"{what} is answered with status {evidence.status} and an error in the body", failed.words),)
    if failed.kind == "server_error":
        return (wrong(f"{what} is answered with status {failed.status}, as if the server had failed", failed.words),)
    if odd := form_of(evidence):
        return (wrong(f"{what} is refused in a form that clients cannot read", f"status {failed.status}; {odd}"),)
    words = f"status {failed.status}{f', code {failed.code}' if failed.code else ''}"
    if any(name == "code" and isinstance(value, int) for name, value in evidence.values_of("code")):
        words += "; the error's code is a number, where a word is usual"
    return (right(f"{what} is refused as it should be", words),)


def _judged(evidence: Evidence, what: str, otherwise: Finding) -> tuple[Finding, ...]:
    failed = evidence.failed
    if failed is None:
        return (otherwise,)
    if failed.kind in {"refused", "server_error", "error_inside", "forbidden"}:
        return _said_no(evidence, failed, what)
    return (trouble(evidence) or otherwise,)


_UNKNOWN: Final = Ask(name="unknown", messages="Hello!", settings=briefly(8), model=_NO_SUCH_MODEL)
_BROKEN: Final = Ask(name="broken", messages="Hello!", settings=briefly(8, extra_body=_BAD))

REFUSALS: Final = (
    Probe(
        name="unknown_model",
        question="How is a model refused that there is not?",
        possible=(_UNKNOWN,),
        then=lambda seen: () if seen else (_UNKNOWN,),
        judge=lambda seen: _judged(
            seen[0],
            "A model that there is not",
            unsupported("The model's name is not looked at", f"{_NO_SUCH_MODEL!r} was answered like the model itself"),
        ),
    ),
    Probe(
        name="bad_request",
        question="How is a request refused that makes no sense?",
        possible=(_BROKEN,),
        then=lambda seen: () if seen else (_BROKEN,),
        judge=lambda seen: _judged(
            seen[0], "A request that makes no sense", wrong("A request that makes no sense is answered", "its messages were a number")
        ),
    ),
)
