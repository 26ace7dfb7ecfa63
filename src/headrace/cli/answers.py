"""Answers on the command line, for a run that waits: `--approve`, `--reject`, `--answer`. Pure.

The rule of this file: an answer names its call, by key or by its number among those that wait; two answers to one call are wrong use, and
nothing is answered that was not named, unless `all` is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from headrace.agent.approval import Pending, Reply
from headrace.agent.replies import checked_replies
from headrace.cli.questions import arguments_from, value_from
from headrace.cli.run_wording import waiting_words
from headrace.errors import StateError, UsageError
from headrace.tools.tool import Tool

ALL: Final = "all"
_ERROR_MARK: Final = "!"
_FITS: Final = {"approve": ("approval", "in_doubt"), "reject": ("approval", "external", "in_doubt"), "answer": ("external", "in_doubt")}


class Answers(msgspec.Struct, frozen=True):
    """What the options said.

    Attributes:
        approve: `KEY`, `KEY=ARGUMENTS` or `all`.
        reject: `KEY`, `KEY=REASON`, `all` or `all=REASON`.
        answer: `KEY=VALUE`; JSON or text, with `!` before it an error.
    """

    approve: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything was said."""
        return bool(self.approve or self.reject or self.answer)


def replies_of(answers: Answers, pending: Sequence[Pending], *, tool_of: Callable[[str], Tool[..., Any] | None]) -> list[Reply]:
    """Return the answers to the calls that wait, each bound to the call as it was shown.

    Args:
        answers: what the options said.
        pending: the calls that wait.
        tool_of: the tool of a name, by which arguments and values are checked, or None.

    Raises:
        UsageError: no call of this name waits, it was answered twice, or a value does not do.
    """
    replies: dict[str, Reply] = {}

    def take(option: str, texts: Sequence[str], made: Callable[[Pending, str], Reply]) -> None:
        for text in texts:
            key, _, value = text.partition("=")
            for question in _meant(option, key.strip(), pending):
                if question.call_key in replies:
                    raise UsageError(f"--{option} {key}: {question.call.name} was answered already", argument=option)
                if question.kind not in _FITS[option]:
                    raise UsageError(f"--{option} {key}: {waiting_words(question)}: give {how_to_answer((question,))}", argument=option)
                try:
                    (replies[question.call_key],) = checked_replies(made(question, value), [question], tool_of=tool_of)
                except (UsageError, StateError) as error:
                    raise UsageError(f"--{option} {key}: {bare_words(error)}", argument=option) from error

    take("approve", answers.approve, _approved)
    take("reject", answers.reject, lambda question, value: question.deny(value))
    take("answer", answers.answer, _answered)
    return list(replies.values())


def waiting_lines(pending: Sequence[Pending]) -> list[str]:
    """Return what waits, numbered, with the keys, for a person who reads it in a log."""
    lines: list[str] = []
    for n, question in enumerate(pending, 1):
        lines.append(f"{n}. {waiting_words(question)}")
        lines.append(f"   key {question.call_key}" + (f" · {question.reason}" if question.reason else ""))
    return lines


def bare_words(error: Exception) -> str:
    """Return what was wrong with one answer, without its place among several."""
    return str(error).removeprefix("answers[0]").removeprefix(":").lstrip()


def how_to_answer(pending: Sequence[Pending]) -> str:
    """Return the options that answer what waits."""
    kinds = {question.kind for question in pending}
    ways = [
        "--approve KEY (or all), --reject KEY=REASON" if kinds != {"external"} else "",
        "--answer KEY=VALUE" if kinds != {"approval"} else "",
    ]
    return ", ".join(way for way in ways if way)


def _approved(question: Pending, value: str) -> Reply:
    return question.approve(arguments_from(value) if value.strip() else None)


def _answered(question: Pending, value: str) -> Reply:
    if not value:
        raise UsageError("--answer takes KEY=VALUE, JSON or text", argument="answer")
    if value.startswith(_ERROR_MARK):
        return question.answer(value.removeprefix(_ERROR_MARK).strip(), is_error=True)
    return question.answer(value_from(value))


def _meant(option: str, key: str, pending: Sequence[Pending]) -> list[Pending]:
    if key == ALL and option != "answer":
        return [question for question in pending if question.kind in _FITS[option]]
    by_number = {str(n): question for n, question in enumerate(pending, 1)}
    question = next((one for one in pending if one.call_key == key), by_number.get(key))
    if question is None:
        known = ", ".join(f"{n} ({one.call_key})" for n, one in enumerate(pending, 1)) or "none"
        raise UsageError(f"--{option} {key!r}: no such call waits; those that do: {known}", argument=option)
    return [question]
