"""Segments: what the command line shows, as values: a piece of text and what kind of thing it is.

The rule of this file: no terminal here. Whoever renders gives segments; a `Screen` decides how each style looks, or that it does not.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

Style: TypeAlias = Literal[
    "text", "reasoning", "refusal", "call", "arguments", "result", "failed", "note", "warning", "error", "label", "title", "good"
]


class Segment(NamedTuple):
    """A piece of text in one style; it may hold and end with newlines."""

    text: str
    style: Style = "text"


_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Return the text as a terminal may get it: control characters, which could move the cursor or retitle the window, as symbols.

    Newlines and tabs stay; a carriage return before a newline goes.
    """
    return _CONTROLS.sub(_symbol, text.replace("\r\n", "\n"))


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's pictures of control characters
    return "\u2421" if code == 0x7F else "\ufffd"


def plain(segments: list[Segment]) -> str:
    """Return the text alone."""
    return "".join(segment.text for segment in segments)


def shortened(text: str, *, max_lines: int = 12, max_chars: int = 2000) -> str:
    """Return the beginning of a long text, with a note of how much was left out."""
    short = "\n".join(text[:max_chars].split("\n")[:max_lines])
    return text if len(short) == len(text) else f"{short} … ({len(text) - len(short):,} more characters)"
