"""The JSON in a model's text: the whole text, a fenced block, or the one object that stands in it.

The rule of this file: nothing is guessed. JSON that was cut off is not read, nor is an object inside of it; of two objects none is taken.
A raw line break inside a string and half a character are tolerated, as in the arguments of calls.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from headrace._json import JSON, JSONError, Scanner, loads_lenient, replace_surrogates

_FENCE: Final = re.compile(r"^[ \t]*```[ \t]*([^\n`]*?)[ \t\r]*$", re.MULTILINE)
_MAX_SHOWN_CHARS: Final = 200


def json_in(text: str) -> JSON:
    """Return the JSON value that a text is or holds.

    Raises:
        JSONError: it holds none, several, or one that was cut off; the error says which.
    """
    try:
        return _read(text)
    except JSONError as error:
        whole = error
    fenced = _fenced(text)
    if len(fenced) == 1:
        try:
            return _read(fenced[0])
        except JSONError as error:
            raise JSONError(f"the JSON in the fenced block is not valid: {str(error)[:_MAX_SHOWN_CHARS]}") from error
    found = _objects_in(text)
    if len(found) > 1:
        raise JSONError("there are several JSON objects in the text, and one is wanted")
    if not found:
        raise JSONError(f"it is not JSON: {str(whole)[:_MAX_SHOWN_CHARS]}") from whole
    return found[0]


def _read(text: str) -> JSON:
    value, is_mended = loads_lenient(text.strip(), is_strict_about_controls=False)
    return replace_surrogates(value) if is_mended else value


def _fenced(text: str) -> list[str]:
    """Return what stands in the fenced blocks that are JSON or say nothing of what they are."""
    blocks: list[str] = []
    start, language = -1, ""
    for fence in _FENCE.finditer(text):
        word = fence.group(1).lower()
        if start < 0:
            start, language = fence.end(), word
        elif not word:
            if language in ("", "json", "json5", "jsonc"):
                blocks.append(text[start : fence.start()])
            start = -1
    return blocks


def _objects_in(text: str) -> list[JSON]:
    """Return the objects that stand in the text, at most two; braces that hold no JSON are skipped as a whole."""
    found: list[JSON] = []
    start = text.find("{")
    while start >= 0 and len(found) < 2:
        end = _end_of_braces(text, start)
        if end < 0:  # it never closes: what stands inside is a piece of something that was cut off
            return []
        with suppress(JSONError):
            found.append(_read(text[start:end]))
        start = text.find("{", end)
    return found


def _end_of_braces(text: str, start: int) -> int:
    """Return where the braces that open here are closed, or -1."""
    scanner = Scanner()
    while start < len(text):
        end = text.find("}", start) + 1
        if end == 0:
            return -1
        scanner.scan(text[start:end])
        if scanner.depth <= 0 and not scanner.is_in_string:
            return end
        start = end
    return -1
