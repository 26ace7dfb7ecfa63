"""A key that no repr, format, log line or JSON shows.

The rule of this file: the text comes out by `reveal()` and in no other way.
"""

from __future__ import annotations

import hmac
from typing import NoReturn


class Secret:
    """A secret text.

    It is no `str`, so that neither an f-string nor an encoder can write it down by accident, and it cannot be pickled.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep the text."""
        self._text = text

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _memo: dict[int, object]) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled")
