"""What tools give out while they run, for clients that are shown all of it each time.

The rule of this file: there is something to show whenever half as much again has come, so all of it costs no more than a few times its length.
A call that begins again (after a crash) begins with nothing.
"""

from __future__ import annotations

from typing import Final

from headrace.messages.parts import Part, TextPart

_GROWTH: Final = 1.5
_OTHER_SIZE: Final = 1000
"""What a part that is no text counts, in characters."""


class Outputs:
    """What calls have given out so far."""

    def __init__(self) -> None:
        """Know of none."""
        self._pieces: dict[str, list[Part]] = {}
        self._size: dict[str, int] = {}
        self._shown: dict[str, int] = {}

    def forget(self, call_key: str) -> None:
        """A call begins, perhaps again, or has ended: forget what it gave."""
        for held in (self._pieces, self._size, self._shown):
            held.pop(call_key, None)

    def add(self, call_key: str, part: Part) -> list[Part] | None:
        """Take a piece; return all that the call has given if that is to be shown now."""
        pieces = self._pieces.setdefault(call_key, [])
        pieces.append(part)
        size = self._size.get(call_key, 0) + (len(part.text) if isinstance(part, TextPart) else _OTHER_SIZE)
        self._size[call_key] = size
        if size < self._shown.get(call_key, 0) * _GROWTH:
            return None
        self._shown[call_key] = size
        return pieces
