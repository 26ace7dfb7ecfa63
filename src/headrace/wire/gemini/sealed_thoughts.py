"""What proves or hides thinking on other wires, as the `thoughtSignature` of a thought part: out to a client, and back from it.

The rule of this file: the proof stands on an empty thought part behind the text that it is about, and says how many characters of that it
covers. A signature of this form is ours by how it begins; all others are a provider's own and stay where they are, as they are.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final

from headrace._json import JSON, JSONError, dumps, loads

_ENVELOPE: Final = b"headrace-1:"


def seal(length: int, signature: str, encrypted: str, details: Sequence[JSON]) -> str:
    """Return the signature of a thought part, in base64 as the wire has it.

    Args:
        length: how many characters of thinking right before it are meant.
        signature: as in `ReasoningPart`; "" for none.
        encrypted: as there.
        details: as there.
    """
    fields: dict[str, Any] = {"length": length, "signature": signature, "encrypted": encrypted, "details": list(details)}
    return base64.b64encode(_ENVELOPE + dumps({name: value for name, value in fields.items() if value})).decode("ascii")


def unseal(signature: JSON) -> tuple[int, dict[str, Any]] | None:
    """Return how many characters are meant and the fields of the reasoning part, or None if the signature is not of our form."""
    if not isinstance(signature, str):
        return None
    try:
        data = base64.b64decode(signature, validate=True)
        fields: JSON = loads(data[len(_ENVELOPE) :]) if data.startswith(_ENVELOPE) else None
    except (binascii.Error, ValueError, JSONError):
        return None
    if not isinstance(fields, dict):
        return None
    length = fields.get("length", 0)
    found: dict[str, Any] = {name: fields[name] for name in ("signature", "encrypted") if isinstance(fields.get(name), str)}
    details = fields.get("details")
    if isinstance(details, list) and details:
        found["details"] = tuple(details)
    return (length, found) if type(length) is int and length >= 0 and found else None
