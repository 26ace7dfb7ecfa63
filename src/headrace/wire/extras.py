"""Fields that are not understood: kept, and given out once at the end as the metadata key `provider_fields`.

The rule of this file: nothing that a provider sent is dropped only because we do not know it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace._json import JSON
from headrace.messages.deltas import Delta, MetadataDelta


class Extras:
    """What was not understood.

    Of a field of an event or a choice the last value counts; texts in a delta that differ from piece to piece are joined, since they
    may be a kind of text that we do not know. A field of a choice is called `choice.NAME`, one of a delta `delta.NAME`.
    """

    __slots__ = ("_pieces", "_seen")

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._seen: dict[str, JSON] = {}
        self._pieces: dict[str, list[str]] = {}

    def take(self, prefix: str, fields: Mapping[str, Any], known: frozenset[str], keep: Callable[[JSON], JSON]) -> None:
        """Keep what is unknown among fields."""
        for name, value in fields.items():
            if name in known or value is None or value == "":
                continue
            key = keep(prefix + name)
            if self._seen.get(key) != value:
                if prefix == "delta." and isinstance(value, str):
                    self.take_piece(key, keep(value))
                self._seen[key] = keep(value)

    def take_piece(self, key: str, piece: str) -> None:
        """Keep a piece of a text, behind those that came before under this key."""
        self._pieces.setdefault(key, []).append(piece)

    def deltas(self) -> list[Delta]:
        """Return what was seen, as one delta; none if nothing was."""
        joined = {key: "".join(pieces) for key, pieces in self._pieces.items()}
        kept = {**self._seen, **joined}
        return [MetadataDelta({"provider_fields": kept}, ("provider_fields",))] if kept else []
