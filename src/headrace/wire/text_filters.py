"""Filters for text that means more than it says: thinking between tags, text that repeats all before it, halves of characters.

The rule of this file: each is a small machine over the tail of the text; it never looks at the whole again, and what it holds back
comes out at the end. The first two run only when the caller asked: their input looks just like honest text.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from headrace._json import has_lone_surrogate, replace_surrogates

Kind: TypeAlias = Literal["text", "reasoning"]
_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class ThinkTags:
    """Splits `<think>…</think>` out of text; only a tail that could still become a tag is held back."""

    __slots__ = ("_held", "_is_inside", "_trims")

    def __init__(self, *, starts_open: bool = False) -> None:
        """Start outside, or inside where the template has already opened the tag."""
        self._is_inside = starts_open
        self._held = ""
        self._trims = False

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        """Return the pieces that are certain by now, each with its kind."""
        out: list[tuple[Kind, str]] = []
        rest = self._held + text
        self._held = ""
        while rest:
            tag = _CLOSE if self._is_inside else _OPEN
            at = rest.find(tag)
            if at < 0:
                keep = _overlap(rest, tag)
                self._put(out, rest[: len(rest) - keep])
                self._held = rest[len(rest) - keep :]
                break
            self._put(out, rest[:at])
            rest = rest[at + len(tag) :]
            self._trims = self._is_inside
            self._is_inside = not self._is_inside
        return out

    def close(self) -> list[tuple[Kind, str]]:
        """Return what was held back."""
        out: list[tuple[Kind, str]] = []
        self._put(out, self._held)
        self._held = ""
        return out

    def _put(self, out: list[tuple[Kind, str]], text: str) -> None:
        if self._trims:  # the line breaks behind a closing tag belong to the tag
            text = text.lstrip("\r\n")
        if text:
            self._trims = False
            out.append(("reasoning" if self._is_inside else "text", text))


def _overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of the text could begin the tag."""
    return next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-n:])), 0)


class Cumulative:
    """Turns texts that each hold all text so far into what each one adds."""

    __slots__ = ("_pieces", "_size")

    def __init__(self) -> None:
        """Start with no text."""
        self._pieces: list[str] = []
        self._size = 0

    def feed(self, text: str) -> tuple[str, bool]:
        """Return what the text adds, and whether it held all before it.

        A text that is no continuation counts as new text, so nothing is lost.
        """
        so_far = "".join(self._pieces)
        if len(self._pieces) > 1:
            self._pieces = [so_far]
        is_snapshot = self._size > 0 and text.startswith(so_far)
        new = text[self._size :] if is_snapshot else text
        if new:
            self._pieces.append(new)
            self._size += len(new)
        return new, is_snapshot


class Halves:
    """Joins the halves of characters that were cut between neighbouring pieces, each sent as a lone surrogate."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        """Start with nothing held."""
        self._held = ""

    @property
    def is_holding(self) -> bool:
        """Whether half a character waits for its other half."""
        return bool(self._held)

    def feed(self, text: str) -> tuple[str, bool]:
        """Return the text with whole characters only, and whether a lone half had to be replaced by U+FFFD."""
        text = self._held + text
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._held, text = text[-1], text[:-1]
        if not has_lone_surrogate(text):
            return text, False
        mended = replace_surrogates(text)
        return mended, "\ufffd" in mended and mended.count("\ufffd") > text.count("\ufffd")

    def close(self) -> bool:
        """Drop a half whose other half never came; returns whether there was one."""
        had = bool(self._held)
        self._held = ""
        return had
