"""What a call's raw arguments mean, once they have all come.

The rule of this file (rule 4 of the stream-fault facts): the pieces are joined as text and parsed once; repairs are tried only
after the plain parse failed, each is said by a code, and none of them guesses: a failed parse never becomes `{}`, open brackets
are never closed, two different objects are never taken for one. The raw text is always kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from headrace._json import JSONError, Scanner, dumps_text, first_object, join_objects, loads, loads_lenient, replace_surrogates
from headrace.messages.identity import Body

_MARKUP: Final = re.compile(r"(?:\s|[\]})`]|</?[\w|:｜▁ .=\"'-]{1,64}>|<[|｜][^<>]{1,64}[|｜]>)+")  # noqa: RUF001 - the bars and blocks are the markers' own


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
        is_whole: the stream has ended well; only then is a failed parse worth a warning about its end.
        may_be_blank: blank text and `null` mean no arguments; only the end of a whole stream allows that.
    """
    if body.objects:
        return _from_objects(body)
    raw = "".join(body.pieces)
    text = raw.strip()
    if text in ("", "null"):
        codes = ("arguments_not_object",) if text else ()
        return Arguments(raw, {}, codes) if may_be_blank else Arguments(raw, None)
    try:
        value = loads(text)
    except JSONError:
        return _repaired(raw, text, body.pieces, is_whole=is_whole)
    if isinstance(value, dict):
        return Arguments(raw, value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, str):
        inner = _object(value)
        if inner is not None:
            return Arguments(raw, inner, ("lenient_json",))
    return Arguments(raw, None, ("arguments_not_object",))


def _from_objects(body: Body) -> Arguments:
    joined = join_objects(body.objects)
    text = "".join(body.pieces).strip()
    if text in ("", "{}"):
        return Arguments(dumps_text(joined), joined)
    return Arguments(text + dumps_text(joined), None, ("invalid_tool_arguments",))


def _repaired(raw: str, text: str, pieces: Sequence[str], *, is_whole: bool) -> Arguments:
    lenient = _lenient_object(text)
    if lenient is not None:
        return Arguments(raw, lenient, ("lenient_json",))
    repeated = _without_repeat(pieces)
    if repeated is not None:
        return Arguments(raw, repeated, ("duplicate_arguments_dropped",))
    split = first_object(text)
    if split is not None:
        found, rest = split
        behind = _object(rest) if not found else None
        if behind is not None:
            return Arguments(raw, behind, ("placeholder_arguments_dropped",))
        if _MARKUP.fullmatch(rest):
            return Arguments(raw, replace_surrogates(found), ("trailing_garbage",))
    if is_whole and _is_cut(text):
        return Arguments(raw, None, ("truncated_tool_arguments",))
    return Arguments(raw, None, ("invalid_tool_arguments",) if is_whole else ())


def _lenient_object(text: str) -> dict[str, Any] | None:
    try:
        value, _ = loads_lenient(text, is_strict_about_controls=False)
    except JSONError:
        return None
    return replace_surrogates(value) if isinstance(value, dict) else None


def _without_repeat(pieces: Sequence[str]) -> dict[str, Any] | None:
    """Return the object where the last piece is the whole body again: equal to all before it, or a whole object that starts with it."""
    if len(pieces) < 2:  # noqa: PLR2004 - a repeat needs two
        return None
    last = pieces[-1]
    before_size = sum(len(piece) for piece in pieces) - len(last)
    if before_size > len(last):
        return None
    before = "".join(pieces[:-1])
    return _object(last) if last.startswith(before) else None


def _is_cut(text: str) -> bool:
    scanner = Scanner()
    scanner.scan(text)
    return scanner.depth > 0 or scanner.is_in_string


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = loads(text)
    except JSONError:
        return None
    return value if isinstance(value, dict) else None
