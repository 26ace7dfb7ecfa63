"""Keys of clients: made once, kept as their hash alone, found again in the three headers that clients send them in.

The rule of this file: no key is kept, and none stands in an error or a repr. A key is random and long, so one plain hash is enough, and
looking a hash up tells a guesser nothing.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Final

PREFIX: Final = "hr-"
_BEARER: Final = re.compile(r"bearer +(\S+)", re.IGNORECASE)
_HEADERS: Final = ("x-api-key", "x-goog-api-key")


def new_key() -> str:
    """Return a fresh key of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_of(key: str) -> str:
    """Return what is kept of a key: its SHA-256, in hexadecimal."""
    return hashlib.sha256(key.encode()).hexdigest()


def key_in(headers: Mapping[str, str]) -> str | None:
    """Return the key that a request brings, or None; the names of headers are in lower case."""
    found = _BEARER.fullmatch(headers.get("authorization", ""))
    if found is not None:
        return found[1]
    return next((headers[name] for name in _HEADERS if headers.get(name)), None)
