"""What an encoder hands to a transport: where to send which bytes, without host, key or socket.

The rule of this file: a header that would change the message's framing or target, or smuggle a second header in, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from headrace.errors import UsageError
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110, section 5.6.2
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_REFUSED: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer"})


class EncodedRequest(msgspec.Struct, frozen=True):
    """One request of a protocol, ready to be sent below a base URL.

    Attributes:
        path: what follows the base URL, such as `/chat/completions`.
        body: the bytes of the JSON body; equal requests give equal bytes.
        headers: pairs of name and value in lower case names; no key among them unless the caller put one in.
        warnings: what could not be taken along (`dropped_for_provider`).
    """

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    warnings: tuple[Warning, ...] = ()

    def __repr__(self) -> str:
        """Show no header values, since a caller may have put a key among them."""
        names = ", ".join(name for name, _ in self.headers)
        return f"EncodedRequest({self.path}, {len(self.body)} bytes, headers: {names}, warnings={self.warnings!r})"


def join_headers(base: Mapping[str, str], extra: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the headers with the caller's own on top; names are compared without case.

    Raises:
        UsageError: a name or value is no header, or the transport alone may set it.
    """
    joined = {name.lower(): value for name, value in base.items()}
    for name, value in extra.items():
        argument = f"settings.extra_headers[{name!r}]"
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise UsageError(f"{argument} is no HTTP header: a name or value holds what headers cannot", argument=argument)
        if name.lower() in _REFUSED:
            raise UsageError(f"{argument} is set by the transport alone", argument=argument)
        joined[name.lower()] = value
    return tuple(joined.items())
