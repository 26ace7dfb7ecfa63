"""An answer while it streams: the JSON so far.

The rule of this file: taking a piece costs what the piece costs; the text is read as a whole only when somebody looks (law 6). What is shown
is never taken back by what comes: a number that may still grow is not shown, a text only grows.

What is shown is plain JSON, not the type: half an object is none.
"""

from __future__ import annotations

from typing import Final

from headrace._json import JSON, Scanner, first_object, parse_partial, replace_surrogates

_LEAST_CHARS: Final = 64
_GROWTH: Final = 1.5
_OF_NUMBERS: Final = "0123456789.eE+-"
_BEGIN_NUMBERS: Final = tuple("-0123456789")


class PartialOutput:
    """Reads an answer that is still growing, from its text or from the arguments of its call; made by `OutputSpec.partial`.

    Attributes:
        text: everything so far.
    """

    def __init__(self, key: str | None = None) -> None:
        """Start before the first piece; a wrapped answer lies under this key."""
        self._key = key
        self._pieces: list[str] = []
        self._length = 0
        self._read_length = 0
        self._value: JSON = None
        self._scanner = Scanner()
        self._start = 0
        self._scanned = -1

    def feed(self, piece: str) -> None:
        """Take the next piece."""
        if piece:
            self._pieces.append(piece)
            self._length += len(piece)

    @property
    def is_due(self) -> bool:
        """Whether half as much again has come since somebody looked: who looks only then reads the text three times in all, however long."""
        return self._length > max(_LEAST_CHARS, self._read_length * _GROWTH) if self._read_length else self._length > 0

    @property
    def text(self) -> str:
        """Everything so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def value(self) -> JSON:
        """The answer so far, without wrapping; None if nothing of it can be read yet. Reads the text anew if it has grown since."""
        if self._length != self._read_length:
            self._read_length = self._length
            read = self._read()
            self._value = self._value if read is None else read
        return self._value

    def _read(self) -> JSON:
        text = self.text
        if self._scanned < 0:
            start = text.find("{")
            if start < 0:
                return None
            self._start = self._scanned = start
        self._scanner.scan(text[self._scanned :])
        self._scanned = len(text)
        body = text[self._start :]
        shown = parse_partial(body if self._scanner.is_in_string else _without_open_number(body))
        if shown is None:  # something stands behind it, or half a character in it
            split = first_object(body)
            shown = None if split is None else replace_surrogates(split[0])
        if not isinstance(shown, dict):
            return None
        return shown if self._key is None else shown.get(self._key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _without_open_number(body: str) -> str:
    """Return the text without a number at its end, of which more may come."""
    before = body.rstrip(_OF_NUMBERS)
    return before if body[len(before) : len(before) + 1] in _BEGIN_NUMBERS else body
