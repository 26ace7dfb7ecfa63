"""Who is let in: by the name that the server is called by, the page that asks, and the key that comes with it.

The rule of this file: pure but for the clock that comes in; what is refused is refused before a body is read.

A page of another site must not reach a server of this machine: neither by a name of its own that leads here (DNS rebinding: the Host header
says it), nor by a form or a script (CSRF: the Origin header says it).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from typing import Final

from headrace.server.app.faults import FaultError
from headrace.server.app.keys import ANYBODY, Key, Keys
from headrace.server.asgi import Headers
from headrace.server.hosts import AllowedHosts
from headrace.server.keys import key_in

_SCHEMES: Final = ("http://", "https://")
_BASIC: Final = re.compile(r"basic +([A-Za-z0-9+/=]+)", re.IGNORECASE)
_ORIGIN: Final = re.compile(r"https?://[^/\s]+")
PLAIN_POLICY: Final = "default-src 'none'; frame-ancestors 'none'; sandbox"


class Door:
    """Decides who is let in."""

    def __init__(
        self, keys: Keys, *, host: str = "127.0.0.1", allowed_hosts: Iterable[str] = (), allowed_origins: Iterable[str] = ()
    ) -> None:
        """Say what is known.

        Args:
            keys: the keys; without any, everybody is let in.
            host: the address that the server listens at.
            allowed_hosts: further names that it is called by; `*`: any.
            allowed_origins: pages of other servers that may ask, such as `http://localhost:3000`.
        """
        self.keys = keys
        self._hosts = AllowedHosts(host, allowed_hosts, has_keys=len(keys) > 0)
        self._origins = {origin.rstrip("/").lower() for origin in allowed_origins}

    def check_names(self, headers: Mapping[str, str]) -> None:
        """Refuse a request that a page of another site may have made.

        Raises:
            FaultError: its Host or its Origin is not ours.
        """
        host = headers.get("host")
        if not self._hosts.allows(host):
            said = "this Host header is none of this server's names; --allow-host names further ones"
            raise FaultError("forbidden", said, argument="Host")
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, host or "") and not self.is_friend(origin):
            raise FaultError("forbidden", "this Origin is not this server; --allow-origin names others", argument="Origin")

    def _is_own(self, origin: str, host: str) -> bool:
        return origin.lower().startswith(_SCHEMES) and origin.lower().partition("://")[2] == host.strip().lower()

    def is_friend(self, origin: str | None) -> bool:
        """Return whether a page of another server may ask."""
        return origin is not None and origin.lower() in self._origins

    def shared(self, headers: Mapping[str, str]) -> Headers:
        """Return the headers by which a browser lets a page of another server have the answer."""
        origin = headers.get("origin")
        if origin is None or not self.is_friend(origin) or not _ORIGIN.fullmatch(origin):
            return ()
        return (
            ("access-control-allow-origin", origin),
            ("access-control-expose-headers", "x-request-id, retry-after, x-headrace-run-id"),
            ("vary", "origin"),
        )

    def preflight(self, methods: Iterable[str]) -> Headers:
        """Return the headers that, beside the shared ones, answer a browser's question whether a page of another server may ask."""
        return (
            ("access-control-allow-methods", ", ".join(methods)),
            ("access-control-allow-headers", "authorization, content-type, last-event-id, x-api-key"),
            ("access-control-max-age", "600"),
        )

    def key_of(self, headers: Mapping[str, str], *, is_basic: bool = False) -> Key:
        """Return whose key a request brings.

        Args:
            headers: the request's.
            is_basic: whether it may come as a password.

        Raises:
            FaultError: it brings none that is known.
        """
        if not len(self.keys):
            return ANYBODY
        given = _password(headers.get("authorization", "")) if is_basic else None
        given = given or key_in(headers)
        found = None if given is None else self.keys.find(given)
        if found is None:
            said = "this server asks for a key: Authorization: Bearer KEY" if given is None else "this key is not known here"
            scheme = 'Basic realm="headrace: the key is the password", charset="UTF-8"' if is_basic else 'Bearer realm="headrace"'
            raise FaultError("authentication", said, headers=(("www-authenticate", scheme),))
        return found


def _password(header: str) -> str | None:
    found = _BASIC.fullmatch(header)
    if found is None:
        return None
    try:
        return base64.b64decode(found[1], validate=True).decode().partition(":")[2] or None
    except (binascii.Error, UnicodeDecodeError):
        return None


def guarded(policy: str | None) -> Headers:
    """Return the headers that every answer has, so that browsers take it for nothing else than it is."""
    return (
        ("content-security-policy", policy or PLAIN_POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    )
