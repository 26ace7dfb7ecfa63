"""Events about items and their parts: which item each means, and what it adds to it.

The rule of this file: a handler says what its event is about and hands it to the reader of that kind; `HANDLERS` is the list of all event
families.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from headrace.messages.deltas import MediaDelta
from headrace.wire.decoder import Output
from headrace.wire.extras import Extras
from headrace.wire.json_events import word_of
from headrace.wire.openai_responses.fast import TEXTS, FastEvent
from headrace.wire.openai_responses.item_in import ItemReader, form_of
from headrace.wire.openai_responses.items import CONTENT, SLOTS, Item, place_of
from headrace.wire.openai_responses.raw_items import raw_item

Event: TypeAlias = Mapping[str, Any]


class PieceReader:
    """Reads events about items into an `ItemReader`.

    Attributes:
        name: the name of the event at hand, for one whose JSON has no type.
        data: its bytes.
    """

    def __init__(self, output: Output, reader: ItemReader, extras: Extras) -> None:
        """Start before the first event."""
        self.name: str | None = None
        self.data = b""
        self.items = reader.items
        self._output = output
        self._reader = reader
        self._texts = reader.texts
        self._calls = reader.calls
        self._extras = extras

    def type_of(self, event: Event) -> str:
        """Return which event it is: its JSON type, else its name."""
        kind = event.get("type")
        return kind if isinstance(kind, str) and kind else self.name or ""

    # ------------------------------------------------------------------------------------------ items

    def item_added(self, event: Event) -> None:
        """`response.output_item.added`."""
        form = form_of(event.get("item"))
        if form is not None:
            self._reader.added(place_of(event.get("output_index")), form)

    def item_done(self, event: Event) -> None:
        """`response.output_item.done`."""
        form = form_of(event.get("item"))
        if form is not None:
            self._reader.done(place_of(event.get("output_index")), form, lambda: raw_item(self.data))

    def open_part(self, event: FastEvent) -> tuple[int, list[str] | None]:
        """Return the key of the part that a piece goes on with, or -1 if it begins one; and its pieces, where it is text."""
        kind, first = TEXTS.get(event.type, ("call", 0))
        owner = {"call": "function_call", "reasoning": "reasoning"}.get(kind, "message")
        item = self.items.find(place_of(event.output_index), event.item_id or "", owner)
        if item is None or item.index != event.output_index:
            return -1, None
        if kind == "call":
            return (item.key if item.type == "function_call" and item.is_named else -1), None
        index = event.summary_index if event.type == "response.reasoning_summary_text.delta" else event.content_index
        slot = first + (place_of(index) or 0)
        end = CONTENT - 1 if kind == "reasoning" and not first else SLOTS - 1  # the last one holds whatever has no place of its own
        is_plain = slot in item.said and slot < end
        growing = self._texts.growing(kind, item.key + slot) if is_plain else None
        return (-1, None) if growing is None else (growing.key, growing.pieces)

    def item_of(self, event: Event, kind: str) -> Item:
        """Return the item that an event means; one that was not announced begins here."""
        index, identifier = place_of(event.get("output_index")), word_of(event.get("item_id"))
        item = self.items.find(index, identifier, kind)
        if item is None:
            self._output.warn_once("missing_block_start", f"{kind} {identifier}")
            item = self._reader.open(index, {}, kind)
            item.id = identifier
        elif index is None and not identifier:
            self._output.warn_once("missing_item_id", f"taken for the last {kind}")
        return item

    def text(self, event: Event) -> None:
        """`response.output_text.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self._texts.piece(self.item_of(event, "message"), "text", _place(event), delta)
        self._texts.logprobs(event.get("logprobs"))

    def text_done(self, event: Event) -> None:
        """`response.output_text.done`."""
        self._texts.whole(self.item_of(event, "message"), "text", _place(event), event.get("text"))

    def refusal(self, event: Event) -> None:
        """`response.refusal.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self._texts.piece(self.item_of(event, "message"), "refusal", _place(event), delta)

    def refusal_done(self, event: Event) -> None:
        """`response.refusal.done`."""
        self._texts.whole(self.item_of(event, "message"), "refusal", _place(event), event.get("refusal"))

    def summary(self, event: Event) -> None:
        """`response.reasoning_summary_text.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            place = min(place_of(event.get("summary_index")) or 0, CONTENT - 1)
            self._texts.piece(self.item_of(event, "reasoning"), "reasoning", place, delta)

    def summary_done(self, event: Event) -> None:
        """`response.reasoning_summary_text.done`."""
        place = min(place_of(event.get("summary_index")) or 0, CONTENT - 1)
        self._texts.whole(self.item_of(event, "reasoning"), "reasoning", place, event.get("text"))

    def thinking(self, event: Event) -> None:
        """`response.reasoning_text.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self._texts.piece(self.item_of(event, "reasoning"), "reasoning", CONTENT + _place(event), delta)

    def thinking_done(self, event: Event) -> None:
        """`response.reasoning_text.done`."""
        self._texts.whole(self.item_of(event, "reasoning"), "reasoning", CONTENT + _place(event), event.get("text"))

    def annotation(self, event: Event) -> None:
        """`response.output_text.annotation.added`."""
        if event.get("annotation") is not None:
            self._texts.citation(self.item_of(event, "message"), _place(event), event["annotation"])

    def audio(self, event: Event) -> None:
        """`response.audio.delta`, `response.audio.transcript.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str) and self.type_of(event).endswith("transcript.delta"):
            self._output.add(MediaDelta("audio", transcript=word_of(delta)))
        elif isinstance(delta, str):
            try:
                self._output.add(MediaDelta("audio", base64.b64decode(delta, validate=True)))
            except (binascii.Error, ValueError):
                self._extras.take_piece("audio.data", word_of(delta))

    # ------------------------------------------------------------------------------------------ calls

    def arguments(self, event: Event) -> None:
        """`response.function_call_arguments.delta`, and those of custom calls and of remote servers' tools."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self._calls.piece(self.item_of(event, self._call_kind(event)), delta)

    def arguments_done(self, event: Event) -> None:
        """Their `.done`: of free text it says that nothing more comes, not that it is whole; that is known with its item."""
        kind = self._call_kind(event)
        item = self.item_of(event, kind)
        whole = event.get("arguments")
        if kind == "function_call" and whole is not None and self._calls.is_for_client(item.added or {"type": kind}):
            self._calls.settle(item, whole)

    def _call_kind(self, event: Event) -> str:
        kind = self.type_of(event)
        return "custom_tool_call" if "custom_tool" in kind else "mcp_call" if "mcp" in kind else "function_call"

    def code(self, event: Event) -> None:
        """`response.code_interpreter_call_code.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self._calls.code(self.item_of(event, "code_interpreter_call"), delta)

    def command(self, event: Event) -> None:
        """`response.shell_call_command.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self._calls.gather(self.item_of(event, "shell_call"), place_of(event.get("command_index")) or 0, word_of(delta))

    def diff(self, event: Event) -> None:
        """`response.apply_patch_call_operation_diff.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self._calls.gather(self.item_of(event, "apply_patch_call"), 0, word_of(delta))

    def partial_image(self, event: Event) -> None:
        """`response.image_generation_call.partial_image`: a preview, until the image is there."""
        self._calls.image(self.item_of(event, "image_generation_call"), event.get("partial_image_b64"), event, is_partial=True)

    def repeats(self, event: Event) -> None:
        """An event that says nothing which the whole item does not say."""


def _place(event: Event) -> int:
    return place_of(event.get("content_index")) or 0


Handler: TypeAlias = Callable[[PieceReader, Event], None]
_FAMILIES: Final[dict[Handler, str]] = {
    PieceReader.item_added: "output_item.added",
    PieceReader.item_done: "output_item.done",
    PieceReader.text: "output_text.delta",
    PieceReader.text_done: "output_text.done",
    PieceReader.annotation: "output_text.annotation.added",
    PieceReader.refusal: "refusal.delta",
    PieceReader.refusal_done: "refusal.done",
    PieceReader.summary: "reasoning_summary_text.delta reasoning_summary.delta",
    PieceReader.summary_done: "reasoning_summary_text.done reasoning_summary.done",
    PieceReader.thinking: "reasoning_text.delta reasoning.delta",
    PieceReader.thinking_done: "reasoning_text.done reasoning.done",
    PieceReader.audio: "audio.delta audio.transcript.delta output_audio.delta output_audio_transcript.delta audio_transcript.delta",
    PieceReader.arguments: "function_call_arguments.delta custom_tool_call_input.delta mcp_call_arguments.delta mcp_call.arguments.delta",
    PieceReader.arguments_done: "function_call_arguments.done custom_tool_call_input.done mcp_call_arguments.done mcp_call.arguments.done",
    PieceReader.code: "code_interpreter_call_code.delta code_interpreter_call.code.delta",
    PieceReader.command: "shell_call_command.delta",
    PieceReader.diff: "apply_patch_call_operation_diff.delta",
    PieceReader.partial_image: "image_generation_call.partial_image",
    PieceReader.repeats: "content_part.added content_part.done reasoning_part.added reasoning_part.done reasoning_summary_part.added "
    "reasoning_summary_part.done audio.done audio.transcript.done code_interpreter_call_code.done code_interpreter_call.code.done "
    "shell_call_command.added shell_call_command.done shell_call_output_content.delta shell_call_output_content.done "
    "apply_patch_call_operation_diff.done mcp_call.failed mcp_list_tools.failed",
}
HANDLERS: Final[dict[str, Handler]] = {f"response.{name}": handler for handler, names in _FAMILIES.items() for name in names.split()}
"""For each event: what reads it."""
