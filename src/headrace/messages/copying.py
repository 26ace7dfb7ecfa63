"""Copies of messages for machines, which give only what was checked when it was made.

The rule of this file: nothing is looked at here. People's values come in by `Message.replace`, which checks everything.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import force_setattr

from headrace.messages.message import Message

M = TypeVar("M", bound=Message)


def changed(message: M, **fields: Any) -> M:
    """Return a copy with some fields changed.

    Args:
        message: stays as it is.
        fields: in their stored form: parts as a tuple, JSON frozen, times in UTC.
    """
    source: Any = message
    copy: M = source.__copy__()  # a copy of the Struct's own, in which nothing is checked again
    for name, value in fields.items():
        force_setattr(copy, name, value)
    return copy
