"""Which names a server may be called by: else a web page could reach it through a name of the page's own (DNS rebinding).

The rule of this file: pure; an exact list, no patterns but `*` for any.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class AllowedHosts:
    """The names that a Host header may hold, whatever the port."""

    def __init__(self, bound: str, more: Iterable[str] = (), *, has_keys: bool = False) -> None:
        """Say where the server listens, and by what names it is called beside that.

        Args:
            bound: the address that it listens at.
            more: further names; `*` allows any.
            has_keys: whether clients need keys. One that listens at every address is called by names that it cannot know; a key is then
                what a web page lacks.
        """
        given = {host_of(name) for name in more}
        self._any = "*" in given or (not given and has_keys and _is_unspecified(bound))
        self._names = _LOOPBACK | given | {host_of(bound)}

    def allows(self, header: str | None) -> bool:
        """Return whether a request with this Host header is answered; one without is not."""
        return self._any or (header is not None and host_of(header) in self._names)


def host_of(text: str) -> str:
    """Return the name in a Host header: in lower case, without port, brackets and the root's dot."""
    text = text.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    if text.count(":") == 1:
        text = text.partition(":")[0]
    return text.removesuffix(".")


def is_loopback(host: str) -> bool:
    """Return whether an address to listen at can be reached from this machine alone."""
    name = host_of(host)
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host_of(host)).is_unspecified
    except ValueError:
        return False
