"""What a caller may switch on for decoding.

The rule of this file: an option changes what honest-looking bytes mean, so none is on by itself. A protocol that an option says
nothing to ignores it; what no protocol can do yet is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from headrace.errors import UnsupportedError, UsageError


class DecodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options; each is True or False.

    Attributes:
        think_tags: split `<think>…</think>` out of the text as reasoning.
        think_starts_open: with `think_tags`: the template has already opened the tag.
        cumulative_text: each text piece repeats all text before it.
        incremental_output: DashScope: whether each piece is new (True) or repeats all before it (False); None: found out from the data.
        drop_repeated_block_start_text: Anthropic dialects: the first delta of a block repeats the text that its start held.
        inline_tool_calls: read calls that a server left in the text; no decoder can do that yet.

    Raises:
        UsageError: an option is neither True nor False.
        UnsupportedError: `inline_tool_calls` is on.
    """

    think_tags: bool = False
    think_starts_open: bool = False
    cumulative_text: bool = False
    incremental_output: bool | None = None
    drop_repeated_block_start_text: bool = False
    inline_tool_calls: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        for name in self.__struct_fields__:
            setting = getattr(self, name)
            if type(setting) is not bool and (setting is not None or name != "incremental_output"):
                raise UsageError(f"option {name} is {setting!r}; it is True or False", argument=f"options.{name}")
        if self.inline_tool_calls:
            raise UnsupportedError(
                "option inline_tool_calls: no decoder can read calls out of text yet", argument="options.inline_tool_calls"
            )

    @classmethod
    def of(cls, value: DecodeOptions | Mapping[str, Any] | None) -> DecodeOptions:
        """Return the value as `DecodeOptions`; a mapping holds fields of it.

        Raises:
            UsageError: an option is unknown, or not True or False.
        """
        if value is None:
            return NO_OPTIONS
        if isinstance(value, DecodeOptions):
            return value
        if not isinstance(value, Mapping):
            raise UsageError(f"options is a {type(value).__name__}, not a DecodeOptions or a mapping of its fields", argument="options")
        for name in value:
            if name not in cls.__struct_fields__:
                known = ", ".join(cls.__struct_fields__)
                raise UsageError(f"there is no option {name!r}; the options are {known}", argument=f"options.{name}")
        return cls(**value)


NO_OPTIONS: Final = DecodeOptions()
