"""Bytes and texts of a stranger as text that can be shown. Pure.

The rule of this file: whatever the bytes are, what comes out is text without control characters (line feeds and tabs apart) and without
characters that turn the direction of a text, so that it shows in a terminal and in a page what is there.
"""

from __future__ import annotations

import re
from typing import Final

from headrace._json import replace_surrogates
from headrace.inspect.values import Excerpt

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def shown(text: str) -> str:
    """Return a text with pictures in place of what cannot be shown; a carriage return before a line feed is seen too."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub(_picture, str(replace_surrogates(text)))


def cut(text: str, limit: int) -> tuple[str, int]:
    """Return the beginning of a text as it can be shown, and how many characters were left out."""
    return shown(text[:limit]), max(0, len(text) - limit)


def short(text: str, limit: int) -> str:
    """Return a text that can be shown, with an ellipsis where it is cut."""
    head, rest = cut(text, limit)
    return f"{head}… (+{rest:,})" if rest else head


def excerpt(body: bytes, start: int, end: int, limit: int) -> Excerpt:
    """Return what stands from here to there, its beginning as text."""
    start, end = max(0, min(start, len(body))), max(0, min(end, len(body)))
    kept = body[start : min(end, start + limit)]
    text = shown(kept.decode("utf-8", "replace").rstrip("\r\n"))
    return Excerpt(offset=start, length=max(0, end - start), text=text, cut_bytes=max(0, end - start - len(kept)))


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's pictures of control characters
    return "\u2421" if code == 0x7F else "\ufffd"
