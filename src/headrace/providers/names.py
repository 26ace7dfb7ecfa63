"""The two texts that people write of a provider: a model's id and an address.

The rule of this file: what is said here holds for the catalogue and for what users add to it, so it knows neither.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final
from urllib.parse import urlsplit

from headrace.errors import ConfigError
from headrace.wire.protocols import WIRES

_SEPARATOR: Final = re.compile("[:/]")
_PATH: Final = "/chat/completions"


def split_name(model_id: str, names: Container[str]) -> tuple[str, str] | None:
    """Split a model's id at the first `:` or `/` whose left side is a known name or a protocol that can be spoken.

    Returns:
        the name in lower case and what stands behind it, which may be nothing; None where no left side is known.
    """
    for match in _SEPARATOR.finditer(model_id):
        name = model_id[: match.start()].lower()
        if name in names or (name in WIRES and WIRES[name].encodes):
            return name, model_id[match.end() :]
    return None


def normalise_base_url(base_url: str, argument: str = "base_url") -> str:
    """Return an address without slashes and `/chat/completions` at its end.

    Raises:
        ConfigError: it is no http(s) address, or holds a user, a query or a fragment. The error does not repeat it.
    """
    text = base_url.strip()
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # a broken port or IPv6 address
        parts, is_whole = None, False
    if parts is None or not is_whole or re.search(r"[\s\x00-\x1f\x7f]", text):
        raise ConfigError(f"{argument} is no address such as https://host/v1", argument=argument)
    if "@" in parts.netloc:
        raise ConfigError(f"{argument} holds a user or password; give the key as api_key", argument=argument)
    if parts.query or parts.fragment or "?" in text or "#" in text:
        raise ConfigError(f"{argument} holds a query or fragment, which an address to build on cannot have", argument=argument)
    text = text.rstrip("/")
    while text.endswith(_PATH):
        text = text.removesuffix(_PATH).rstrip("/")
    return text
