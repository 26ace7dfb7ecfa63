"""Bounds on what a peer can send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from headrace.errors import UsageError
from headrace.messages.accumulator import Bounds
from headrace.messages.checked import from_mapping

_MIB: Final = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one stream may hold; past a limit it ends with the error kind `limit_exceeded`, whose `which` is the field without `max_`.

    Attributes:
        max_event_bytes: one event (the lines of its data), or a body that is one whole JSON answer.
        max_parts: parts of the message, over all choices; also choices, which are counted by themselves.
        max_tool_calls: tool calls, over all choices.
        max_argument_bytes: the raw arguments of one call, in characters.
        max_total_bytes: the whole body.

    Raises:
        UsageError: a limit is no whole number above 0.
    """

    max_event_bytes: int = 16 * _MIB
    max_parts: int = 10_000
    max_tool_calls: int = 10_000
    max_argument_bytes: int = 64 * _MIB
    max_total_bytes: int = 4096 * _MIB

    def __post_init__(self) -> None:
        """Check the values."""
        for name in self.__struct_fields__:
            limit = getattr(self, name)
            if type(limit) is not int or limit < 1:
                raise UsageError(f"limits.{name} is {limit!r}; a limit is a whole number above 0", argument=f"limits.{name}")

    @classmethod
    def of(cls, value: Limits | Mapping[str, Any] | None) -> Limits:
        """Return the value as `Limits`; a mapping holds fields of `Limits`.

        Raises:
            UsageError: a field is unknown or no whole number above 0.
        """
        return from_mapping(cls, value, DEFAULT_LIMITS, "limits")

    @property
    def bounds(self) -> Bounds:
        """The part of the limits that the accumulator keeps."""
        return Bounds(max_parts=self.max_parts, max_tool_calls=self.max_tool_calls, max_argument_bytes=self.max_argument_bytes)


DEFAULT_LIMITS: Final = Limits()
