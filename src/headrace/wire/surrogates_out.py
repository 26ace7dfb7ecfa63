r"""Escaped halves of characters in JSON text on its way to a client: a half without its other one becomes U+FFFD, which every parser takes.

The rule of this file: nothing but a lone half is changed, and nothing waits but what may be a half's beginning, eleven characters at most.
`"\ud83d"` is JSON by its grammar, but many parsers refuse it, and what they make of it cannot be written as UTF-8 (RFC 8259, section 8.2).
"""

from __future__ import annotations

import re
from typing import Final

_HIGH: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW: Final = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_TAIL: Final = rf"(?:{_HIGH})?\\(?:u(?:[dD](?:[89a-fA-F][0-9a-fA-F]?)?)?)?\Z|{_HIGH}\Z"
# What is no half is matched too, so that the second backslash of `\\\\` begins nothing.
_ESCAPES: Final = re.compile(rf"(?P<tail>{_TAIL})|{_HIGH}{_LOW}|(?P<lone>{_HIGH}|{_LOW})|\\.", re.DOTALL)


class Halves:
    """Follows JSON text through pieces."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        """Start before the first piece."""
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can go out."""
        if "\\" not in piece and not self._held:
            return piece
        text, self._held = self._held + piece, ""
        return _ESCAPES.sub(self._mended, text)

    def close(self) -> str:
        """Return what waited; as it stands, since it was cut off."""
        held, self._held = self._held, ""
        return held

    def _mended(self, match: re.Match[str]) -> str:
        if match["tail"] is not None:
            self._held = match["tail"]
            return ""
        return "\\ufffd" if match["lone"] is not None else match.group()
