"""Filters for text that means more than it says: thinking between tags, text that repeats all before it, halves of characters.

The rule of this file: each is a small machine over the tail of the text; it never looks at the whole again, and what it holds back
comes out at the end. The first two run only when the caller asked: their input looks just like honest text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Final

from headrace._json import has_lone_surrogate, replace_surrogates
from headrace.wire.inline_calls import InlineCalls, Verdict
from headrace.wire.inline_families import InlineCall
from headrace.wire.options import DecodeOptions
from headrace.wire.text_kinds import Kind as Kind  # noqa: PLC0414 - said again, so that type checkers let others take it from here
from headrace.wire.text_kinds import Piece

_PAIRS: Final = {"<think>": "</think>", "<thinking>": "</thinking>"}
"""Each opening tag and the one that closes it."""
_LONGEST: Final = max(map(len, _PAIRS.values()))
_NO_CHARACTER: Final = "\ufffd"


class ThinkTags:
    """Splits `<think>…</think>` and `<thinking>…</thinking>` out of text; only a tail that could still become a tag is held back."""

    __slots__ = ("_held", "_is_inside", "_tags", "_trims")

    def __init__(self, *, starts_open: bool = False) -> None:
        """Start outside, or inside where the template has already opened the tag."""
        self._is_inside = starts_open
        self._tags = tuple(_PAIRS.values()) if starts_open else tuple(_PAIRS)
        self._held = ""
        self._trims = False

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are certain by now, each with its kind."""
        out: list[Piece] = []
        text, at = self._held + text, 0
        while (found := _any_of(self._tags).search(text, at)) is not None:
            self._put(out, text[at : found.start()])
            at = found.end()
            self._trims = self._is_inside
            self._is_inside = not self._is_inside
            self._tags = (_PAIRS[found[0]],) if self._is_inside else tuple(_PAIRS)
        tail = text[max(at, len(text) - _LONGEST) :]
        certain = len(text) - max(_overlap(tail, tag) for tag in self._tags)
        self._put(out, text[at:certain])
        self._held = text[certain:]
        return out

    def release(self) -> list[Piece]:
        """Return what was held back: it became no tag."""
        out: list[Piece] = []
        self._put(out, self._held)
        self._held = ""
        return out

    def _put(self, out: list[Piece], text: str) -> None:
        if self._trims:  # the line breaks behind a closing tag belong to the tag
            text = text.lstrip("\r\n")
        if text:
            self._trims = False
            out.append(("reasoning" if self._is_inside else "text", text))


@functools.cache
def _any_of(tags: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, tags)))


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
        """Return what the text adds, and whether it held all before it; in time of its own length.

        A text that is no continuation counts as new text, so nothing is lost.
        """
        is_snapshot = 0 < self._size <= len(text) and text.startswith(self._so_far())
        new = text[self._size :] if is_snapshot else text
        if new:
            self._pieces.append(new)
            self._size += len(new)
        return new, is_snapshot

    def _so_far(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


class Halves:
    """Joins the halves of characters that were cut between neighbouring pieces, each sent as a lone surrogate."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        """Start with nothing held."""
        self._held = ""

    def feed(self, text: str) -> tuple[str, bool]:
        """Return the text with whole characters only, and whether a lone half had to be replaced by U+FFFD."""
        text = self._held + text
        self._held = ""
        if _ends_in_half(text):
            self._held, text = text[-1], text[:-1]
        if not has_lone_surrogate(text):
            return text, False
        mended: str = replace_surrogates(text)
        return mended, mended.count(_NO_CHARACTER) > text.count(_NO_CHARACTER)

    def release(self) -> str:
        """Return what stands for a half whose other half never came: U+FFFD, or nothing if none was held."""
        had, self._held = self._held, ""
        return _NO_CHARACTER if had else ""


def _ends_in_half(text: str) -> bool:
    return "\ud800" <= text[-1:] <= "\udbff"


class TextFilter:
    """The filters of one kind of text of one choice, in their order: cumulative, halves, tags, calls."""

    __slots__ = ("_calls", "_cumulative", "_halves", "_kind", "_tags")

    def __init__(self, kind: Kind, options: DecodeOptions, *, is_first: bool = True) -> None:
        """Start with the filters that are on for this kind; halves are always joined. Only the first text of an answer may start inside a tag."""
        self._kind: Kind = kind
        self._halves = Halves()
        is_text = kind == "text"
        self._cumulative = Cumulative() if is_text and options.cumulative_text else None
        self._tags = ThinkTags(starts_open=is_first and options.think_starts_open) if is_text and options.think_tags else None
        self._calls = InlineCalls(options.inline_families, options.offered_tools) if is_text and options.inline_families else None

    def feed(self, piece: str, warn: Callable[[str], None]) -> list[Piece]:
        """Return what is certain after this piece; `warn` takes the codes of what was mended."""
        if self._cumulative is not None:
            whole = piece[:-1] if _ends_in_half(piece) else piece  # the next one has the character whole
            piece, is_snapshot = self._cumulative.feed(whole)
            if is_snapshot:
                warn("cumulative_chunks")
        text, is_mended = self._halves.feed(piece)
        if is_mended:
            warn("invalid_utf8")
        return self._without_calls(self._tagged(text))

    def _tagged(self, text: str) -> list[Piece]:
        if self._tags is not None:
            return self._tags.feed(text)
        return [(self._kind, text)] if text else []

    def _without_calls(self, pieces: list[Piece]) -> list[Piece]:
        calls = self._calls
        if calls is None:
            return pieces
        return [out for piece in pieces for out in (calls.feed(piece[1]) if piece[0] == "text" else calls.other(piece))]

    def release(self, warn: Callable[[str], None], *, is_cut: bool = False, verdict: Verdict = "calls") -> list[Piece | InlineCall]:
        """Return what was held back, since no more of this part comes.

        Args:
            warn: takes the codes of what was mended.
            is_cut: the stream was cut; then half a character is left out.
            verdict: what becomes of calls in the text.
        """
        lone = self._halves.release()
        if lone:
            warn("invalid_utf8")
        pieces = self._tagged("" if is_cut else lone)
        if self._tags is not None:
            pieces += self._tags.release()
        if self._calls is None:
            return [*pieces]
        return self._without_calls(pieces) + self._calls.settle("text" if is_cut else verdict)
