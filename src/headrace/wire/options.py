"""What a caller may switch on for decoding.

The rule of this file: an option changes what honest-looking bytes mean, so none is on by itself. A protocol that an option says
nothing to ignores it.
"""

# What callers give is checked here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from headrace.errors import UsageError
from headrace.messages.checked import from_mapping
from headrace.wire.inline_families import FAMILY_NAMES, Offered

_LISTS: Final = {
    "inline_tool_calls": "True, False or names of ways to write calls",
    "inline_tool_names": "names of tools, or their schemas",
}
_MAY_BE_NONE: Final = ("incremental_output", "inline_tool_names")


def _is_names(value: object) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(name, str) for name in value)


def _are_schemas(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) and isinstance(schema, Mapping) for name, schema in value.items())


class DecodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options; what is not said otherwise is True or False.

    Attributes:
        think_tags: split `<think>…</think>` and `<thinking>…</thinking>` out of the text as reasoning.
        think_starts_open: with `think_tags`: the template has already opened the tag.
        cumulative_text: each text piece repeats all text before it.
        incremental_output: DashScope: whether each piece is new (True) or repeats all before it (False); None: found out from the data.
        drop_repeated_block_start_text: Anthropic dialects: the first delta of a block repeats the text that its start held.
        inline_tool_calls: turn calls that a server left in the text into calls, once the answer has ended well: True for every way to write
            them, or names of ways (`FAMILY_NAMES`). A structured call shows that the server does it itself; then text stays text.
        inline_tool_names: with `inline_tool_calls`: the tools that were offered; only they can be called so. Names, or a mapping from
            each name to the JSON Schema of its parameters, which says what values that are written as bare text are. None: any name.

    Raises:
        UsageError: an option's value does not fit.
    """

    think_tags: bool = False
    think_starts_open: bool = False
    cumulative_text: bool = False
    incremental_output: bool | None = None
    drop_repeated_block_start_text: bool = False
    inline_tool_calls: bool | tuple[str, ...] = False
    inline_tool_names: tuple[str, ...] | Mapping[str, Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        for name in self.__struct_fields__:
            setting = getattr(self, name)
            if name in _LISTS and _is_names(setting):
                msgspec.structs.force_setattr(self, name, tuple(setting))
            elif name == "inline_tool_names" and _are_schemas(setting):
                msgspec.structs.force_setattr(self, name, dict(setting))
            elif type(setting) is not bool and (setting is not None or name not in _MAY_BE_NONE):
                raise UsageError(f"option {name} is {setting!r}; it is {_LISTS.get(name, 'True or False')}", argument=f"options.{name}")
        families = self.inline_tool_calls
        unknown = None if isinstance(families, bool) else next((name for name in families if name not in FAMILY_NAMES), None)
        if unknown is not None:
            known = ", ".join(FAMILY_NAMES)
            raise UsageError(f"option inline_tool_calls names {unknown!r}; known are {known}", argument="options.inline_tool_calls")
        if isinstance(self.inline_tool_names, bool):
            raise UsageError("option inline_tool_names is True or False; it is names", argument="options.inline_tool_names")

    @property
    def inline_families(self) -> tuple[str, ...]:
        """The ways to write calls into text that are looked for; none where that is off."""
        families = self.inline_tool_calls
        return (FAMILY_NAMES if families else ()) if isinstance(families, bool) else families

    @property
    def offered_tools(self) -> Offered | None:
        """The tools that calls in the text may name, each with its schema; None for any."""
        names = self.inline_tool_names
        return names if names is None or isinstance(names, Mapping) else {name: {} for name in names}

    @classmethod
    def of(cls, value: DecodeOptions | Mapping[str, Any] | None) -> DecodeOptions:
        """Return the value as `DecodeOptions`; a mapping holds fields of it.

        Raises:
            UsageError: an option is unknown, or not True or False.
        """
        return from_mapping(cls, value, NO_OPTIONS, "options")


NO_OPTIONS: Final = DecodeOptions()
