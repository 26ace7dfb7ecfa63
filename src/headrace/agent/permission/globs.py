r"""The globs of permission patterns, compiled: what they say, not yet how a text is held against them.

The rule of this file: a glob says one thing. What could be read two ways, or what no text could ever match, is an error
when the rule is made.

`*` stands for any characters, `?` for one, `\` takes the next character as it is; blanks around a glob do not count. By
what it holds, a glob is

- a text (`git status*`): `*` goes over `/`; an ending ` *` also stands for nothing (`git status *` is `git status` too);
- a path, if it has a `/` (`src/*.py`): `.`, `..` and `//` are resolved, `*` and `?` stay inside one segment, a segment `**`
  stands for any number of segments;
- words, if it has a `/` and a blank (`cat src/*`): word by word, each a text or a path; a last word `*` or `**` stands for
  any further words, or none. A blank inside a path is written `\ `.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from headrace.errors import UsageError

_CONTROL: Final = r"\x00-\x1f\x7f;&|`$<>"
NARROW_TEXT: Final = f"[^{_CONTROL}]"
"""What a wildcard in a text stands for, read narrowly: nothing with which a shell starts or feeds another command."""
NARROW_PATH: Final = rf"[^{_CONTROL}/\\'\"{{}}]"
"""The same in a path; quotes, backslashes and braces could spell a `..` for a shell."""
CLIMB: Final = re.compile(r"(?<![^\s/\\'\"=:,])\.\.(?![^\s/\\'\"=:,])")
"""A `..` that stands by itself in a text."""
_TOKEN: Final = re.compile(r"\\(.)|(\*\*?|\?)|(.)", re.DOTALL)


class Token(NamedTuple):
    """A piece of a glob: a character, or a wildcard (`*`, `**`, `?`); `is_escaped` where a backslash stood before it."""

    text: str
    is_wild: bool = False
    is_escaped: bool = False


class Matcher(NamedTuple):
    """A text or a segment, compiled for both readings; several patterns are alternatives."""

    narrow: tuple[re.Pattern[str], ...]
    wide: tuple[re.Pattern[str], ...]
    has_wildcard: bool


class PathGlob(NamedTuple):
    """A path: its segments, of which None is `**`."""

    is_absolute: bool
    segments: tuple[Matcher | None, ...]


class WordsGlob(NamedTuple):
    """Words; `is_open` if any further ones may follow."""

    words: tuple[Glob, ...]
    is_open: bool


class Glob(NamedTuple):
    """A compiled glob.

    Attributes:
        text: the glob as a text.
        path: as a path, or None without a `/`, or if it makes sense only as words.
        words: as words, or None without a `/` or a blank; a narrow reading then looks at nothing else.
        climbs: how many `..` it spells out itself.
        has_percent: whether it spells out a `%`.
    """

    text: Matcher
    path: PathGlob | None
    words: WordsGlob | None
    climbs: int
    has_percent: bool


def escape(text: str, *, is_path: bool = False) -> str:
    r"""Return a glob that stands for this text alone; in a path a blank is escaped as well."""
    return re.sub(r"([\\*?, ])" if is_path else r"([\\*?,])", r"\\\1", text)


def fold(text: str) -> str:
    """Return the text as a wide reading compares it: without upper and lower case, and without other forms of one letter."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def compile_glob(source: str) -> Glob:
    r"""Compile a glob.

    Raises:
        UsageError: a `\` at the end escapes nothing; a path with something beside a `**`, or a `..` behind a wildcard.
    """
    return _compile(_tokens(source), source)


def compile_text(tokens: Sequence[Token], narrow: str, wide: str) -> Matcher:
    """Compile tokens to regular expressions; `narrow` and `wide` are what a wildcard stands for."""
    variants = [tokens]
    if len(tokens) > 1 and _is_star(tokens[-1]) and tokens[-2] == Token(" "):
        variants.append(tokens[:-2])
    return Matcher(
        tuple(re.compile(_regex(each, narrow, is_folded=False), re.DOTALL) for each in variants),
        tuple(re.compile(_regex(each, wide, is_folded=True), re.DOTALL) for each in variants),
        any(token.is_wild for token in tokens),
    )


