"""Blocks that call a tool: the client's, and those that the provider runs itself.

The rule of this file: an empty `input` in a start is a placeholder, in a whole message it is what is meant; arguments are text as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace._json import JSON, dumps_text
from headrace.messages.deltas import ProviderToolFragment, ToolCallFragment, ToolCallSettled
from headrace.wire.anthropic_messages.blocks import Block
from headrace.wire.decoder import Output
from headrace.wire.extras import Extras
from headrace.wire.json_events import kept, word_of
from headrace.wire.text_filters import Halves


class ToolBlockReader:
    """Reads such blocks into an `Output`."""

    def __init__(self, output: Output, extras: Extras, provider: str) -> None:
        """Start before the first one."""
        self._output = output
        self._extras = extras
        self._provider = provider

    def start(self, block: Block, fields: Mapping[str, Any]) -> None:
        """Open one."""
        output = self._output
        block.input = fields.get("input")
        identifier, name, rest = word_of(fields.get("id")), word_of(fields.get("name")), block.unknown(fields)
        if block.kind == "server_tool":
            block.id = identifier
            output.add(ProviderToolFragment(identifier, name, None, None, self._provider, block.key, provider_data=rest))
            return
        event, offset = output.events, output.offset
        output.add(ToolCallFragment(identifier or None, name or None, None, block.index, None, block.key, 0, False, event, offset, rest))

    def arguments(self, block: Block, piece: JSON) -> None:
        """Take a piece of arguments."""
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
            output.add(ToolCallFragment(None, None, piece, block.index, None, block.key, 0, False, output.events, output.offset))

    def _server_arguments(self, block: Block, piece: str) -> None:
        if block.halves is None:
            block.halves = Halves()
        text, is_mended = block.halves.feed(piece)
        if is_mended:
            self._output.warn_once("invalid_utf8")
        if text:
            self._output.add(ProviderToolFragment(arguments=text, part=block.key))

    def close(self, block: Block, *, is_whole: bool, is_said: bool) -> None:
        """End one: `is_said` if the wire itself said so."""
        held = block.halves.release() if block.halves is not None else ""
        if held:
            self._output.warn_once("invalid_utf8")
            self._output.add(ProviderToolFragment(arguments=held, part=block.key))
        given, block.input = block.input, None
        if given is not None and (is_whole or given not in ({}, "")):
            self._given(block, given)
        if is_said and block.kind == "call":
            self._output.add(ToolCallSettled(block.key))

    def _given(self, block: Block, given: JSON) -> None:
        """Take the arguments that stood in the start."""
        text = word_of(given) if isinstance(given, str) else dumps_text(kept(given))
        if block.has_input:
            self._extras.take("content_block.", {"input": given}, frozenset(), kept)
        elif block.kind == "server_tool":
            self._output.add(ProviderToolFragment(arguments=text, part=block.key))
        else:
            self._call_arguments(block, text)
