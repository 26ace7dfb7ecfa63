"""Token counts in neutral words.

`input_tokens` counts every prompt token, cached ones included; `output_tokens` every generated one, reasoning
included. None means that nobody said; 0 is a count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from headrace._json import EMPTY, freeze
from headrace.errors import UsageError

COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


class Usage(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a model call used, in tokens.

    Attributes:
        input_tokens: all prompt tokens, those read from or written to a cache included.
        output_tokens: all generated tokens, reasoning included.
        cache_read_tokens: the part of the input that came from a cache.
        cache_write_tokens: the part of the input that was put into a cache.
        reasoning_tokens: the part of the output that was reasoning.
        raw: the provider's own report.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: dict[str, Any] = EMPTY

    def __post_init__(self) -> None:
        """Check the counts and freeze the raw report."""
        counts = (self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens, self.reasoning_tokens)
        for name, count in zip(COUNTS, counts, strict=True):
            if count is not None and type(count) is not int:
                raise UsageError(f"usage.{name} is {count!r}; a count is a whole number or None", argument=f"usage.{name}")
        if self.raw is not EMPTY:
            raw = freeze(self.raw, "usage.raw")
            if not isinstance(raw, dict):
                raise UsageError(f"usage.raw is a {type(self.raw).__name__}, not a mapping", argument="usage.raw")
            msgspec.structs.force_setattr(self, "raw", raw)

    @classmethod
    def of(cls, value: Usage | Mapping[str, Any]) -> Usage:
        """Return the value as a `Usage`; a mapping holds fields of `Usage`.

        Raises:
            UsageError: a field is unknown, or a count is no whole number.
        """
        if isinstance(value, Usage):
            return value
        if not isinstance(value, Mapping):
            raise UsageError(f"usage is a {type(value).__name__}, not a Usage or a mapping of its fields", argument="usage")
        unknown = set(value) - {*COUNTS, "raw"}
        if unknown:
            name = min(map(str, unknown))
            raise UsageError(f"usage has no field {name!r}; its fields are {', '.join(COUNTS)}, raw", argument=f"usage.{name}")
        return cls(**value)

    @property
    def total_tokens(self) -> int:
        """Input and output together; an unknown count adds nothing."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    def updated(self, later: Usage) -> Usage:
        """Return what is known after a later report of the same call: field by field the last that is not None."""
        counts = {name: getattr(later, name) if getattr(later, name) is not None else getattr(self, name) for name in COUNTS}
        return Usage(**counts, raw={**self.raw, **{key: value for key, value in later.raw.items() if value is not None}})

    def __add__(self, other: Usage) -> Usage:
        """Return the sum over two calls; the raw reports do not add up and are dropped."""
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(
            input_tokens=_plus(self.input_tokens, other.input_tokens),
            output_tokens=_plus(self.output_tokens, other.output_tokens),
            cache_read_tokens=_plus(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=_plus(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens=_plus(self.reasoning_tokens, other.reasoning_tokens),
        )

    def __radd__(self, other: int) -> Usage:
        """Let `sum(usages)` begin with its 0."""
        return self if other == 0 else NotImplemented

    def counts(self) -> dict[str, int | None]:
        """Return the five counts as a dictionary."""
        return {name: getattr(self, name) for name in COUNTS}


def _plus(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right
