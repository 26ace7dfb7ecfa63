"""Long results go out: the history keeps their beginning and their end, a store keeps them whole, and a tool reads on in them.

The rule of this file: what is cut is decided purely (`moved_out`), before the result is kept, so that the history and the events hold the
same short result; the caller puts the parts into the store. Reading gives characters, bounded, and never goes out again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, Protocol

import msgspec

from headrace.agent.context.shorten import shortened_result, text_of
from headrace.errors import ToolError, UsageError
from headrace.messages.parts import MediaPart, Part, ProviderItem, ToolResultPart
from headrace.tools.tool import Tool

READ_RESULT: Final = "read_result"
MAX_READ_CHARS: Final = 8_000
"""How many characters one call of the reading tool gives at most, if nobody says otherwise."""


class Excerpt(msgspec.Struct, frozen=True):
    """A piece of a stored result.

    Attributes:
        text: the piece.
        offset: the character at which it begins.
        total: how many characters the whole has.
    """

    text: str
    offset: int
    total: int


class ResultStore(Protocol):
    """Keeps long results whole, by key."""

    async def put(self, key: str, parts: tuple[Part, ...]) -> None:
        """Keep the text and JSON of a result; what was under the key is replaced."""
        ...

    async def get(self, key: str, offset: int, limit: int) -> Excerpt | None:
        """Return up to `limit` characters from a character on; None if there is nothing under the key."""
        ...


class MemoryResults:
    """Keeps results in memory, up to a bound; the ones that were not used for the longest time go first."""

    def __init__(self, *, max_chars: int = 64 * 1024 * 1024) -> None:
        """Start empty.

        Args:
            max_chars: how many characters are kept in all; a result that is longer by itself is cut to that.
        """
        if type(max_chars) is not int or max_chars < 1:
            raise UsageError(f"max_chars is {max_chars!r}; it must be a whole number above 0", argument="max_chars")
        self._max_chars = max_chars
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._chars = 0

    def __len__(self) -> int:
        """Return how many results are kept."""
        return len(self._texts)

    async def put(self, key: str, parts: tuple[Part, ...]) -> None:
        """Keep a result; see `ResultStore`."""
        self._chars -= len(self._texts.pop(key, ""))
        text = text_of(parts)[: self._max_chars]
        self._texts[key] = text
        self._chars += len(text)
        while self._chars > self._max_chars:
            _, dropped = self._texts.popitem(last=False)
            self._chars -= len(dropped)

    async def get(self, key: str, offset: int, limit: int) -> Excerpt | None:
        """Return a piece of a result; see `ResultStore`."""
        text = self._texts.get(key)
        if text is None:
            return None
        self._texts.move_to_end(key)
        return Excerpt(text[offset : offset + limit], offset, len(text))


def moved_out(result: ToolResultPart, limit_tokens: int, key: str | None) -> tuple[ToolResultPart, tuple[Part, ...]]:
    """Return a result as it is kept, and the parts that go into the store.

    Args:
        result: the result; one of `read_result` is never moved out.
        limit_tokens: how long it may be, as an estimate.
        key: under which it is stored, as the model will name it; None if there is no store: what is cut is lost.

    Returns:
        The very same result and no parts, if it is short enough or holds nothing but media. Else one with the beginning and the end of its
        text, a reference between them, its media, and `moved_out` in its metadata (`key`, `characters`); and the whole text and JSON.
    """
    if result.name == READ_RESULT:
        return result, ()
    total = len(text_of(result.parts))

    def note(left_out: int, at: int) -> str:
        said = f"{left_out} of {total} characters left out here"
        if key is None:
            return f"\n[… {said} …]\n"
        return f'\n[… {said}; {READ_RESULT}(reference="{key}", offset={at}) reads on …]\n'

    short = shortened_result(result, limit_tokens, note)
    if short is result:
        return result, ()
    facts: dict[str, Any] = {**result.metadata, "moved_out": {"key": key, "characters": total}}
    stored = () if key is None else tuple(part for part in result.parts if not isinstance(part, (MediaPart, ProviderItem)))
    return msgspec.structs.replace(short, metadata=facts), stored


def reading_tool(store: ResultStore, *, max_chars: int = MAX_READ_CHARS) -> Tool[..., Any]:
    """Return the tool with which a model reads on in results that were moved out.

    Args:
        store: where they are. A model can read whatever it can name in it; keys that hold a message's id cannot be guessed.
        max_chars: how many characters one call gives at most.
    """

    async def read_result(reference: str, offset: int = 0, limit: int = max_chars) -> str:
        """Read on in a long result of a tool, of which only the beginning and the end were shown.

        Args:
            reference: the reference that the shortened result names.
            offset: the character to begin at, from 0.
            limit: how many characters.
        """
        if offset < 0 or limit < 1:
            raise ToolError(f"offset {offset} and limit {limit} name no piece: offset from 0 up, limit from 1 up")
        excerpt = await store.get(reference, offset, min(limit, max_chars))
        if excerpt is None:
            raise ToolError(f"no result is kept under {reference!r}; run the tool again if you need it")
        end = excerpt.offset + len(excerpt.text)
        if not excerpt.text and excerpt.total:
            raise ToolError(f"offset {offset} is beyond the end: the result has {excerpt.total} characters")
        more = f"; go on with offset={end}" if end < excerpt.total else ", the end"
        return f"{excerpt.text}\n[characters {excerpt.offset} to {end} of {excerpt.total}{more}]"

    return Tool(function=read_result, read_only=True, idempotent=True)
