"""Holds a text against a glob: narrowly for rules that allow, widely for rules that ask or deny.

The rule of this file: an allow rule must be right about the whole of a text, a deny rule about any part of it. So no
wildcard of a narrow reading stands for what could lead elsewhere (a `..`, a home directory, a drive, a second command, an
expansion), and a wide reading also looks at each command of a line, at paths from another starting point, behind quotes,
and past upper and lower case. Both judge the text alone: where a link leads, only the tool itself can see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import unquote

from headrace.agent.permission.globs import CLIMB, NARROW_PATH, NARROW_TEXT, Glob, Matcher, PathGlob, Token, WordsGlob, compile_text, fold

_ANY_TEXT: Final = re.compile(f"{NARROW_TEXT}*")
_ANY_SEGMENT: Final = compile_text([Token("*", is_wild=True)], NARROW_PATH, "[^/]")
_DOTS: Final = re.compile(r"[.\s]+")
_HIDDEN_GLOB: Final = re.compile(r"\..*[*?\[]", re.DOTALL)  # to some shells `.?` is `..`
_HOST: Final = re.compile(r"[\w.-]+(?::\d+)?", re.ASCII)  # `evil.org#.good.org` is at evil.org
_ENCODED: Final = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_QUOTED: Final = re.compile(r"[\\'\"{}]")
_NAME: Final = re.compile(r"[\w.@+,=\- ]+")  # a segment that a `..` behind it surely takes back
_SHELL_SEPARATOR: Final = re.compile(r"[\x00\n\r;&|`<>(){}]+")
_NO_QUOTES: Final = str.maketrans("", "", "\"'\\")


def matches(glob: Glob, text: str, *, is_wide: bool) -> bool:
    """Whether the text is one that the glob stands for."""
    if is_wide:
        return any(_matches_widely(glob, each) for each in _parts(fold(text)))
    return _matches_narrowly(glob, text)


# --- narrowly ----------------------------------------------------------------------------------------


def _matches_narrowly(glob: Glob, text: str) -> bool:
    if glob.text.has_wildcard and not glob.has_percent and _ENCODED.search(text):
        return False
    if glob.words is not None:
        return _words_narrowly(glob.words, [word for word in text.split(" ") if word])
    if glob.path is not None:
        return _path_narrowly(glob.path, text)
    is_climbing = glob.text.has_wildcard and len(CLIMB.findall(text)) > glob.climbs
    return not is_climbing and _fits(glob.text.narrow, text)


def _words_narrowly(wanted: WordsGlob, given: Sequence[str]) -> bool:
    count = len(wanted.words)
    rest = given[count:]
    if len(given) < count or (rest and not wanted.is_open):
        return False
    for word, text in zip(wanted.words, given, strict=False):
        # What a shell takes for one word can be two of ours if it is quoted.
        if (word.text.has_wildcard and _QUOTED.search(text)) or not _matches_narrowly(word, text):
            return False
    return all(_ANY_TEXT.fullmatch(text) and not CLIMB.search(text) for text in rest)


def _path_narrowly(wanted: PathGlob, text: str) -> bool:
    is_absolute, given = _resolved(text)
    if is_absolute != wanted.is_absolute:
        return False

    def fits(matcher: Matcher, place: int) -> bool:
        is_host = place == 1 and given[0].endswith(":")
        is_plain = _HOST.fullmatch(given[1]) is not None if is_host else _is_plain(given[place], is_first=place == 0)
        return (is_plain or not matcher.has_wildcard) and _fits(matcher.narrow, given[place])

    segments = wanted.segments
    if segments and segments[-1] is None:  # `src/**` is what lies in src, not src itself
        segments = (*segments, _ANY_SEGMENT)
    return _align(segments, len(given), fits)


def _is_plain(segment: str, *, is_first: bool) -> bool:
    """Whether a wildcard may stand for the segment: it leads nowhere but to something of its own name."""
    if _DOTS.fullmatch(segment) or _HIDDEN_GLOB.match(segment):
        return False
    return not (is_first and (segment.startswith("~") or segment.endswith(":")))


# --- widely ------------------------------------------------------------------------------------------


def _parts(text: str) -> Iterator[str]:
    """Give the text, and each part that a shell would run as a command, with and without its quotes."""
    yield text
    plain = text.translate(_NO_QUOTES)
    for whole in (text,) if plain == text else (text, plain):
        for part in _SHELL_SEPARATOR.split(whole):
            yield part.strip()
    if plain != text:
        yield plain


def _matches_widely(glob: Glob, text: str) -> bool:
    if glob.words is None and glob.path is None:
        return _fits(glob.text.wide, text)
    if glob.words is not None and _words_widely(glob.words, text.split()):
        return True
    return glob.path is not None and _path_widely(glob.path, text)


def _words_widely(wanted: WordsGlob, given: Sequence[str]) -> bool:
    # Further words do not save a call from a rule that names its first ones.
    return len(given) >= len(wanted.words) and all(_matches_widely(word, text) for word, text in zip(wanted.words, given, strict=False))


def _path_widely(wanted: PathGlob, text: str) -> bool:
    return any(_one_path_widely(wanted, each) for each in {text, text.replace("\\", "/"), fold(unquote(text))})


def _one_path_widely(wanted: PathGlob, text: str) -> bool:
    is_absolute, given = _resolved(text)

    def is_aligned(segments: Sequence[Matcher | None], given: Sequence[str]) -> bool:
        return _align(segments, len(given), lambda matcher, place: _fits(matcher.wide, given[place]))

    if is_absolute == wanted.is_absolute and is_aligned(wanted.segments, given):
        return True
    # Where a relative path starts is not known here, nor where `..`, `~` or a variable leads: what follows decides.
    lost = max((place for place, segment in enumerate(given) if segment == ".." or segment.startswith("~") or "$" in segment), default=-1)
    given = given[lost + 1 :]
    if not wanted.is_absolute:
        return (is_absolute or lost >= 0) and is_aligned((None, *wanted.segments), given)
    if is_absolute and lost < 0:
        return False
    starts = [n for n, matcher in enumerate(wanted.segments) if (n == 0 and lost >= 0) or (matcher and not matcher.has_wildcard)]
    return any(is_aligned(wanted.segments[start:], given) for start in starts)


# --- both --------------------------------------------------------------------------------------------


def _fits(patterns: Sequence[re.Pattern[str]], text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in patterns)


def _resolved(text: str) -> tuple[bool, list[str]]:
    """Resolve a path as far as its text alone allows: whether it is absolute, and its segments."""
    is_absolute = text.startswith("/")
    kept: list[str] = []
    for segment in text.split("/"):
        if segment in {"", "."} or (segment == ".." and is_absolute and not kept):
            continue
        if segment == ".." and kept and kept[-1] != ".." and _NAME.fullmatch(kept[-1]):
            kept.pop()
        else:
            kept.append(segment)
    return is_absolute, kept


def _align(wanted: Sequence[Matcher | None], count: int, fits: Callable[[Matcher, int], bool]) -> bool:
    """Whether the wanted segments, of which None is any number, can be laid along `count` given ones.

    Going back to the last `**` alone is enough, so the cost is at most the one length times the other.
    """
    at = place = mark = 0
    star = -1
    while place < count:
        has_more = at < len(wanted)
        matcher = wanted[at] if has_more else None
        if has_more and matcher is None:
            star, mark, at = at, place, at + 1
        elif matcher is not None and fits(matcher, place):
            at, place = at + 1, place + 1
        elif star >= 0 and fits(_ANY_SEGMENT, mark):
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return all(matcher is None for matcher in wanted[at:])
