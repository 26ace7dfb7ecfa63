"""An operation: one step of a store as a generator, which yields what the database has to do and gets the rows back.

The rule of this file: pure. An operation decides and knows no connection; a driver (in a thread for SQLite, async for PostgreSQL) carries it
out in one transaction, and may begin it again from the start in another one. Whatever an operation raises, nothing of it is kept.

The SQL in operations is what both databases understand, with `:name` for values, and words with `@` that a `Dialect` replaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One statement; its rows are the answer.

    Attributes:
        text: the SQL.
        values: by the names in the text; a list stands for the values of an `@in`. The time, `now`, is added by the driver.
    """

    text: str
    values: Mapping[str, Any] = {}


class Many(msgspec.Struct, frozen=True, gc=False):
    """One statement for each of several sets of values; there is no answer."""

    text: str
    values: Sequence[Mapping[str, Any]]


class Several(msgspec.Struct, frozen=True, gc=False):
    """Statements that need not wait for each other's answers; the answer is the list of theirs."""

    steps: Sequence[Statement | Many]


class Work(msgspec.Struct, frozen=True, gc=False):
    """A stranger's code, called with the connection; what it returns is the answer."""

    call: Callable[[Any], Any]


class Touched(msgspec.Struct, frozen=True, gc=False):
    """These runs have changed: once that is kept, wake whoever waits for them."""

    run_ids: Sequence[str]


Step: TypeAlias = Statement | Many | Several | Work | Touched
Operation: TypeAlias = Generator[Step, Any, T]
Make: TypeAlias = Callable[[], Operation[T]]
"""Begins an operation; called again if it has to be begun again."""


class WorkError(Exception):
    """Carries what a stranger's code raised past those who handle the database's own errors.

    Attributes:
        error: what was raised.
    """

    def __init__(self, error: Exception) -> None:
        """Carry it."""
        super().__init__(str(error))
        self.error = error


TABLES: Final = ("runs", "events", "signals", "workers", "taken", "done", "sessions", "messages", "commits", "version")
_WORD: Final = re.compile(r"@in\((\w+)\)|@(\w+)|:(\w+)")


class Dialect:
    """How one database writes what all understand.

    Attributes:
        spell: returns a statement in the database's own words; each text is translated once.
    """

    def __init__(self, *, words: Mapping[str, str], value: str, among: str, escape: Callable[[str], str] = str) -> None:
        """Take the words.

        Args:
            words: for each word with `@`, what stands there; for each table its name.
            value: how a value is named, with `{}` for the name.
            among: what `@in(name)` becomes, with `{}` for the value.
            escape: what happens to the text between the words.
        """
        self._words = dict(words)
        self._value = value
        self._among = among
        self._escape = escape
        self.spell: Callable[[str], str] = cache(self._spell)

    def _spell(self, text: str) -> str:
        pieces: list[str] = []
        end = 0
        for match in _WORD.finditer(text):
            pieces.append(self._escape(text[end : match.start()]))
            pieces.append(self._replace(*match.groups()))
            end = match.end()
        return "".join([*pieces, self._escape(text[end:])])

    def _replace(self, among: str | None, word: str | None, name: str | None) -> str:
        if among is not None:
            return self._among.format(self._value.format(among))
        return self._value.format(name) if word is None else self._words[word]
