"""What is known of one content block while it arrives.

The rule of this file: what kind a block is follows from its type alone; of the types that we do not know, those whose name ends like a
tool of the provider's are one, and all others are kept whole.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from headrace._json import EMPTY, JSON
from headrace.wire.json_events import kept
from headrace.wire.text_filters import Halves

PROTOCOL: Final = "anthropic-messages"
Kind: TypeAlias = Literal["text", "thinking", "call", "server_tool", "item"]

_OWN_FIELDS: Final[dict[Kind, frozenset[str]]] = {
    "text": frozenset({"type", "text", "citations"}),
    "thinking": frozenset({"type", "thinking", "signature", "data"}),
    "call": frozenset({"type", "id", "name", "input"}),
    "server_tool": frozenset({"id", "name", "input"}),
    "item": frozenset(),
}


class Block:
    """One block.

    Attributes:
        kind: what it is to us.
        index: the wire's number.
        key: the key of its part.
        id: of a tool of the provider's: by it results find their call.
        is_open: it has not stopped.
        start_text: a text that the first delta may repeat.
        input: arguments that stood in the start; they count if no delta brings others.
        has_input: a delta brought arguments.
        halves: holds half a character of a provider's arguments.
        fields: the start of a block that is kept whole; `raw`: its bytes; `pieces`: what deltas added to it, by field.
        before: the block that was opened before this one.
    """

    __slots__ = (
        "before", "fields", "halves", "has_input", "id", "index", "input", "is_open", "key", "kind", "pieces", "raw", "start_text",
    )  # fmt: skip

    def __init__(self, kind: Kind, index: int, key: int, before: Block | None) -> None:
        """Start open and empty."""
        self.kind: Kind = kind
        self.index = index
        self.key = key
        self.id = ""
        self.is_open = True
        self.start_text = ""
        self.input: JSON = None
        self.has_input = False
        self.halves: Halves | None = None
        self.fields: Mapping[str, Any] = EMPTY
        self.raw = b""
        self.pieces: dict[str, list[Any]] = {}
        self.before = before

    def unknown(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what its start holds beside the fields that we read, as it is kept.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        known = _OWN_FIELDS[self.kind]
        rest: dict[str, Any] = kept({name: value for name, value in fields.items() if name not in known and value is not None})
        return rest


def kind_of(fields: Mapping[str, Any]) -> Kind:
    """Say what a block is, by its start."""
    kind = fields.get("type")
    if kind == "text":
        return "text"
    if kind in ("thinking", "redacted_thinking"):
        return "thinking"
    if kind == "tool_use":
        return "call"
    return "server_tool" if isinstance(kind, str) and kind.endswith("_tool_use") else "item"


def number_of(index: JSON) -> int | None:
    """Return the number of a block, or None if it is none."""
    return index if type(index) is int and index >= 0 else None
