"""Reasoning that other wires sign, as `encrypted_content` of the Responses protocol: out to a client, and back from it.

The rule of this file: what is sealed and nothing else goes as it is. A signature, or a provider's details, go in an envelope that is ours
by its beginning; what comes back in such an envelope is what went out, byte for byte, and everything else is a provider's own seal.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace._json import JSON, JSONError, dumps_text, loads

ENVELOPE: Final = "headrace-1:"


def seal(signature: str | None, encrypted: str | None, details: Sequence[JSON] = ()) -> str | None:
    """Return what proves or hides some reasoning as one text, or None if nothing does."""
    if not signature and not details:
        return encrypted or None
    fields: dict[str, Any] = {"signature": signature, "encrypted": encrypted, "details": list(details)}
    return ENVELOPE + dumps_text({name: value for name, value in fields.items() if value})


def unseal(text: str | None) -> dict[str, Any]:
    """Return the fields of a reasoning part that a text is: `signature`, `encrypted` and `details`, as far as it holds them."""
    if not text:
        return {}
    if not text.startswith(ENVELOPE):
        return {"encrypted": text}
    try:
        fields: JSON = loads(text[len(ENVELOPE) :])
    except JSONError:
        fields = None
    if not isinstance(fields, dict):
        return {"encrypted": text}
    found: dict[str, Any] = {name: fields[name] for name in ("signature", "encrypted") if isinstance(fields.get(name), str)}
    details = fields.get("details")
    return {**found, "details": tuple(details)} if isinstance(details, list) and details else found
