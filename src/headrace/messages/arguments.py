"""What a call's raw arguments mean, once they have all come.

The rule of this file (rule 4 of the stream-fault facts): the pieces are joined as text and parsed once; repairs are tried only
after the plain parse failed, each is said by a code, and none of them guesses: a failed parse never becomes `{}`, open brackets
are never closed, two different objects are never taken for one. The raw text is always kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from headrace._json import JSONError, Scanner, dumps_text, first_object, join_objects, loads, loads_lenient, replace_surrogates
from headrace.messages.identity import Body, object_of

_JSON_SPACE: Final = " \t\r\n"
# Possessive: two alternatives can match the same marker, and going back to try the other one would take exponential time.
_MARKUP: Final = re.compile(r"(?:\s|[\]})`]|</?[\w|:｜▁ .=\"'-]{1,64}>|<[|｜][^<>{}]{1,64}[|｜]>)++")  # noqa: RUF001 - the bars and blocks are the markers' own


class Arguments(NamedTuple):
    """The outcome.

    Attributes:
        raw: the text as it came (an object that a wire sent is written as JSON).
        parsed: the arguments, or None where they are no object: then the call must not run.
        codes: the warnings to say.
    """

    raw: str
    parsed: dict[str, Any] | None
    codes: tuple[str, ...] = ()


def parse_arguments(body: Body, *, is_whole: bool, may_be_blank: bool) -> Arguments:
    """Parse the arguments of one call.

    Args:
        body: the pieces, in order.
        is_whole: the stream has ended, well or not: only then is it said what is wrong with arguments that do not parse.
        may_be_blank: blank text and `null` mean no arguments; only the end of a whole stream allows that.
    """
    if body.objects:
        return _from_objects(body, is_whole=is_whole)
    raw = "".join(body.pieces)
    text = raw.strip()
    if text in ("", "null"):
        if not may_be_blank:
            return Arguments(raw, None, ("truncated_tool_arguments",) if is_whole else ())
        return Arguments(raw, {}, ("arguments_not_object",) if text else ())
    text = raw.strip(_JSON_SPACE)
    try:
        value = loads(text)
    except JSONError:
        repaired = _repaired(raw, text, body.pieces)
        if repaired is not None:
            return repaired
        code = "truncated_tool_arguments" if _is_cut(text) else "invalid_tool_arguments"
        return Arguments(raw, None, (code,) if is_whole else ())
    if isinstance(value, dict):
        return Arguments(raw, value)  # pyright: ignore[reportUnknownArgumentType]
    inner = object_of(value) if isinstance(value, str) else None
    if inner is not None:
        return Arguments(raw, inner, ("lenient_json",))
    return Arguments(raw, None, ("arguments_not_object",) if is_whole else ())


def _from_objects(body: Body, *, is_whole: bool) -> Arguments:
    joined = join_objects(body.objects)
    text = "".join(body.pieces).strip()
    if text in ("", "{}"):
        return Arguments(dumps_text(joined), joined, ("placeholder_arguments_dropped",) if text else ())
    return Arguments(text + dumps_text(joined), None, ("invalid_tool_arguments",) if is_whole else ())


def _repaired(raw: str, text: str, pieces: Sequence[str]) -> Arguments | None:
    lenient = _lenient_object(text)
    if lenient is not None:
        return Arguments(raw, lenient, ("lenient_json",))
    repeated = _without_repeat(pieces)
    if repeated is not None:
        return Arguments(raw, repeated, ("duplicate_arguments_dropped",))
    split = first_object(text)
    if split is None:
        return None
    rest = split[1]
    if not split[0]:
        behind = object_of(rest)
        if behind is not None:
            return Arguments(raw, behind, ("placeholder_arguments_dropped",))
    if _MARKUP.fullmatch(rest):
        found = _lenient_object(text[: len(text) - len(rest)])  # read again, since `first_object` knows no bound of depth
        if found is not None:
            return Arguments(raw, found, ("trailing_garbage",))
    return None


def _lenient_object(text: str) -> dict[str, Any] | None:
    try:
        value, _ = loads_lenient(text, is_strict_about_controls=False)
    except JSONError:
        return None
    return replace_surrogates(value) if isinstance(value, dict) else None


def _without_repeat(pieces: Sequence[str]) -> dict[str, Any] | None:
    """Return the object where the last piece is the whole body again: equal to all before it, or a whole object that starts with it.

    Where all pieces together may be the beginning of something longer (`{"a":` and `{"a":1}` of a body that was cut), they are that.
    """
    if len(pieces) < 2:
        return None
    last = pieces[-1]
    if sum(len(piece) for piece in pieces) > 2 * len(last):
        return None
    before = "".join(pieces[:-1])
    return object_of(last) if last.startswith(before) and not _is_beginning(before + last) else None


def _is_beginning(text: str) -> bool:
    """Return whether something longer that begins with this text, which is no JSON, could be JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text) or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        pass
    return True  # out of range, or too deep to tell


def _is_cut(text: str) -> bool:
    scanner = Scanner()
    scanner.scan(text)
    return scanner.depth > 0 or scanner.is_in_string
