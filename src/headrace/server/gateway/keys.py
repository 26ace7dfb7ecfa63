"""Whose key a request to the gateway brings.

The rule of this file: a client is found by the hash of its key alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from headrace.server.gateway.config import Client
from headrace.server.keys import hash_of, key_in


class Keyring:
    """Who may ask."""

    def __init__(self, clients: Iterable[Client]) -> None:
        """Take the clients; without any, everybody may ask."""
        self._clients = {client.key_sha256.lower(): client for client in clients}

    def client_of(self, headers: Mapping[str, str]) -> Client | None:
        """Return whose key a request brings; None if it brings none that is known."""
        if not self._clients:
            return ANYBODY
        key = key_in(headers)
        return None if key is None else self._clients.get(hash_of(key))


ANYBODY: Final = Client(name="", key_sha256="")
"""The client of a gateway that asks for no keys."""
