"""Single values of Google's wires: texts, times, base64, kinds of media.

The rule of this file: a value of another type than it should have is no value; nothing raises but `kept`.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Final

from headrace._json import JSON, MAX_DEPTH, freeze, replace_surrogates
from headrace.messages.parts import MediaKind

_KEPT_DEPTH: Final = MAX_DEPTH - 16  # a message wraps what it keeps a few levels deeper, and must be readable itself


def kept(value: JSON) -> JSON:
    """Return a value of the wire as it is kept: frozen, and writable as UTF-8.

    Raises:
        UsageError: it is nested too deep, or holds a number too large to be written again; the readers of events take it.
    """
    return freeze(replace_surrogates(value), "it", max_depth=_KEPT_DEPTH)


def kind_of(media_type: str | None) -> MediaKind:
    """Return what kind of medium a type is; what is no image, sound or video is a document."""
    match (media_type or "").partition("/")[0].lower():
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case _:
            return "document"


def text_of(value: JSON) -> str | None:
    """Return a text that says something; "" says nothing."""
    return replace_surrogates(value) if isinstance(value, str) and value else None


def bytes_of(text: JSON) -> bytes | None:
    """Decode base64, in either alphabet; None if it is none."""
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def time_of(value: JSON) -> datetime | None:
    """Read a time in RFC 3339; None if it is none."""
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
