"""What all parts share.

The rule of this file: whoever makes a part, it cannot change afterwards, and all of it can be written as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, cast

import msgspec

from headrace._json import EMPTY, JSON, JSONError, check_text, freeze, loads
from headrace.errors import UsageError
from headrace.messages.checked import CheckedMeta

NO_ARGUMENTS: Final = "{}"


class PartBase(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", metaclass=CheckedMeta):
    """What all parts share: JSON fields are copied and frozen, sequences are tuples, texts can be written as UTF-8."""

    _JSON: ClassVar[tuple[str, ...]] = ("provider_data",)
    _LISTS: ClassVar[tuple[str, ...]] = ()
    _TEXT: ClassVar[tuple[str, ...]] = ()

    @property
    def type(self) -> str:
        """Which part it is, as in JSON, such as `text` or `tool_call`."""
        return str(self.__struct_config__.tag)

    def __post_init__(self) -> None:
        """Copy and freeze what could be changed from outside."""
        name = type(self).__name__
        for field in self._JSON:
            value = getattr(self, field)
            if value is not EMPTY and value is not None:
                msgspec.structs.force_setattr(self, field, freeze(value, f"{name}.{field}"))
        for field in self._LISTS:
            value = getattr(self, field)
            if value != ():
                frozen = freeze(value, f"{name}.{field}")
                if not isinstance(frozen, list):
                    raise UsageError(f"{name}.{field} is a {type(value).__name__}, not a list", argument=f"{name}.{field}")
                msgspec.structs.force_setattr(self, field, tuple(cast("Sequence[Any]", frozen)))
        for field in self._TEXT:
            text = getattr(self, field)
            if type(text) is str and text.isascii():
                continue
            if isinstance(text, str):
                msgspec.structs.force_setattr(self, field, check_text(text, f"{name}.{field}"))
            elif text is not None:
                raise UsageError(f"{name}.{field} is a {type(text).__name__}, not text", argument=f"{name}.{field}")

    def _same_as_default(self, field: str, default: str) -> None:
        # Defaults are left out of JSON by identity, so an equal text (from a pickle, say) has to be the very same one.
        value = getattr(self, field)
        if value is not default and value == default:
            msgspec.structs.force_setattr(self, field, default)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by fields; the friendly constructor is not the stored form."""
        return (_rebuild, (type(self), msgspec.structs.astuple(self)))


def _rebuild(kind: type[PartBase], values: tuple[Any, ...]) -> PartBase:
    fields = dict(zip(kind.__struct_fields__, values, strict=True))
    return cast("PartBase", msgspec.StructMeta.__call__(cast("Any", kind), **fields))


def object_or_none(text: str) -> dict[str, JSON] | None:
    """Return the JSON object that a text is, or None."""
    try:
        value = loads(text)
    except JSONError:
        return None
    return cast("dict[str, JSON]", value) if isinstance(value, dict) else None
