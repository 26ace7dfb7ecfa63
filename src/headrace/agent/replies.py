"""Answers to what a run asked: each fits one question, and is accepted once. Pure.

The rule of this file: an answer that does not fit is refused before anything happens, with a word on why; then none of the answers that
came with it count either.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import msgspec

from headrace.agent.approval import Answer, Approve, Deny, Pending, PendingKind, Reply
from headrace.errors import StateError, UsageError
from headrace.tools.checks import check_answer, check_arguments
from headrace.tools.tool import Tool

_Fits: TypeAlias = Callable[[str], Tool[..., Any] | None]
_TAKES: Final[Mapping[PendingKind, tuple[type[Any], ...]]] = {
    "approval": (Approve, Deny),
    "external": (Answer, Deny),
    "in_doubt": (Approve, Answer, Deny),
}

_SAID: Final[Mapping[type[Any], str]] = {Approve: "an Approve", Deny: "a Deny", Answer: "an Answer"}


def checked_replies(
    given: object,
    pending: Sequence[Pending],
    *,
    answered: Iterable[str] = (),
    suspended: Container[str] = (),
    tool_of: _Fits,
    names: Sequence[str] = (),
) -> tuple[Reply, ...]:
    """Return the answers, each of which fits one of the questions.

    Args:
        given: the answers: a list of `Approve`, `Deny` and `Answer`, or one of them.
        pending: the questions that are open.
        answered: the keys of calls that were answered before.
        suspended: the keys of calls that have run and wait for an answer: it goes to the tool, and is not its result.
        tool_of: the tool of a name, or None for one that this agent does not run itself.
        names: what the answers are called in errors; by default by their place.

    Raises:
        UsageError: something is no answer, or its arguments or value do not fit the tool.
        StateError: an answer is foreign, stale, repeated, or of the wrong kind.
    """
    open_ = {question.call_key: question for question in pending}
    before = set(answered)
    replies: list[Reply] = []
    for n, reply in enumerate(_listed(given)):
        place = names[n] if names else f"answers[{n}]"
        if not isinstance(reply, (Approve, Deny, Answer)):
            raise UsageError(f"{place} is a {type(reply).__name__}; it is an Approve, a Deny or an Answer", argument=place)
        question = open_.pop(reply.call_key, None)
        if question is None:
            raise StateError(_why_not(place, reply.call_key, pending, before), argument=place)
        is_checked_here = not question.path and question.call_key not in suspended
        _check(place, reply, question, tool_of(question.call.name) if is_checked_here else None)
        # From here on it is bound to what was shown, whether the giver said so or not.
        replies.append(msgspec.structs.replace(reply, digest=question.digest))
    return tuple(replies)


def _listed(given: object) -> Sequence[object]:
    if isinstance(given, (Approve, Deny, Answer)):
        return (given,)
    kind = type(given).__name__
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise UsageError(f"answers is a {kind}; give a list of Approve, Deny and Answer", argument="answers")
    return tuple(cast("Iterable[object]", given))


def _why_not(place: str, call_key: str, pending: Sequence[Pending], before: set[str]) -> str:
    if any(question.call_key == call_key for question in pending):
        return f"{place} answers the call {call_key!r} a second time; one answer is enough"
    if call_key in before:
        return f"{place}: the call {call_key!r} was answered before; an answer is accepted once"
    waiting = ", ".join(repr(question.call_key) for question in pending) or "none"
    return f"{place}: no call {call_key!r} waits in this run; those that wait: {waiting}"


def _check(place: str, reply: Reply, question: Pending, tool: Tool[..., Any] | None) -> None:
    if reply.digest is not None and reply.digest != question.digest:
        raise StateError(
            f"{place} was given to another call than the one that waits as {reply.call_key!r}: its digest differs", argument=place
        )
    if not isinstance(reply, _TAKES[question.kind]):
        words = " or ".join(kind.__name__ for kind in _TAKES[question.kind])
        what = {"approval": "waits for approval", "external": "is run outside", "in_doubt": "may have run before"}[question.kind]
        raise StateError(f"{place} is {_SAID[type(reply)]}, but {question.call.name} {what}: give {words}", argument=place)
    if tool is None:
        return
    try:
        if isinstance(reply, Approve) and reply.arguments is not None:
            check_arguments(tool, reply.arguments)
        elif isinstance(reply, Answer) and not reply.is_error:
            check_answer(tool, reply.value)
    except UsageError as error:
        raise UsageError(f"{place}: {error}", argument=place) from error
