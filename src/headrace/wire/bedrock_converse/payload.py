"""The small values of Converse's events: names, pieces of text, base64, usage.

The rule of this file: a value of another kind than the wire promises is read as what it means or says nothing; it never raises.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import binascii

from headrace._json import JSON, dumps_text, replace_surrogates
from headrace.messages.usage import Usage
from headrace.wire.json_events import count_of, kept


def word(value: JSON) -> str | None:
    """Return a name or id, or None if there is none."""
    if isinstance(value, str) and value:
        mended: str = replace_surrogates(value)
        return mended
    return str(value) if type(value) is int else None


def text_of(value: JSON) -> str:
    """Return a piece of JSON text; a server that sends an object instead means its text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps_text(replace_surrogates(value))


def decoded_base64(text: str) -> bytes | None:
    """Return what base64 text holds, or None if it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def usage_in(raw: JSON) -> Usage | None:
    """Read a usage object, of this wire or of a model behind it; None if it counts nothing.

    `inputTokens` leaves cached tokens out, so they are added: all three are read or written once.
    """
    if not isinstance(raw, dict):
        return None
    read = _first(raw, "cacheReadInputTokens", "cacheReadInputTokenCount")
    written = _first(raw, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
    fresh, out = _first(raw, "inputTokens", "inputTokenCount"), _first(raw, "outputTokens", "outputTokenCount")
    if all(number is None for number in (read, written, fresh, out)):
        return None
    whole = None if fresh is None else fresh + (read or 0) + (written or 0)
    return Usage(input_tokens=whole, output_tokens=out, cache_read_tokens=read, cache_write_tokens=written, raw=kept(raw))


def _first(raw: dict[str, JSON], *names: str) -> int | None:
    return next((number for name in names if (number := count_of(raw.get(name))) is not None), None)
