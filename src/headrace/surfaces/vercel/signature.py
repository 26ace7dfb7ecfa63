"""Signatures of questions: a client that keeps the conversation cannot make a yes to a call that nobody asked about.

The rule of this file: the form is the SDK's own, so either side can check what the other one signed: HMAC-SHA256, in base64url, of a JSON
list of a version, the question's id, the call's id, the tool's name and a digest of the arguments with sorted keys.

Source: `generate-text/tool-approval-signature.ts` and `util/canonical-hash.ts` of the package `ai`, version 7.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from decimal import Decimal
from typing import Any, Final, cast

from headrace._json import JSON

_VERSION: Final = "ai-sdk-tool-approval-v1"
_WHOLE: Final = 2**53


def sign(secret: bytes, *, approval_id: str, call_id: str, name: str, arguments: JSON) -> str:
    """Return the signature of a question.

    Args:
        secret: what the server alone knows.
        approval_id: the question.
        call_id: the call as the client knows it.
        name: the tool.
        arguments: what it is called with.
    """
    payload = _text([_VERSION, approval_id, call_id, name, _base64url(hashlib.sha256(_canonical(arguments).encode()).digest())])
    return _base64url(hmac.digest(secret, payload.encode(), "sha256"))


def is_signed(secret: bytes, signature: str | None, *, approval_id: str, call_id: str, name: str, arguments: JSON) -> bool:
    """Return whether a signature is there and is that of this question; the time that this takes says nothing about why not."""
    right = sign(secret, approval_id=approval_id, call_id=call_id, name=name, arguments=arguments)
    return signature is not None and hmac.compare_digest(right.encode(), signature.encode("utf-8", "replace"))


def _canonical(value: JSON) -> str:
    """Return a value as text with sorted keys, numbers as JavaScript writes them."""
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        keys = sorted(held, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_text(key)}:{_canonical(held[key])}" for key in keys) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_canonical(item) for item in cast("list[Any]", value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value) if isinstance(value, int) and abs(value) <= _WHOLE else _number(float(value))
    return _text(value)


def _number(value: float) -> str:
    """Return a number as JavaScript writes it (ECMA-262, Number::toString)."""
    sign_, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text, minus = "".join(map(str, digits)), "-" if sign_ and any(digits) else ""
    point = len(text) + exponent  # where it stands, counted from the first digit
    if len(text) <= point <= 21:
        return minus + text + "0" * (point - len(text))
    if 0 < point <= 21:
        return f"{minus}{text[:point]}.{text[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    mantissa = text if len(text) == 1 else f"{text[0]}.{text[1:]}"
    return f"{minus}{mantissa}e{point - 1:+d}"


def _text(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
