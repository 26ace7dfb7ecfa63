"""Marks in a text that no text should have: a call that the server did not parse, a template's own tokens.

The rule of this file: it only looks, once, at the end; what it finds is said and left where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from headrace.messages.accumulator import Accumulator
from headrace.messages.growing import Choice
from headrace.messages.parts import TextPart
from headrace.wire.inline_families import FAMILIES

# What opens a block, and the beginnings of marks inside of one, where only those were left.
_BEGINNINGS: Final = (*dict.fromkeys(family.opener for family in FAMILIES), "<|tool_call", "<\uff5ctool\u2581call")
_INLINE_CALL: Final = re.compile("|".join(map(re.escape, _BEGINNINGS)))
_LEAKED: Final = re.compile(r"<\|[a-zA-Z_]{2,32}\|>|<\uff5c[^<>\s]{2,32}\uff5c>|<\uff5cDSML")


def marks_of(fold: Accumulator) -> Iterator[tuple[int, str, str]]:
    """Give for each choice the warnings that its text deserves: the choice, the code, and the mark that was seen.

    `possible_inline_tool_call` only where no structured call came. Takes time in proportion to the text.
    """
    for index, choice in fold.choices.items():
        text = "".join(_texts(choice))
        if "<" not in text and "[" not in text:
            continue
        has_call = any(part.kind == "tool_call" for part in choice.parts)
        if not has_call and (found := _INLINE_CALL.search(text)):
            yield index, "possible_inline_tool_call", found[0]
        if found := _LEAKED.search(text):
            yield index, "leaked_special_tokens", found[0]


def _texts(choice: Choice) -> Iterator[str]:
    for part in choice.parts:
        if part.kind == "text":
            yield from part.pieces
        elif isinstance(part.whole, TextPart):
            yield part.whole.text
