"""Blocks that are kept whole: what a tool of the provider's gave, and every type that we do not know.

The rule of this file: such a block goes back as it came, its own bytes where the wire gave it at once. What a tool gave stands in the part
of its call where it follows it at once; elsewhere it keeps a place of its own, since the order of blocks is part of what goes back.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace._json import JSON, dumps
from headrace.messages.deltas import PartDelta, ProviderToolFragment
from headrace.messages.parts import ProviderItem, make
from headrace.wire.anthropic_messages.blocks import PROTOCOL, Block
from headrace.wire.decoder import Output
from headrace.wire.json_events import kept


class KeptBlockReader:
    """Reads such blocks into an `Output`."""

    def __init__(self, output: Output, provider: str) -> None:
        """Start before the first one."""
        self._output = output
        self._provider = provider

    def grow(self, block: Block, delta: Mapping[str, Any]) -> None:
        """Let a delta join a block: texts are joined, of anything else the last value counts."""
        for name, value in delta.items():
            if name == "type" or value is None:
                continue
            pieces = block.pieces.setdefault(name, [])
            if not isinstance(value, str) or (pieces and not isinstance(pieces[-1], str)):
                pieces.clear()
            pieces.append(value)

    def close(self, block: Block) -> None:
        """End a block.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        if not block.pieces and self._is_taken_as_result(block):
            return
        raw = block.raw
        if block.pieces or not raw:
            grown = {name: _joined(block.fields.get(name), pieces) for name, pieces in block.pieces.items()}
            raw = dumps(kept({**block.fields, **grown}))
        self._output.add(PartDelta(make(ProviderItem, provider=self._provider, protocol=PROTOCOL, raw=raw), block.key))

    def _is_taken_as_result(self, block: Block) -> bool:
        """Put a result into the part of its call, if that stands right before it; return whether it did."""
        call, content = block.before, block.fields.get("content")
        if call is None or call.kind != "server_tool" or not call.id or content is None or block.fields.get("tool_use_id") != call.id:
            return False
        rest = {name: value for name, value in block.fields.items() if name not in ("tool_use_id", "content")}
        self._output.add(ProviderToolFragment(result=kept(content), part=call.key, provider_data={"result": kept(rest)}))
        return True


def _joined(start: JSON, pieces: list[JSON]) -> JSON:
    if isinstance(pieces[0], str):
        return (start if isinstance(start, str) else "") + "".join(pieces)
    return pieces[-1]
