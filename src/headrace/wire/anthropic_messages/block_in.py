"""The content blocks of one message: which block a delta belongs to, and text and thinking.

The rule of this file: a block is found by its index, never by what came last, so blocks may overlap; what has no index, no start or no
stop is placed all the same, and said. Tools are read in `tool_block_in.py`, what is kept whole in `kept_block_in.py`.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from headrace._json import JSON
from headrace.messages.deltas import CitationDelta, PartDataDelta, ReasoningDelta
from headrace.messages.growing import Growing
from headrace.wire.anthropic_messages.blocks import Block, Kind, kind_of, number_of
from headrace.wire.anthropic_messages.fast import FastArguments, FastDelta, FastText, FastThinking
from headrace.wire.anthropic_messages.kept_block_in import KeptBlockReader
from headrace.wire.anthropic_messages.tool_block_in import ToolBlockReader
from headrace.wire.decoder import Output
from headrace.wire.extras import Extras
from headrace.wire.json_events import kept, word_of
from headrace.wire.text_filters import Kind as TextKind

_DELTAS: Final[dict[str, tuple[str, Kind]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "thinking"),
    "input_json_delta": ("partial_json", "call"),
    "citations_delta": ("citation", "text"),
}
"""For each type of a delta: the field that holds what it adds, and the kind of block that it opens where no start came."""

_PARTS: Final[dict[type[FastDelta], tuple[Kind, str]]] = {
    FastText: ("text", "text"),
    FastThinking: ("thinking", "reasoning"),
    FastArguments: ("call", "tool_call"),
}
"""For each piece of the short way: the kind of block that it goes on in, and the kind of part."""


class BlockReader:
    """Reads blocks into an `Output`; what it does not understand of them goes to the extras."""

    def __init__(self, output: Output, extras: Extras, *, provider: str | None, drops_repeated_start: bool) -> None:
        """Start without blocks.

        Args:
            output: where deltas go.
            extras: where what is not understood goes.
            provider: whose blocks they are, if known.
            drops_repeated_start: the first delta of a block may repeat the text of its start.
        """
        self._output = output
        self._extras = extras
        self._tools = ToolBlockReader(output, extras, provider or "")
        self._kept = KeptBlockReader(output, provider or "")
        self._drops_repeated_start = drops_repeated_start
        self._by_index: dict[int, Block] = {}
        self._open: dict[int, Block] = {}
        self._keys: set[int] = set()
        self._next_key = 0
        self._last: Block | None = None

    @property
    def has_any(self) -> bool:
        """Whether any block came."""
        return self._last is not None

    # ------------------------------------------------------------------------------------------ blocks

    def start(self, index: JSON, fields: Mapping[str, Any], raw: Callable[[], bytes], *, is_whole: bool = False) -> None:
        """Open a block.

        Args:
            index: the wire's number; anything but a number is none.
            fields: the block as it stands in the start.
            raw: gives the bytes of it.
            is_whole: no delta will follow: it stands in a whole message.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        number = number_of(index)
        block = self._new(kind_of(fields), self._next_key if number is None else number)
        if block is None:
            return
        match block.kind:
            case "text":
                self._start_text(block, fields)
            case "thinking":
                self._start_thinking(block, fields)
            case "call" | "server_tool":
                self._tools.start(block, fields)
            case "item":
                block.fields, block.raw = fields, raw()
        if is_whole:
            self._close(block, is_whole=True, is_said=True)

    def delta(self, index: JSON, delta: Mapping[str, Any]) -> None:
        """Take a delta of a block.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        kind = delta.get("type")
        if not isinstance(kind, str):
            kind = next((word for word, (field, _) in _DELTAS.items() if field in delta), "")
        block = self._block_of(number_of(index), kind)
        if block is None:
            self._extras.take(f"{word_of(kind)}.", delta, frozenset({"type"}), kept)
        elif block.kind == "item":
            self._grow(block, delta)
        elif not self._read(block, kind, delta):
            self._extras.take(f"{word_of(kind)}.", delta, frozenset({"type"}), kept)

    def take(self, index: int, delta: FastDelta) -> None:
        """Take a delta that the short way has decoded: as `delta`, without looking for anything else in it."""
        kind = type(delta).__struct_config__.tag
        assert isinstance(kind, str)
        block = self._block_of(number_of(index), kind)
        if block is None:
            return
        if block.kind == "item":
            field = _DELTAS[kind][0]
            self._grow(block, {field: getattr(delta, field)})
        elif type(delta) is FastText:
            self._text("text", block, delta.text)
        elif type(delta) is FastArguments:
            self._tools.arguments(block, delta.partial_json)
        else:
            self._text("reasoning", block, getattr(delta, "thinking", None))

    def open_part(self, index: int, kind: type[FastDelta]) -> Growing | None:
        """Return the part of a block that goes on, or None if more must be asked before a piece of this kind can join it."""
        block = self._by_index.get(index)
        choice = self._output.fold.choices.get(0)
        block_kind, part_kind = _PARTS[kind]
        if block is None or choice is None or block.kind != block_kind or block.start_text or choice.has_finished:
            return None
        if block_kind == "call" and not block.has_input:
            return None
        return choice.by_key.get((part_kind, block.key))

    def stop(self, index: JSON) -> None:
        """Close a block."""
        number = number_of(index)
        block = self._by_index.get(number) if number is not None else self._last
        if block is not None and block.is_open:
            self._close(block, is_said=True)

    def close_all(self) -> None:
        """Close the blocks that have not stopped: the message is over, or the stream is.

        Raises:
            UsageError: one holds what a message cannot keep.
        """
        for block in list(self._open.values()):
            self._close(block)

    def _new(self, kind: Kind, index: int) -> Block | None:
        """Open a block; a number that was used before gets a place behind all others. None where there are too many."""
        limit = self._output.limits.max_parts
        if len(self._keys) >= limit:
            self._output.exceed("parts", limit)
            return None
        before = self._by_index.get(index)
        if before is not None and before.is_open:
            self._close(before)
        key = index if index not in self._keys else self._next_key
        block = Block(kind, index, key, self._last)
        self._keys.add(key)
        self._next_key = max(self._next_key, key + 1)
        self._by_index[index] = self._open[key] = self._last = block
        return block

    def _block_of(self, number: int | None, kind: str) -> Block | None:
        """Return the block of a delta; where it began without a start, one of the delta's kind. A call among them has no name: it never runs."""
        block = self._by_index.get(number) if number is not None else self._last
        if block is not None or kind not in _DELTAS:
            return block
        self._output.warn("missing_block_start", f"block {number}, opened by its {kind}")
        return self._new(_DELTAS[kind][1], self._next_key if number is None else number)

    def _close(self, block: Block, *, is_whole: bool = False, is_said: bool = False) -> None:
        """End a block: `is_said` if the wire itself said so."""
        block.is_open = False
        block.start_text = ""
        self._open.pop(block.key, None)
        if block.kind in ("call", "server_tool"):
            self._tools.close(block, is_whole=is_whole, is_said=is_said)
        elif block.kind == "item":
            self._kept.close(block)
        block.before = None  # a chain of all blocks is nothing to keep

    # ------------------------------------------------------------------------------------------ text and thinking

    def _start_text(self, block: Block, fields: Mapping[str, Any]) -> None:
        self._first_text("text", block, fields.get("text"))
        citations = fields.get("citations")
        for citation in citations if isinstance(citations, list) else ():
            self._cite(block, citation)
        self._keep_rest(block, fields, "text")

    def _start_thinking(self, block: Block, fields: Mapping[str, Any]) -> None:
        self._first_text("reasoning", block, fields.get("thinking"))
        signature, data = word_of(fields.get("signature")) or None, word_of(fields.get("data")) or None
        self._output.add(ReasoningDelta("", block.key, 0, signature, data))
        self._keep_rest(block, fields, "reasoning")

    def _first_text(self, kind: TextKind, block: Block, text: JSON) -> None:
        self._text(kind, block, text)
        if self._drops_repeated_start and isinstance(text, str):
            block.start_text = text

    def _keep_rest(self, block: Block, fields: Mapping[str, Any], kind: Literal["text", "reasoning"]) -> None:
        rest = block.unknown(fields)
        if rest:
            self._output.add(PartDataDelta(rest, kind, block.key))

    def _read(self, block: Block, kind: str, delta: Mapping[str, Any]) -> bool:
        """Read a delta; return whether it is of a type that we know."""
        match kind:
            case "text_delta":
                self._text("text", block, delta.get("text"))
            case "thinking_delta":
                self._text("reasoning", block, delta.get("thinking"))
            case "signature_delta":
                self._output.add(ReasoningDelta("", block.key, 0, word_of(delta.get("signature")) or None))
            case "citations_delta":
                self._cite(block, delta.get("citation"))
            case "input_json_delta":
                self._tools.arguments(block, delta.get("partial_json"))
            case _:
                return False
        return True

    def _text(self, kind: TextKind, block: Block, text: JSON) -> None:
        if not isinstance(text, str) or not text:
            return
        if block.start_text:
            text, block.start_text = text.removeprefix(block.start_text), ""
        if text:
            self._output.text(kind, text, 0, block.key)

    def _cite(self, block: Block, citation: JSON) -> None:
        if citation is not None:
            self._output.add(CitationDelta(kept(citation), block.key))

    def _grow(self, block: Block, delta: Mapping[str, Any]) -> None:
        block.is_open = True
        self._open[block.key] = block
        self._kept.grow(block, delta)
