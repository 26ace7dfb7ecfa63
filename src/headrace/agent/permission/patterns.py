r"""Patterns over the arguments of a call: which arguments, and which values.

The rule of this file: a pattern that cannot be meant is an error when the rule is made, and what a pattern names but a call
does not have never matches. Defaults are not filled in: a rule sees what the model wrote.

    path=src/**                    the argument `path` by a glob
    command=git status *           a command line by its first words
    path=src/**, mode=w            several, by a comma; all must match
    options.depth=3                inside an object by dots; lists are looked through
    command=="rm *"                exactly this JSON value: a text, a number, true, false or null
    src/**                         a glob alone: the texts among the arguments

Globs are explained in `globs`; a comma inside one is written `\,`, a dot or another odd character of a name
with a backslash as well. Numbers, booleans and null compare with a glob by their JSON text.

Read narrowly (allow), everything that a condition speaks about must match, at least one thing: all elements of a list, for a
glob alone all texts, nested ones included; and no wildcard stands for null. Read widely (ask, deny) one is enough, and a
value also matches by what a tool may take it for (`"yes"` and `1` are `true`, `"3"` and `3.0` are `3`).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from headrace._json import JSON, JSONError, dumps_text, loads
from headrace.agent.permission.globs import Glob, compile_glob, escape, fold
from headrace.agent.permission.readings import matches
from headrace.errors import UsageError

_MISSING: Final = object()
_SEGMENT: Final = r"(?:\w|\\.)(?:[\w-]|\\.)*"
_NAMED: Final = re.compile(rf"\s*({_SEGMENT}(?:\.{_SEGMENT})*)\s*(==|=)", re.DOTALL)
_VALUE: Final = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|[^\s,\"]+)\s*(,|\Z)", re.DOTALL)
_GLOB: Final = re.compile(r"((?:[^\\,]|\\.)*\\?)(,|\Z)", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?\d{1,30}(?:\.\d{0,30})?(?:e[+-]?\d{1,2})?", re.ASCII)
_TRUE: Final = frozenset({"1", "true", "t", "yes", "y", "on"})  # what pydantic takes for booleans
_FALSE: Final = frozenset({"0", "false", "f", "no", "n", "off"})


class Condition(NamedTuple):
    """What one argument, or without `names` any text among them, must be: a glob, or exactly a value."""

    names: tuple[str, ...]
    glob: Glob | None
    value: JSON = None


@functools.lru_cache(maxsize=1024)
def conditions_of(pattern: str) -> tuple[Condition, ...]:
    """Compile a pattern.

    Raises:
        UsageError: it is no pattern; the error says which piece of it is wrong.
    """
    if not pattern.strip():
        raise UsageError("the pattern is empty; leave it out to mean every call of the tool", argument="pattern")
    named = _NAMED.match(pattern)
    if named is None:
        return (Condition((), compile_glob(_alone(pattern))),)
    conditions: list[Condition] = []
    place = 0
    while True:
        named = _NAMED.match(pattern, place)
        if named is None:
            message = f"the pattern {pattern!r} has {pattern[place:].strip()!r} after a comma, which is not name=glob; a comma inside a glob is written '\\,'"
            raise UsageError(message, argument="pattern")
        names = tuple(re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL) for name in re.findall(_SEGMENT, named[1], re.DOTALL))
        scanner = _VALUE if named[2] == "==" else _GLOB
        found = scanner.match(pattern, named.end())
        if found is None:
            raise UsageError(f"the pattern {pattern!r} has no single JSON value behind {named[0].strip()!r}", argument="pattern")
        if named[2] == "==":
            conditions.append(Condition(names, None, _exact(found[1], pattern)))
        else:
            conditions.append(Condition(names, compile_glob(found[1])))
        place = found.end()
        if found[2] == "":
            return tuple(conditions)


def is_match(conditions: tuple[Condition, ...], arguments: Mapping[str, Any], *, is_wide: bool) -> bool:
    """Whether the arguments meet every condition."""
    return all(_is_met(condition, arguments, is_wide=is_wide) for condition in conditions)


def exactly(name: str, value: JSON) -> str:
    """Return the condition that an argument is exactly this value (no list, no object)."""
    return f"{_written(name)}=={json.dumps(value, ensure_ascii=False)}"


def by_glob(name: str, glob: str) -> str:
    """Return the condition that an argument matches a glob."""
    return f"{_written(name)}={glob}"


def literally(text: str, *, is_path: bool = False) -> str:
    """Return the glob that stands for a text alone."""
    return escape(text, is_path=is_path)


def _written(name: str) -> str:
    return re.sub(r"^-|[^\w-]", lambda found: "\\" + found[0], name)


def _alone(pattern: str) -> str:
    found = _GLOB.match(pattern)
    if found is None or found.end() < len(pattern) or found[2] == ",":
        message = f"the pattern {pattern!r} has a comma, but not between conditions name=glob; a comma inside a glob is written '\\,'"
        raise UsageError(message, argument="pattern")
    return pattern


def _exact(text: str, pattern: str) -> JSON:
    try:
        value = loads(text)
    except JSONError as error:
        message = f"the pattern {pattern!r} has {text!r} behind '==', which is no JSON value; a text needs its quotes"
        raise UsageError(message, argument="pattern") from error
    if isinstance(value, (dict, list)):
        raise UsageError(
            f"the pattern {pattern!r} has {text!r} behind '=='; only a text, a number, true, false or null can stand there",
            argument="pattern",
        )
    return value


# --- holding values against conditions ---------------------------------------------------------------


def _is_met(condition: Condition, arguments: Mapping[str, Any], *, is_wide: bool) -> bool:
    if condition.names:
        values = list(_reached(arguments, condition.names))
    else:
        values = [value for value in _leaves(arguments) if isinstance(value, str)]
    if is_wide:
        return any(_fits_widely(condition, leaf) for value in values for leaf in _leaves(value))
    return bool(values) and all(_fits_narrowly(condition, value) for value in values)


def _reached(value: JSON, names: tuple[str, ...]) -> Iterator[JSON]:
    """Give each value that the names lead to; `_MISSING` for each way that ends before."""
    if isinstance(value, (list, tuple)):
        for item in cast("list[JSON]", value):
            yield from _reached(item, names)
    elif not names:
        yield value
    elif isinstance(value, Mapping) and names[0] in value:
        yield from _reached(cast("Mapping[str, JSON]", value)[names[0]], names[1:])
    else:
        yield _MISSING


def _leaves(value: JSON) -> Iterator[JSON]:
    if isinstance(value, Mapping):
        for item in cast("Mapping[str, JSON]", value).values():
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in cast("list[JSON]", value):
            yield from _leaves(item)
    elif value is not _MISSING:
        yield value


def _fits_narrowly(condition: Condition, value: JSON) -> bool:
    if value is _MISSING or isinstance(value, Mapping):
        return False
    if condition.glob is None:
        return type(value) is type(condition.value) and value == condition.value
    if value is None and condition.glob.text.has_wildcard:
        return False
    return matches(condition.glob, _text(value), is_wide=False)


def _fits_widely(condition: Condition, value: JSON) -> bool:
    if condition.glob is None:
        return not _taken_for(value).isdisjoint(_taken_for(condition.value))
    return any(matches(condition.glob, text, is_wide=True) for text in _taken_for(value))


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else dumps_text(value)


def _taken_for(value: JSON) -> set[str]:
    """Return the texts of the values that a tool may take this one for."""
    text = _text(value)
    found = {fold(text)}
    word = text.strip().lower() if len(text) < 64 else ""
    if _NUMBER.fullmatch(word):
        number = float(word)
        found.add(str(int(number)) if number.is_integer() else repr(number))
    short = found | {word}
    if short & _TRUE:
        found.add("true")
    if short & _FALSE:
        found.add("false")
    return found
