"""What one message may hold, so that memory stays bounded whatever a peer sends.

The rule of this file: a bound is data; who counts is `accumulator.py`, and who says it to the caller is the decoder.
"""

from __future__ import annotations

import msgspec


class LimitExceeded(Exception):  # noqa: N818 - not an error of the caller: the decoder turns it into the stream's error
    """A bound was passed; the delta that passed it was not taken."""

    def __init__(self, which: str, limit: int) -> None:
        """Name the limit."""
        super().__init__(f"more than {limit} {which}")
        self.which = which
        self.limit = limit


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one message may hold; None means no bound.

    Attributes:
        max_parts: parts over all choices.
        max_tool_calls: tool calls over all choices.
        max_argument_bytes: arguments of one call, in characters of the raw text.
    """

    max_parts: int | None = None
    max_tool_calls: int | None = None
    max_argument_bytes: int | None = None


def check(which: str, count: int, limit: int | None) -> None:
    """Raise `LimitExceeded` if there would be more than the limit."""
    if limit is not None and count > limit:
        raise LimitExceeded(which, limit)
