"""The content blocks of one message: which part each delta belongs to, and what each kind of block is.

The rule of this file: a block is found by its index, never by what came last, so blocks may overlap; what has no index, no start or no
stop is placed all the same, and said. Blocks that the provider runs or that we do not understand are kept whole, to go back unchanged.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias

from headrace._json import EMPTY, JSON, dumps, dumps_text
from headrace.messages.deltas import (
    CitationDelta,
    PartDataDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    ToolCallFragment,
    ToolCallSettled,
)
from headrace.messages.parts import ProviderItem, make
from headrace.wire.decoder import Output
from headrace.wire.extras import Extras
from headrace.wire.json_events import kept, word_of
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
_KINDS_OF_DELTAS: Final[dict[str, Kind]] = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "call",
}
_DELTA_OF_FIELD: Final = {
    "text": "text_delta",
    "thinking": "thinking_delta",
    "signature": "signature_delta",
    "partial_json": "input_json_delta",
    "citation": "citations_delta",
}


class Block:
    """One block.

    Attributes:
        kind: what it is to us.
        index: the wire's number.
        key: the key of its part.
        name: an id by which results find it.
        fields: the start of an item; `raw`: its bytes.
        pieces: what deltas added to an item, by field.
        input: arguments that stood in the start; they count if no delta brings others.
        call: for a result: the block of the call that stands right before it.
        start_text: a text that the first delta may repeat.
        is_open: it has not stopped.
        has_input: a delta brought arguments.
    """

    __slots__ = (
        "call", "fields", "halves", "has_input", "id", "index", "input", "is_open", "key", "kind", "pieces", "raw", "start_text",
    )  # fmt: skip

    def __init__(self, kind: Kind, index: int, key: int) -> None:
        """Start open and empty."""
        self.kind: Kind = kind
        self.index = index
        self.key = key
        self.id = ""
        self.is_open = True
        self.fields: Mapping[str, Any] = EMPTY
        self.raw = b""
        self.pieces: dict[str, list[Any]] = {}
        self.input: JSON = None
        self.has_input = False
        self.call: Block | None = None
        self.start_text = ""
        self.halves: Halves | None = None


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
        self._provider = provider or ""
        self._drops_repeated_start = drops_repeated_start
        self._by_index: dict[int, Block] = {}
        self._keys: set[int] = set()
        self._last: Block | None = None
        self._open: dict[int, Block] = {}

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
        """
        number = _number(index)
        block = self._new(_kind_of(fields), self._free() if number is None else number)
        if block is None:
            return
        self._STARTS[block.kind](self, block, fields)
        if block.kind == "item":
            block.raw = raw()
        if is_whole:
            block.has_input = False
            self.stop(block.index, is_whole=True)

    def delta(self, index: JSON, delta: Mapping[str, Any]) -> None:
        """Take a delta of a block."""
        kind = delta.get("type")
        if not isinstance(kind, str):
            kind = next((word for field, word in _DELTA_OF_FIELD.items() if field in delta), "")
        number = _number(index)
        block = self._by_index.get(number) if number is not None else self._last
        if block is None:
            block = self._late(kind, number)
            if block is None:
                self._extras.take(f"{kind}.", delta, frozenset({"type"}), kept)
                return
        read = self._DELTAS.get(kind)
        if block.kind == "item":
            self._grow(block, delta)
        elif read is not None:
            read(self, block, delta)
        else:
            self._extras.take(f"{kind}.", delta, frozenset({"type"}), kept)

    def stop(self, index: JSON, *, is_whole: bool = False) -> None:
        """Close a block."""
        number = _number(index)
        block = self._by_index.get(number) if number is not None else self._last
        if block is not None and block.is_open:
            self._close(block, is_whole=is_whole, is_said=True)

    def close_all(self) -> None:
        """Close the blocks that have not stopped: the message is over, or the stream is."""
        for block in list(self._open.values()):
            self._close(block)

    def _free(self) -> int:
        return max(self._keys, default=-1) + 1

    def _new(self, kind: Kind, index: int) -> Block | None:
        """Open a block; a number that was used before gets a place behind all others. None where there are too many."""
        limit = self._output.limits.max_parts
        if len(self._keys) >= limit:
            self._output.exceed("parts", limit)
            return None
        before = self._by_index.get(index)
        if before is not None and before.is_open:
            self._close(before)
        block = Block(kind, index, index if index not in self._keys else self._free())
        self._keys.add(block.key)
        self._by_index[index] = self._open[block.key] = block
        block.call, self._last = self._last, block
        return block

    def _late(self, kind: str, index: int | None) -> Block | None:
        """Open a block that began without a start, as its delta says; a call among them has no name, so it can never run."""
        block_kind = _KINDS_OF_DELTAS.get(kind)
        if block_kind is None:
            return None
        self._output.warn("missing_block_start", f"block {index}, opened by its {kind}")
        return self._new(block_kind, self._free() if index is None else index)

    # ------------------------------------------------------------------------------------------ starts

    def _start_text(self, block: Block, fields: Mapping[str, Any]) -> None:
        text = fields.get("text")
        self._rest(block, fields, "text")
        if isinstance(text, str) and text:
            block.start_text = text if self._drops_repeated_start else ""
            self._output.text("text", text, 0, block.key)
        for citation in _list(fields.get("citations")):
            self._output.add(CitationDelta(kept(citation), block.key))

    def _start_thinking(self, block: Block, fields: Mapping[str, Any]) -> None:
        text = fields.get("thinking")
        if isinstance(text, str) and text:
            block.start_text = text if self._drops_repeated_start else ""
            self._output.text("reasoning", text, 0, block.key)
        signature, data = word_of(fields.get("signature")) or None, word_of(fields.get("data")) or None
        if signature or data:
            self._output.add(ReasoningDelta("", block.key, 0, signature, data))
        self._rest(block, fields, "reasoning")

    def _start_call(self, block: Block, fields: Mapping[str, Any]) -> None:
        output = self._output
        block.input = fields.get("input")
        output.add(
            ToolCallFragment(
                id=word_of(fields.get("id")) or None,
                name=word_of(fields.get("name")) or None,
                index=block.index,
                part=block.key,
                event=output.events,
                offset=output.offset,
                provider_data=_unknown(block, fields),
            )
        )

    def _start_server_tool(self, block: Block, fields: Mapping[str, Any]) -> None:
        block.input = fields.get("input")
        block.id = word_of(fields.get("id"))
        self._output.add(
            ProviderToolFragment(
                block.id, word_of(fields.get("name")), None, None, self._provider, block.key, provider_data=_unknown(block, fields)
            )
        )

    def _start_item(self, block: Block, fields: Mapping[str, Any]) -> None:
        block.fields = fields

    def _rest(self, block: Block, fields: Mapping[str, Any], kind: Literal["text", "reasoning"]) -> None:
        unknown = _unknown(block, fields)
        if unknown:
            self._output.add(PartDataDelta(unknown, kind, block.key))

    # ------------------------------------------------------------------------------------------ deltas

    def _text(self, block: Block, delta: Mapping[str, Any]) -> None:
        text = delta.get("text")
        if isinstance(text, str) and text:
            self._output.text("text", self._without_start(block, text), 0, block.key)

    def _thinking(self, block: Block, delta: Mapping[str, Any]) -> None:
        text = delta.get("thinking")
        if isinstance(text, str) and text:
            self._output.text("reasoning", self._without_start(block, text), 0, block.key)

    @staticmethod
    def _without_start(block: Block, text: str) -> str:
        start, block.start_text = block.start_text, ""
        return text.removeprefix(start) if start else text

    def _signature(self, block: Block, delta: Mapping[str, Any]) -> None:
        signature = word_of(delta.get("signature"))
        if signature:
            self._output.add(ReasoningDelta("", block.key, 0, signature))

    def _citation(self, block: Block, delta: Mapping[str, Any]) -> None:
        citation = delta.get("citation")
        if citation is not None:
            self._output.add(CitationDelta(kept(citation), block.key))

    def _arguments(self, block: Block, delta: Mapping[str, Any]) -> None:
        piece = delta.get("partial_json")
        if isinstance(piece, dict):
            self._output.warn_once("arguments_not_string")
            piece = dumps_text(kept(piece))
        if not isinstance(piece, str) or not piece:
            return
        block.has_input = True
        if block.kind == "server_tool":
            self._server_arguments(block, piece)
        else:
            self._call_arguments(block, self._output.arguments(None, piece, 0, block.key))

    def _call_arguments(self, block: Block, piece: str) -> None:
        output = self._output
        if piece:
            output.add(ToolCallFragment(None, None, piece, block.index, None, block.key, event=output.events, offset=output.offset))

    def _server_arguments(self, block: Block, piece: str) -> None:
        if block.halves is None:
            block.halves = Halves()
        text, is_mended = block.halves.feed(piece)
        if is_mended:
            self._output.warn_once("invalid_utf8")
        if text:
            self._output.add(ProviderToolFragment(arguments=text, part=block.key))

    def _grow(self, block: Block, delta: Mapping[str, Any]) -> None:
        """Let a delta join a block that we do not understand: texts are joined, of anything else the last value counts."""
        self._open[block.key] = block
        block.is_open = True
        for name, value in delta.items():
            if name == "type" or value is None:
                continue
            pieces = block.pieces.setdefault(name, [])
            if not isinstance(value, str) or (pieces and not isinstance(pieces[-1], str)):
                pieces.clear()
            pieces.append(value)

    # ------------------------------------------------------------------------------------------ ends

    def _close(self, block: Block, *, is_whole: bool = False, is_said: bool = False) -> None:
        """End a block: `is_said` if the wire itself said so."""
        block.is_open = False
        self._open.pop(block.key, None)
        block.start_text = ""
        if block.kind in ("call", "server_tool"):
            self._close_tool(block, is_whole=is_whole)
            if is_said and block.kind == "call":
                self._output.add(ToolCallSettled(block.key))
        elif block.kind == "item":
            self._close_item(block)

    def _close_tool(self, block: Block, *, is_whole: bool) -> None:
        """Take arguments that stood in the start; an empty object there is a placeholder, but in a whole message it is what is meant."""
        held = block.halves.release() if block.halves is not None else ""
        if held:
            self._output.warn_once("invalid_utf8")
            self._output.add(ProviderToolFragment(arguments=held, part=block.key))
        given, block.input = block.input, None
        if given is None or (given in ({}, "") and not is_whole):
            return
        text = word_of(given) if isinstance(given, str) else dumps_text(kept(given))
        if block.has_input:
            self._extras.take("content_block.", {"input": given}, frozenset(), kept)
        elif block.kind == "server_tool":
            self._output.add(ProviderToolFragment(arguments=text, part=block.key))
        else:
            self._call_arguments(block, text)

    def _close_item(self, block: Block) -> None:
        if not block.pieces and self._is_result_taken(block):
            return
        raw = block.raw
        if block.pieces or not raw:
            raw = dumps(kept({**block.fields, **{name: _joined(block.fields.get(name), pieces) for name, pieces in block.pieces.items()}}))
        self._output.add(PartDelta(make(ProviderItem, provider=self._provider, protocol=PROTOCOL, raw=raw), block.key))

    def _is_result_taken(self, block: Block) -> bool:
        """Put a result into the part of its call, if that stands right before it; else it has to keep a place of its own."""
        call, content = block.call, block.fields.get("content")
        is_next = call is not None and call.kind == "server_tool" and bool(call.id) and block.fields.get("tool_use_id") == call.id
        if call is None or not is_next or content is None:
            return False
        rest = {name: value for name, value in block.fields.items() if name not in ("tool_use_id", "content")}
        self._output.add(ProviderToolFragment(result=kept(content), part=call.key, provider_data={"result": kept(rest)}))
        return True

    _STARTS: ClassVar[dict[Kind, Callable[[BlockReader, Block, Mapping[str, Any]], None]]] = {
        "text": _start_text,
        "thinking": _start_thinking,
        "call": _start_call,
        "server_tool": _start_server_tool,
        "item": _start_item,
    }
    _DELTAS: ClassVar[dict[str, Callable[[BlockReader, Block, Mapping[str, Any]], None]]] = {
        "text_delta": _text,
        "thinking_delta": _thinking,
        "signature_delta": _signature,
        "citations_delta": _citation,
        "input_json_delta": _arguments,
    }


def _kind_of(fields: Mapping[str, Any]) -> Kind:
    """Say what a block is: the types that we know, and by their endings those of tools that the provider runs itself."""
    kind = fields.get("type")
    if kind == "text":
        return "text"
    if kind in ("thinking", "redacted_thinking"):
        return "thinking"
    if kind == "tool_use":
        return "call"
    return "server_tool" if isinstance(kind, str) and kind.endswith("_tool_use") else "item"


def _unknown(block: Block, fields: Mapping[str, Any]) -> dict[str, Any]:
    unknown = {name: value for name, value in fields.items() if name not in _OWN_FIELDS[block.kind] and value is not None}
    known: dict[str, Any] = kept(unknown)
    return known


def _number(index: JSON) -> int | None:
    return index if type(index) is int and index >= 0 else None


def _list(value: JSON) -> list[JSON]:
    return [item for item in value if item is not None] if isinstance(value, list) else []


def _joined(start: JSON, pieces: list[JSON]) -> JSON:
    if isinstance(pieces[0], str):
        return (start if isinstance(start, str) else "") + "".join(pieces)
    return pieces[-1]
