"""Calls that a model wrote into its text, taken out of it; only where the caller asked (option `inline_tool_calls`).

The rule of this file: a small machine over the tail of the text. Text is held back only while it could still begin a block. From the first
whole block on everything waits until the part or the choice ends, since only then it is known what it was: calls if the stream has ended well and
the server itself gave no call; else the text that it is, to the letter. So nothing runs that was cut, and no call comes twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from headrace._json import JSONError
from headrace.wire.inline_families import FAMILIES, Family, InlineCall, JsonEnd, NoCallError, Offered
from headrace.wire.text_kinds import Piece

Verdict: TypeAlias = Literal["calls", "whole", "text"]
"""What blocks become: `calls`, also a last one that lacks its end mark if its JSON is whole; `whole`: calls, but not that one; or `text`."""

_WINDOW: Final = 256
_STRAYS: Final = re.compile(r"(?:\s|</tool_call>|</s>|<\|eot_id\|>|<\|eom_id\|>|<\|im_end\|>)+")
_BETWEEN: Final = re.compile(r"[\s;,]+")
_BETWEEN_OR_BRACKETS: Final = re.compile(r"[\s;,}\]]+")


class _Closed(NamedTuple):
    """A block that is over and holds calls, and its text."""

    raw: str
    calls: tuple[InlineCall, ...]


class _Block:
    """A block on its way.

    Attributes:
        is_over: what follows is no part of it.
        is_broken: it cannot become calls any more.
        is_whole: nothing is missing of it.
    """

    def __init__(self, family: Family, head: str) -> None:
        self.family = family
        self.is_over = False
        self.is_broken = False
        self.is_whole = False
        self._raw = [head]
        self._json: JsonEnd | None = JsonEnd() if family.ends == "json" else None
        self._tail = head[len(family.opener) :]
        self._has_closer = False

    @property
    def raw(self) -> str:
        """Its text, from the opener on."""
        return "".join(self._raw)

    @property
    def body(self) -> str:
        """What stands between opener and closer."""
        raw = self.raw
        return raw[len(self.family.opener) : len(raw) - len(self.family.closer) if self._has_closer else len(raw)]

    def take(self, text: str, at: int) -> int:
        """Take what belongs to it; returns where that ends. Unless the block is over or broken, what is left has to come again with more."""
        end = self._take_json(text, at) if self.family.ends == "json" else self._take_closer(text, at)
        self._raw.append(text[at:end])
        return end

    def _take_json(self, text: str, at: int) -> int:
        while at < len(text):
            if self._json is not None:
                end = self._json.find(text, at)
                self.is_broken = self._json.is_broken
                if end is None or self.is_broken:
                    return len(text) if end is None else end
                self._json, self.is_whole, at = None, not self.family.closer, end
            between = (_BETWEEN_OR_BRACKETS if self.family.closer else _BETWEEN).match(text, at)
            at = at if between is None else between.end()
            if text.startswith("{", at):  # another value
                self._json, self.is_whole = JsonEnd(), False
            elif at < len(text):
                return self._take_end(text, at)
        return at

    def _take_end(self, text: str, at: int) -> int:
        """Behind a value: the closer, a beginning of it, or something else, which ends the block too."""
        closer = self.family.closer
        if closer.startswith(text[at : at + len(closer)]) and len(text) - at < len(closer):
            return at
        self.is_over = self.is_whole = True
        if closer and text.startswith(closer, at):
            self._has_closer = True
            at += len(closer)
        return at

    def _take_closer(self, text: str, at: int) -> int:
        closer = self.family.closer
        keep = min(len(self._tail), len(closer) - 1)
        seen = self._tail[len(self._tail) - keep :] + text[at:]
        found = seen.find(closer)
        if found < 0:
            self._tail = seen[1 - len(closer) :]
            return len(text)
        self.is_over = self.is_whole = self._has_closer = True
        return at + found + len(closer) - keep


class InlineCalls:
    """The machine; `feed` pieces, then `settle`.

    Args:
        families: the names of the ways to look for; None for all.
        offered: the tools that there are; None for any name.
    """

    __slots__ = ("_block", "_by_opener", "_held", "_offered", "_openers", "_waiting")

    def __init__(self, families: Iterable[str] | None = None, offered: Offered | None = None) -> None:
        """Start outside of a block."""
        names = None if families is None else frozenset(families)
        self._by_opener: dict[str, list[Family]] = {}
        for family in FAMILIES:
            if names is None or family.name in names:
                self._by_opener.setdefault(family.opener, []).append(family)
        self._openers = re.compile("|".join(map(re.escape, self._by_opener)) or r"(?!)")
        self._offered = offered
        self._held = ""
        self._block: _Block | None = None
        self._waiting: list[Piece | _Closed] = []

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces of text that are certain by now."""
        out: list[Piece] = []
        text, at = self._held + text, 0
        self._held = ""
        while at < len(text):
            if self._block is None:
                at = self._outside(text, at, out)
            else:
                at = self._inside(self._block, text, at, out)
        return out

    def other(self, piece: Piece) -> list[Piece]:
        """A piece of another kind comes between, at its place; a block does not go on behind it."""
        out: list[Piece] = []
        if self._block is not None:
            self._end(self._block, out, may_lack_end=True)
        held, self._held = self._held, ""
        self._put(("text", held), out)
        self._put(piece, out)
        return out

    def settle(self, verdict: Verdict) -> list[Piece | InlineCall]:
        """Return what was held back and what waited, in order: blocks as calls or as text."""
        said: list[Piece] = []
        if self._block is not None:
            self._end(self._block, said, may_lack_end=verdict == "calls")
        held, self._held = self._held, ""
        self._put(("text", held), said)
        waiting, self._waiting = self._waiting, []
        pieces: list[Piece | InlineCall] = [*_joined(said)]
        if verdict == "text":
            return pieces + _joined(("text", item.raw) if isinstance(item, _Closed) else item for item in waiting)
        run: list[Piece] = []
        is_behind = False
        for item in [*waiting, None]:
            if item is not None and not isinstance(item, _Closed):
                run.append(item)
                continue
            pieces += _without_strays(run) if is_behind else _joined(run)
            run = []
            if item is not None:
                pieces += item.calls
                is_behind = True
        return pieces

    # ------------------------------------------------------------------------------------------ one step

    def _outside(self, text: str, at: int, out: list[Piece]) -> int:
        """Read up to the next block or the end; returns where to go on."""
        found = self._openers.search(text, at)
        if found is None:
            cut = max(at, _beginning(text, self._by_opener))
            self._put(("text", text[at:cut]), out)
            self._held = text[cut:]
            return len(text)
        self._put(("text", text[at : found.start()]), out)
        window = text[found.end() : found.end() + _WINDOW]
        families = self._by_opener[found[0]]
        for family in families:
            head = family.head.match(window)
            if head is not None:
                end = found.end() + head.end()
                self._block = _Block(family, text[found.start() : end])
                return end
        if len(window) < _WINDOW and any(family.maybe.fullmatch(window) for family in families):
            self._held = text[found.start() :]
            return len(text)
        self._put(("text", found[0]), out)
        return found.end()

    def _inside(self, block: _Block, text: str, at: int, out: list[Piece]) -> int:
        at = block.take(text, at)
        if block.is_over or block.is_broken:
            self._end(block, out, may_lack_end=False)
            return at
        self._held = text[at:]
        return len(text)

    def _end(self, block: _Block, out: list[Piece], *, may_lack_end: bool) -> None:
        self._block = None
        is_whole = block.is_whole or (may_lack_end and block.family.ends == "json")
        calls = self._read(block) if is_whole and not block.is_broken else ()
        if calls:
            self._waiting.append(_Closed(block.raw, calls))
        else:
            self._put(("text", block.raw), out)

    def _read(self, block: _Block) -> tuple[InlineCall, ...]:
        """The calls of a block, or none: if one of them is not whole, or was not offered, the block is text."""
        try:
            calls = tuple(block.family.read(block.body, self._offered or _NO_SCHEMAS))
        except (NoCallError, JSONError):
            return ()
        return calls if self._offered is None or all(call.name in self._offered for call in calls) else ()

    def _put(self, piece: Piece, out: list[Piece]) -> None:
        if piece[1]:
            if self._waiting:
                self._waiting.append(piece)
            else:
                out.append(piece)


_NO_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {}


def _beginning(text: str, openers: Iterable[str]) -> int:
    """Where a tail of the text begins that could become an opener, or its end; the marks begin with `<` or `[` and have no other one."""
    at = max(text.rfind("<", -64), text.rfind("[", -64))
    return at if at >= 0 and any(opener.startswith(text[at:]) for opener in openers) else len(text)


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces, neighbours of one kind as one."""
    runs: list[tuple[str, list[str]]] = []
    out: list[Piece] = []
    for kind, text in pieces:
        if not runs or runs[-1][0] != kind:
            runs.append((kind, []))
            out.append((kind, ""))
        runs[-1][1].append(text)
    return [(kind, "".join(texts)) for (kind, _), (_, texts) in zip(out, runs, strict=True)]


def _without_strays(run: list[Piece]) -> list[Piece]:
    """Text behind a block without the white space and the end marks that belong to the block."""
    pieces = _joined(run)
    if pieces and pieces[0][0] == "text":
        strays = _STRAYS.match(pieces[0][1])
        rest = pieces[0][1][strays.end() :] if strays is not None else pieces[0][1]
        behind: list[Piece] = [("text", rest)] if rest else []
        return behind + pieces[1:]
    return pieces
