"""One step of an interaction while it streams.

The rule of this file: it remembers what the wire said of the step, so that a step of the provider's own can be kept, and sent back, whole.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import JSON, JSONError, loads
from headrace.messages.value_merge import merge_all

_JOINED: Final = frozenset({"arguments", "result", "content", "summary"})
"""Fields that come in pieces; of every other field the last value that says something counts."""


class Step:
    """The state of a step.

    Attributes:
        type: its type, such as `model_output`.
        index: its number, as the wire has it.
        part: the key of the part at hand, or None before the first.
        run: the kind of the part that the next piece of that kind continues.
        arguments: what came of the arguments as text.
        others: contents of its summary that are no text.
        is_stopped: the wire said that it is whole.
    """

    __slots__ = ("_fields", "_pieces", "arguments", "index", "is_stopped", "others", "part", "run", "type")

    def __init__(self, index: int, fields: Mapping[str, JSON]) -> None:
        """Start with what the step's beginning says."""
        self.index = index
        kind = fields.get("type")
        self.type = kind if isinstance(kind, str) else ""
        self.part: int | None = None
        self.run = ""
        self.arguments: list[str] = []
        self.others: list[JSON] = []
        self.is_stopped = False
        self._fields: dict[str, JSON] = {}
        self._pieces: dict[str, list[JSON]] = {}
        self.add(fields)

    def add(self, fields: Mapping[str, JSON]) -> None:
        """Take fields of the step's beginning or of a delta."""
        for name, value in fields.items():
            if name in _JOINED:
                self._pieces.setdefault(name, []).append(value)
            elif name not in self._fields or (value not in (None, "") and name != "type"):
                self._fields[name] = value

    def get(self, name: str) -> JSON:
        """Return a field as it is so far; what is joined, joined."""
        return merge_all(self._pieces[name]) if name in self._pieces else self._fields.get(name)

    @property
    def body(self) -> dict[str, Any]:
        """The whole step, as it would have come at once."""
        body = {**self._fields, **{name: merge_all(pieces) for name, pieces in self._pieces.items()}}
        if self.arguments:
            text = "".join(self.arguments)
            try:
                body["arguments"] = loads(text)
            except JSONError:
                body["arguments"] = text
        return body
