"""What a tool says beside its output while it runs, as values.

The rule of this file: a note is for whoever watches the run; the model never sees one.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import msgspec

from headrace._json import replace_surrogates
from headrace.errors import UsageError


class ProgressNote(msgspec.Struct, frozen=True):
    """How far a call has come; a later one replaces an earlier one.

    Attributes:
        message: what it does just now, or "".
        done: how much is done, in the tool's own unit, or None.
        total: how much there is in all, in the same unit, or None if that is unknown.
    """

    message: str = ""
    done: float | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        """Check the values: they go into JSON."""
        if not isinstance(self.message, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a tool is a stranger's code
            raise UsageError(f"progress.message is {self.message!r}, not a text", argument="message")
        msgspec.structs.force_setattr(self, "message", replace_surrogates(self.message))
        for name in ("done", "total"):
            value: object = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if value is not None and not is_number:
                raise UsageError(f"progress.{name} is {value!r}; it must be a finite number, or None", argument=name)


class ForwardNote(msgspec.Struct, frozen=True):
    """Something that happened inside a call, such as an event of a sub-agent; nobody here looks into it."""

    event: object


Note: TypeAlias = ProgressNote | ForwardNote
