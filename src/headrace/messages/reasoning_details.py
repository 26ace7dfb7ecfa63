"""Reasoning details that come in pieces (OpenRouter's `reasoning_details`), joined to what goes back.

The rule of this file: pieces of one type and index are one detail; its running texts are joined, all else is the first
non-empty; order is that of first arrival. What comes out equals what the provider would have sent whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from headrace._json import JSON

_RUNNING: Final = frozenset({"text", "summary", "data", "signature"})


def join_details(items: Sequence[JSON]) -> tuple[JSON, ...]:
    """Join pieces of details; what is no mapping with a type stays as it is."""
    joined: list[Any] = []
    places: dict[tuple[str, int], dict[str, list[Any]]] = {}
    for item in items:
        detail = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        kind, index = detail.get("type"), detail.get("index")
        if not isinstance(kind, str) or type(index) is not int:
            joined.append(item)
            continue
        fields = places.get((kind, index))
        if fields is None:
            fields = places[kind, index] = {}
            joined.append(fields)
        for name, value in detail.items():
            fields.setdefault(name, []).append(value)
    grown = {id(fields) for fields in places.values()}
    return tuple(_whole(item) if id(item) in grown else item for item in joined)


def _whole(fields: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: _field(name, values) for name, values in fields.items()}


def _field(name: str, values: list[Any]) -> Any:
    if name in _RUNNING and all(isinstance(value, str) or value is None for value in values):
        texts = [value for value in values if value]
        if name == "signature" and len(set(texts)) == 1:
            return texts[0]
        return "".join(texts) if texts else values[0]
    return next((value for value in values if value is not None and value != ""), values[0])
