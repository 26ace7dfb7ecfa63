"""Content blocks of Converse: what starts one, what adds to it, what ends it.

The rule of this file: a block's number is its part's place, so blocks may overlap; what the provider ran itself is no call of the
client's; what is not understood is kept. A block needs no start: text and thinking begin with their first delta.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from headrace._json import JSON, dumps, replace_surrogates
from headrace.messages.deltas import (
    CitationDelta,
    MediaDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    ToolCallFragment,
    ToolCallSettled,
)
from headrace.messages.parts import ProviderItem, make
from headrace.wire.bedrock_converse.media_types import media_type_of
from headrace.wire.bedrock_converse.payload import decoded_base64, text_of, word
from headrace.wire.decoder import Output
from headrace.wire.extras import Extras
from headrace.wire.json_events import count_of, kept

PROTOCOL: Final = "bedrock-converse"
SERVER_TOOL: Final = "server_tool_use"
_DELTAS: Final = frozenset({"text", "toolUse", "reasoningContent", "citation", "toolResult", "image"})
_STARTS: Final = frozenset({"toolUse", "toolResult", "image"})
_REASONING: Final = frozenset({"text", "signature", "redactedContent"})


class Block:
    """A block that was started: what it is, and what of it waits for its end.

    Attributes:
        key: its part.
        kind: `call`, `server_call`, `result` or `image`; "" where only its number is known.
        input: arguments that came with the start, for a call that gets none afterwards.
        result: what a tool of the provider's gave, as it will go back.
        redacted: pieces of thinking that only the provider can read, each base64 of its own.
        format: an image's.
    """

    __slots__ = ("format", "input", "key", "kind", "redacted", "result")

    def __init__(self, key: int, kind: str = "") -> None:
        """Start empty."""
        self.key = key
        self.kind = kind
        self.input = ""
        self.result: dict[str, Any] = {}
        self.redacted: list[str] = []
        self.format: str | None = None


class BlockReader:
    """Reads blocks into an `Output`; what it does not understand goes to the extras.

    Attributes:
        blocks: the blocks that were started or hold something back, by their number.
        provider: whose stream it is, or "".
    """

    def __init__(self, output: Output, extras: Extras, provider: str | None) -> None:
        """Start before the first block."""
        self.blocks: dict[int, Block] = {}
        self._output = output
        self._extras = extras
        self.provider = provider or ""
        self._next_key = 0
        self._last = -1
        self._server_calls: dict[str, int] = {}

    # ------------------------------------------------------------------------------------------ pieces

    def start(self, index: JSON, start: Mapping[str, Any]) -> None:
        """Take `contentBlockStart`."""
        number = self._number(index, is_new=True)
        if call := _object(start, "toolUse"):
            self._start_call(self._open(number, "server_call" if call.get("type") == SERVER_TOOL else "call"), call)
        elif result := _object(start, "toolResult"):
            self._open(number, "result").result = {**kept(result), "content": []}
        elif image := _object(start, "image"):
            self._open(number, "image").format = word(image.get("format"))
        self._extras.take("start.", start, _STARTS, kept)

    def delta(self, index: JSON, delta: Mapping[str, Any], *, is_whole: bool = False) -> None:
        """Take `contentBlockDelta`; in a whole block, which is read as one, arguments are an object."""
        number = self._number(index)
        block = self.blocks.get(number)
        key = number if block is None else block.key
        self._next_key = max(self._next_key, key + 1)
        text = delta.get("text")
        if isinstance(text, str) and text:
            self._output.text("text", text, 0, key)
        if "toolUse" in delta:
            self._input(self._block(number), delta["toolUse"], is_whole=is_whole)
        if reasoning := _object(delta, "reasoningContent"):
            self._reasoning(number, key, reasoning)
        if delta.get("citation"):
            self._output.add(CitationDelta(kept(delta["citation"]), key))
        if "toolResult" in delta:
            self._result_piece(self._block(number), delta["toolResult"])
        if image := _object(delta, "image"):
            self._image(self._block(number), image)
        self._extras.take("delta.", delta, _DELTAS, kept)

    def stop(self, index: JSON) -> None:
        """Take `contentBlockStop`."""
        block = self.blocks.get(self._number(index))
        if block is None:
            return
        self._release(block)
        if block.kind == "call":
            self._output.add(ToolCallSettled(block.key, None, block.input or None))
            block.input = ""

    def continues(self, number: int) -> bool:
        """Take the number of a delta that needs no thought; returns whether its part has that number too."""
        block = self.blocks.get(number)
        if block is not None and (block.key != number or block.redacted):
            return False
        self._last = number
        if number >= self._next_key:
            self._next_key = number + 1
        return True

    def is_call(self, number: int) -> bool:
        """Return whether a block is a call that the client runs; what came with its start is then forgotten, since pieces follow."""
        block = self.blocks.get(number)
        if block is None or block.kind != "call":
            return False
        block.input = ""
        return True

    def release(self) -> None:
        """Give out what still waited for its block's end, since the stream is over."""
        for block in self.blocks.values():
            self._release(block)

    def settle(self) -> None:
        """The message is whole: calls whose end was not said get what came with their start."""
        for block in self.blocks.values():
            if block.kind == "call" and block.input:
                self._output.add(ToolCallSettled(block.key, None, block.input))

    # ------------------------------------------------------------------------------------------ one kind each

    def _number(self, index: JSON, *, is_new: bool = False) -> int:
        """Return a block's number; one that the wire left out is that of the last block, or of the next."""
        number = count_of(index)
        if number is None:
            number = self._last + 1 if is_new or self._last < 0 else self._last
        self._last = number
        return number

    def _open(self, number: int, kind: str) -> Block:
        """Open a block; a number that a started block has already gets a part of its own."""
        key = number
        known = self.blocks.get(number)
        if known is not None:
            self._release(known)
        if known is not None and known.kind:
            key = self._next_key
            if kind == "call":
                self._output.warn("reused_tool_index")
        self._next_key = max(self._next_key, key + 1)
        return self._keep(number, Block(key, kind))

    def _block(self, number: int) -> Block:
        """Return a block that a delta belongs to, opening one that was never started."""
        return self.blocks.get(number) or self._keep(number, Block(number))

    def _keep(self, number: int, block: Block) -> Block:
        self.blocks[number] = block
        limit = self._output.limits.max_parts
        if len(self.blocks) > limit:
            self._output.exceed("parts", limit)
        return block

    def _start_call(self, block: Block, call: Mapping[str, Any]) -> None:
        identifier, name = word(call.get("toolUseId")), word(call.get("name"))
        rest = kept({key: value for key, value in call.items() if key not in ("toolUseId", "name", "input") and value is not None})
        if block.kind == "server_call":
            self._output.add(ProviderToolFragment(identifier, name, provider=self.provider, part=block.key, provider_data=rest))
            if identifier:
                self._server_calls[identifier] = block.key
        else:
            self._output.add(self._fragment(block.key, identifier, name, None, rest))
        value = call.get("input")
        block.input = text_of(value) if value else ""

    def _fragment(
        self, key: int, identifier: str | None, name: str | None, arguments: str | dict[str, Any] | None, rest: JSON = None
    ) -> ToolCallFragment:
        output = self._output
        return ToolCallFragment(
            id=identifier,
            name=name,
            arguments=arguments,
            index=key,
            part=key,
            event=output.events,
            offset=output.offset,
            provider_data=rest or {},
        )

    def _input(self, block: Block, call: JSON, *, is_whole: bool) -> None:
        """Take a piece of a call's arguments."""
        value = call.get("input") if isinstance(call, dict) else call
        if value is None or value == "":
            return
        if not isinstance(value, str) and not is_whole:
            self._output.warn_once("arguments_not_string")
        block.input = ""
        if block.kind == "server_call":
            self._output.add(ProviderToolFragment(arguments=text_of(value), part=block.key))
            return
        if not block.kind:
            block.kind = "call"
            self._output.warn_once("missing_block_start")
        if isinstance(value, dict):
            self._output.add(self._fragment(block.key, None, None, kept(value)))
        else:
            piece = self._output.arguments(None, text_of(value), 0, block.key)
            self._output.add(self._fragment(block.key, None, None, piece))

    def _reasoning(self, number: int, key: int, reasoning: Mapping[str, Any]) -> None:
        text, signature, redacted = reasoning.get("text"), reasoning.get("signature"), reasoning.get("redactedContent")
        if isinstance(text, str) and text:
            self._output.text("reasoning", text, 0, key)
        if isinstance(signature, str) and signature:
            self._output.add(ReasoningDelta(part=key, signature=replace_surrogates(signature)))
        if isinstance(redacted, str) and redacted:
            self._block(number).redacted.append(replace_surrogates(redacted))
        self._extras.take("delta.reasoningContent.", reasoning, _REASONING, kept)

    def _result_piece(self, block: Block, pieces: JSON) -> None:
        if not block.kind:
            block.kind = "result"
        content = block.result.setdefault("content", [])
        content += [kept(piece) for piece in (pieces if isinstance(pieces, list) else [pieces])]

    def _result(self, key: int, result: dict[str, Any]) -> None:
        """Let what a tool of the provider's gave join its call, if that stands right before it; else it keeps a place of its own."""
        identifier = word(result.get("toolUseId"))
        if identifier is not None and self._server_calls.get(identifier) == key - 1:
            self._output.add(ProviderToolFragment(result=kept(result), part=key - 1))
        else:
            self._output.add(self.item({"toolResult": result}, key))

    def item(self, block: Mapping[str, Any], key: int) -> PartDelta:
        """Return a block as the item that it is, to go back as it came."""
        return PartDelta(make(ProviderItem, provider=self.provider, protocol=PROTOCOL, raw=dumps(kept(block))), key)

    def _image(self, block: Block, image: Mapping[str, Any]) -> None:
        source = image.get("source")
        text = source.get("bytes") if isinstance(source, dict) else None
        data = decoded_base64(text) if isinstance(text, str) else None
        if data is None:
            self._extras.take("delta.", {"image": image}, frozenset(), kept)
        else:
            self._output.add(MediaDelta("image", data, media_type=media_type_of("image", block.format), part=block.key))

    def _release(self, block: Block) -> None:
        """Give out what waited for the block's end."""
        if block.kind == "server_call" and block.input:
            arguments, block.input = block.input, ""
            self._output.add(ProviderToolFragment(arguments=arguments, part=block.key))
        if block.kind == "result" and block.result:
            result, block.result = block.result, {}
            self._result(block.key, result)
        if block.redacted:
            pieces, block.redacted = block.redacted, []
            self._output.add(ReasoningDelta(part=block.key, encrypted=_joined(pieces)))


def _joined(pieces: list[str]) -> str:
    """Join pieces of base64: one as it came, byte for byte; several by what they hold."""
    blobs = [decoded_base64(piece) for piece in pieces]
    if len(pieces) == 1 or any(blob is None for blob in blobs):
        return "".join(pieces)
    return base64.b64encode(b"".join(blob for blob in blobs if blob is not None)).decode("ascii")


def _object(fields: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    value = fields.get(name)
    return value if isinstance(value, dict) and value else None
