"""Rules that a person may want to add after saying yes, so that the same call and its like pass next time.

The rule of this file: what is suggested really allows the call that it is suggested for, and the narrowest comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from headrace.agent.permission.patterns import by_glob, exactly, literally
from headrace.agent.permission.rules import Rule
from headrace.errors import UsageError
from headrace.tools.tool import Tool

MAX_SUGGESTIONS: Final = 4
_MAX_PATTERN_CHARS: Final = 300  # a rule that nobody can read helps nobody
_MAX_COMMAND_WORDS: Final = 2
_PATH_NAME: Final = re.compile(r"(?:^|_)(?:path|paths|file|files|filename|filepath|dir|directory|folder)(?:_|$)", re.IGNORECASE)
_COMMAND_NAME: Final = re.compile(r"(?:^|_)(?:command|cmd|shell|bash|script)(?:_|$)", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+", re.IGNORECASE)
_WORD: Final = re.compile(r"[\w./:-]+")


def suggest(tool: Tool[..., Any], arguments: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Return at most four allow rules that each let this call pass, the narrowest first.

    In this order, as far as they make sense: exactly these arguments; paths in the same directory or addresses at the same
    host; commands that begin with the same one or two words; the tool as a whole.
    """
    found: list[Rule] = []
    for pattern in _patterns(arguments):
        try:
            rule = Rule("allow", tool.name, pattern)
        except UsageError:  # a name or a value that no pattern can hold
            continue
        if len(pattern) <= _MAX_PATTERN_CHARS and rule not in found and rule.is_for(tool, arguments):
            found.append(rule)
    return (*found[: MAX_SUGGESTIONS - 1], Rule("allow", tool.name))


def _patterns(arguments: Mapping[str, Any]) -> Iterator[str]:
    if arguments and not any(isinstance(value, (dict, list)) for value in arguments.values()):
        yield ", ".join(exactly(name, value) for name, value in arguments.items())
    places = {name: glob for name, value in arguments.items() if isinstance(value, str) and (glob := _place(name, value))}
    if places:
        yield ", ".join(by_glob(name, glob) for name, glob in places.items())
    for name, value in arguments.items():
        if _COMMAND_NAME.search(name) and isinstance(value, str):
            yield from (by_glob(name, glob) for glob in _beginnings(value))


def _place(name: str, value: str) -> str | None:
    """Return the glob of the directory or the host that a value lies in, or None if it is no path and no address."""
    address = _ADDRESS.match(value)
    if address is not None:
        return f"{literally(address[0], is_path=True)}/**"
    is_one_word = "/" in value and not any(char.isspace() for char in value)
    if _COMMAND_NAME.search(name) or not (_PATH_NAME.search(name) or is_one_word):
        return None
    directory, slash, last = value.rpartition("/")
    if last in {"", ".", ".."}:
        return None
    return f"{literally(directory, is_path=True) if slash else '.'}/*"


def _beginnings(command: str) -> Iterator[str]:
    """Give globs of the first words of a command, more words first; options and odd words end the beginning."""
    words: list[str] = []
    for word in command.split(" ")[:_MAX_COMMAND_WORDS]:
        if not _WORD.fullmatch(word) or word.startswith("-"):
            break
        words.append(word)
    for count in range(len(words), 0, -1):
        yield f"{literally(' '.join(words[:count]))} *"