def _tokens(source: str) -> list[Token]:
    tokens: list[Token] = []
    for found in _TOKEN.finditer(source):
        escaped, wild, plain = found.groups()
        if plain == "\\":
            raise UsageError(f"the pattern {source!r} ends with a backslash, which takes the next character as it is", argument="pattern")
        tokens.append(Token(escaped, is_escaped=True) if escaped else Token(wild, is_wild=True) if wild else Token(plain))
    while tokens and tokens[-1] == Token(" "):
        tokens.pop()
    while tokens and tokens[0] == Token(" "):
        tokens.pop(0)
    return tokens


def _is_star(token: Token) -> bool:
    return token.is_wild and token.text != "?"


def _compile(tokens: Sequence[Token], source: str) -> Glob:
    literal = "".join("*" if token.is_wild else token.text for token in tokens)
    words = _split(tokens, " ")
    path, by_word = None, None
    if "/" in literal and len(words) > 1:
        by_word = _compile_words(words, source)
        with contextlib.suppress(UsageError):  # a wide reading also takes the blanks for a part of one path
            path = _compile_path(tokens, source)
    elif "/" in literal:
        path = _compile_path(tokens, source)
    return Glob(compile_text(tokens, NARROW_TEXT, "."), path, by_word, len(CLIMB.findall(literal)), "%" in literal)


def _split(tokens: Sequence[Token], at: str) -> list[list[Token]]:
    """Split at a character that is not escaped; what is empty falls away."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token == Token(at):
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _compile_words(words: Sequence[Sequence[Token]], source: str) -> WordsGlob:
    is_open = len(words[-1]) == 1 and _is_star(words[-1][0])
    return WordsGlob(tuple(_compile(word, source) for word in (words[:-1] if is_open else words)), is_open)


def _compile_path(tokens: Sequence[Token], source: str) -> PathGlob:
    plain = [Token("/") if token.text == "/" else token for token in tokens]
    segments: list[tuple[str, Matcher | None]] = []
    for part in _split(plain, "/"):
        name = "".join(token.text for token in part)
        last = segments[-1] if segments else None
        if name == ".." and last is not None and (last[1] is None or last[1].has_wildcard):
            raise UsageError(f"the pattern {source!r} has a '..' behind a wildcard: say which directory is meant", argument="pattern")
        has_globstar = any(token == Token("**", is_wild=True) for token in part)
        if has_globstar and len(part) > 1:
            message = f"the pattern {source!r} has a '**' beside other characters; in a path it stands alone between two '/'"
            raise UsageError(message, argument="pattern")
        if name == ".." and last is not None and last[0] != "..":
            segments.pop()
        elif name != "." and not (name == ".." and last is None and plain[0] == Token("/")):
            segments.append((name, None if has_globstar else compile_text(part, NARROW_PATH, "[^/]")))
    return PathGlob(plain[0] == Token("/"), tuple(matcher for _, matcher in segments))


def _regex(tokens: Sequence[Token], char: str, *, is_folded: bool) -> str:
    chunks, literal = [""], ""
    for token in (*tokens, None):
        if token is not None and not token.is_wild:
            literal += token.text
            continue
        chunks[-1] += re.escape(fold(literal) if is_folded else literal)
        literal = ""
        if token is not None and token.text == "?":
            chunks[-1] += char
        elif token is not None:
            chunks.append("")
    if len(chunks) == 1:
        return chunks[0]
    # The first place where a chunk fits is as good as any later one, so nothing is tried twice and the cost stays linear.
    middle = "".join(f"(?>{char}*?{chunk})" for chunk in chunks[1:-1] if chunk)
    return f"{chunks[0]}{middle}{char}*{chunks[-1]}"
