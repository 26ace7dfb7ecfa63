"""What a person is asked about a call that waits, and what they may type. Pure.

The rule of this file: only what says yes beyond doubt is a yes. The arguments are shown whole, since nobody can agree to what they do not
see; whatever else is typed is no answer, and the question is asked again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from headrace._json import dumps_text, loads, thaw
from headrace.agent.approval import Pending, Reply
from headrace.cli.segments import Segment
from headrace.errors import UsageError

Typed: TypeAlias = Reply | Literal["edit"]
"""What was typed: an answer, or the wish to edit the arguments first."""

_ENTRY: Final = re.compile(r"([A-Za-z]+)[\s:,]*(.*)", re.DOTALL)
_WORDS: Final = {"yes": "y", "no": "n", "always": "a", "edit": "e", "run": "r", "result": "v", "value": "v", "give": "g"}
_ERROR_MARK: Final = "!"


def question_of(pending: Pending, inside: Sequence[str] = ()) -> list[Segment]:
    """Return the question: what waits and why, the arguments, and what "always" would mean.

    Args:
        pending: the call.
        inside: the names of the outer calls that it is made for, outermost first.
    """
    call = pending.call
    what = {
        "approval": f"May {call.name} run?",
        "external": f"{call.name} runs elsewhere: what did it give?",
        "in_doubt": f"{call.name} may have run before the program died. What now?",
    }[pending.kind]
    said = [Segment(f"? {what}", "warning")]
    said += [Segment(f"  ({pending.reason})", "note")] if pending.reason else []
    said += [Segment(f"\n  inside {' → '.join(inside)}", "note")] if inside else []
    said += [Segment("\n  " + arguments_text(pending).replace("\n", "\n  ") + "\n", "arguments")]
    if pending.kind == "approval":
        for n, rule in enumerate(pending.suggestions, 1):
            said += [Segment(f"  a{n}", "label"), Segment(f" always: {rule}\n", "note")]
    return said


def prompt_of(pending: Pending) -> str:
    """Return what stands before the cursor: what may be typed."""
    match pending.kind:
        case "approval":
            always = "/a(lways)" if pending.suggestions else ""
            edit = "/e(dit)" if pending.call.parsed is not None else ""
            return f"y(es)/n(o, because …){always}{edit} > "
        case "external":
            return "the result, JSON or text; !text is an error > "
        case "in_doubt":
            return "r(un again)/v VALUE, its result/g(ive up) > "


def arguments_text(pending: Pending) -> str:
    """Return the arguments for people: JSON on several lines, or the raw text where they are none."""
    call = pending.call
    return call.arguments if call.parsed is None else json.dumps(thaw(call.parsed), ensure_ascii=False, indent=2)


def read_entry(pending: Pending, entry: str) -> Typed:
    """Read what was typed.

    Raises:
        UsageError: it is no answer to this question; the error says what would be.
    """
    text = entry.strip()
    if pending.kind == "external":
        return _value(pending, text)
    found = _ENTRY.fullmatch(text)
    word, rest = (found[1].lower(), found[2]) if found else ("", "")
    letter = _WORDS.get(word, word)
    match (pending.kind, letter):
        case ("approval", "y") if not rest:
            return pending.approve()
        case ("approval", "n"):
            return pending.deny(rest.removeprefix("because ").lstrip())
        case ("approval", "a") if pending.suggestions and (not rest or rest.isdecimal()):
            return pending.approve(rules=(pending.suggestions[_choice(rest, len(pending.suggestions))],))
        case ("approval", "e") if pending.call.parsed is not None and not rest:
            return "edit"
        case ("in_doubt", "r") if rest in ("", "again"):
            return pending.approve()
        case ("in_doubt", "v") if rest:
            return _value(pending, rest)
        case ("in_doubt", "g") if rest in ("", "up"):
            return pending.deny("a person gave the call up; it may have run")
        case _:
            raise UsageError(f"{text!r} is no answer; type one of {prompt_of(pending).removesuffix(' > ')}", argument="answer")


def read_arguments(pending: Pending, text: str) -> Reply:
    """Read edited arguments.

    Raises:
        UsageError: they are no JSON object.
    """
    return pending.approve(arguments_from(text))


def arguments_from(text: str) -> dict[str, Any]:
    """Read arguments.

    Raises:
        UsageError: they are no JSON object.
    """
    try:
        value: object = loads(text)
    except ValueError as error:
        raise UsageError(f"the arguments are no JSON: {error}", argument="arguments") from error
    if not isinstance(value, dict):
        raise UsageError(f"the arguments are {dumps_text(value)}, no JSON object", argument="arguments")
    return cast("dict[str, Any]", value)


def value_from(text: str) -> Any:
    """Return the value that a text is: JSON, or else the text itself."""
    try:
        return loads(text)
    except ValueError:
        return text


def _value(pending: Pending, text: str) -> Reply:
    if not text:
        raise UsageError('there is nothing; an empty result is ""', argument="answer")
    if text.startswith(_ERROR_MARK):
        return pending.answer(text.removeprefix(_ERROR_MARK).strip(), is_error=True)
    return pending.answer(value_from(text))


def _choice(number: str, count: int) -> int:
    if not number and count == 1:
        return 0
    if not number or len(number) > 4 or not 1 <= int(number) <= count:
        raise UsageError(f"which of them? a1{'' if count == 1 else f' to a{count}'}", argument="answer")
    return int(number) - 1
