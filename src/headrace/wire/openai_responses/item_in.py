"""Output items as they are announced and as they come whole: each to the reader of its kind.

The rule of this file: an item that nobody here understands is kept as the bytes that came.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace._json import dumps
from headrace.errors import UsageError
from headrace.messages.deltas import PartDelta, StreamError
from headrace.messages.parts import ProviderItem, make
from headrace.wire.decoder import Output
from headrace.wire.json_events import kept, word_of
from headrace.wire.openai_responses.call_in import CallReader
from headrace.wire.openai_responses.items import Item, Items
from headrace.wire.openai_responses.text_in import TextReader

PROTOCOL: Final = "openai-responses"
_PROVIDER_TYPES: Final = frozenset({"mcp_list_tools", "mcp_approval_request", "program"})
Raw = Callable[[], bytes | None]
"""Gives the bytes of an item as they came, or None if they cannot be told apart."""


class ItemReader:
    """Reads items into an `Output`."""

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start without items."""
        self.items = Items()
        self.texts = TextReader(output)
        self.calls = CallReader(output, provider)
        self._output = output
        self._provider = provider

    def added(self, index: int | None, form: Mapping[str, Any]) -> None:
        """Take the announcement of an item; the same item announced again says nothing new."""
        if self.items.shown(index, form, is_whole=False) is None:
            self.open(index, form)

    def open(self, index: int | None, form: Mapping[str, Any], kind: str = "") -> Item:
        """Take a new item, announced or not."""
        limit = self._output.limits.max_parts
        item = self.items.open(index, form, kind)
        if len(self.items.all) > limit:
            self._output.exceed("parts", limit)
        elif form and is_call(item.type):
            self.calls.start(item)
        return item

    def done(self, index: int | None, form: Mapping[str, Any], raw: Raw) -> None:
        """Take a whole item."""
        item = self.items.shown(index, form, is_whole=True)
        self.whole(item or self.open(index, form), form, raw)

    def whole(self, item: Item, form: Mapping[str, Any], raw: Raw) -> None:
        """Take the whole of an item that is known."""
        if item.type == "message":
            self.texts.message(item, form)
        elif item.type == "reasoning":
            self.texts.reasoning(item, form)
        elif is_call(item.type):
            self.calls.whole(item, form)
        elif item.final is None:
            self._other(item, form, raw)
        item.final = form

    def _other(self, item: Item, form: Mapping[str, Any], raw: Raw) -> None:
        call = self.items.call_of(form) if item.type.endswith("_output") else None
        if call is not None and not self.calls.is_for_client(call.final or call.added):
            self.calls.output_of(call, form)
            return
        value = make(ProviderItem, provider=self._provider or "", protocol=PROTOCOL, raw=raw() or dumps(kept(form)))
        self._output.add(PartDelta(value, item.key))

    def close(self) -> None:
        """The response has ended: take what was announced and never came whole, as far as it came."""
        for item in self.items.all:
            is_done_by_provider = is_call(item.type) and not self.calls.is_for_client(item.added)
            if item.final is None and item.added and not is_done_by_provider:
                try:
                    self.whole(item, item.added, lambda: None)
                except UsageError as error:  # it holds what a message cannot
                    self._output.fail(StreamError("invalid_event", f"the item at place {item.index} cannot be kept: {error}"))


def is_call(kind: str) -> bool:
    """Return whether items of a type are calls, of whoever has to run them."""
    return kind.endswith("_call") or kind in _PROVIDER_TYPES


def form_of(value: object) -> dict[str, Any] | None:
    """Return an item, or None if it is none."""
    return value if isinstance(value, dict) and word_of(value.get("type")) else None
