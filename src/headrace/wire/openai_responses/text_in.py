"""Text, refusals and thinking of an item: the pieces, and the whole values that repeat them.

The rule of this file: a repetition checks and fills what is missing; it never adds what has come already. Whole lists are laid beside
what has streamed in order, not by number, since there are servers that count one of the two differently.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import JSON, dumps_text
from headrace.messages.deltas import CitationDelta, LogprobsDelta, PartDataDelta, PartDelta, ReasoningDelta
from headrace.messages.growing import Growing
from headrace.messages.parts import JsonPart, OpaquePart, make
from headrace.wire.decoder import Output
from headrace.wire.json_events import kept, word_of
from headrace.wire.openai_responses.items import CONTENT, SLOTS, Item
from headrace.wire.text_filters import Kind

_CHECKS: Final = 6  # a whole value repeats at most so often: as text, part, item and answer
_TEXTS: Final[dict[str, tuple[Kind, str]]] = {
    "output_text": ("text", "text"),
    "text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("reasoning", "text"),
    "summary_text": ("reasoning", "text"),
}
"""For each type of a content part that is text: what it is here, and the field that holds it."""
_MESSAGE_FIELDS: Final = frozenset({"type", "role", "status", "content"})
_REASONING_FIELDS: Final = frozenset({"type", "status", "summary", "content", "encrypted_content"})


class TextReader:
    """Reads text of items into an `Output`."""

    def __init__(self, output: Output) -> None:
        """Start before the first piece."""
        self._output = output

    # ------------------------------------------------------------------------------------------ pieces

    def piece(self, item: Item, kind: Kind, place: int, piece: str) -> None:
        """Take a piece of a part at its place in the item."""
        if not piece:
            return
        slot = min(place, SLOTS - 1)
        key = item.key + slot
        item.opened.setdefault(slot, kind)
        self._output.text(kind, piece, 0, key)
        if slot not in item.said and self.growing(kind, key) is not None:
            self._say_data(item, kind, slot)

    def logprobs(self, logprobs: JSON) -> None:
        """Take log-probabilities of text; empty lists say nothing."""
        if isinstance(logprobs, list) and logprobs:
            self._output.add(LogprobsDelta({"content": kept(logprobs)}))

    def citation(self, item: Item, place: int, annotation: JSON) -> None:
        """Take a citation."""
        slot = min(place, SLOTS - 1)
        self._output.add(CitationDelta(kept(annotation), item.key + slot))
        item.opened.setdefault(slot, "text")
        if slot not in item.said:
            self._say_data(item, "text", slot)

    def growing(self, kind: str, key: int) -> Growing | None:
        """Return the part of a key as the fold has it."""
        choice = self._output.fold.choices.get(0)
        return choice.by_key.get((kind, key)) if choice is not None else None

    # ------------------------------------------------------------------------------------------ whole values

    def whole(self, item: Item, kind: Kind, place: int, text: JSON) -> None:
        """Take the whole text of a part: what is missing of it is filled in."""
        if not isinstance(text, str) or not text:
            return
        slot = min(place, SLOTS - 1)
        if slot not in item.opened:
            self.piece(item, kind, place, text)
            return
        growing = self.growing(kind, item.key + slot)
        checks = item.checks[slot] = item.checks.get(slot, 0) + 1
        if growing is None or checks > _CHECKS or self._output.is_holding:
            return
        so_far = "".join(growing.pieces)
        if len(text) > len(so_far) and text.startswith(so_far):
            self.piece(item, kind, place, text[len(so_far) :])

    def message(self, item: Item, form: Mapping[str, Any]) -> None:
        """Take a whole message item."""
        self._contents(item, form.get("content"), 0, SLOTS)
        self._update_data(item, form)

    def reasoning(self, item: Item, form: Mapping[str, Any]) -> None:
        """Take a whole reasoning item; one that shows nothing is a part too, since it has to go back."""
        self._contents(item, form.get("summary"), 0, CONTENT)
        self._contents(item, form.get("content"), CONTENT, SLOTS)
        if not item.opened:
            item.opened[0] = "reasoning"
            self._say_data(item, "reasoning", 0)
        self._update_data(item, form)
        encrypted = word_of(form.get("encrypted_content")) or word_of(item.added.get("encrypted_content"))
        if encrypted and not item.has_encrypted:
            item.has_encrypted = True
            self._output.add(ReasoningDelta(part=item.key + min(item.opened), encrypted=encrypted))

    def _contents(self, item: Item, contents: JSON, first: int, end: int) -> None:
        """Lay a whole list of content parts beside those that have come at the places from `first` on."""
        parts = contents if isinstance(contents, list) else [contents] if contents else []
        come = sorted(slot for slot in item.opened if first <= slot < end)
        for n, part in enumerate(parts):
            slot = come[n] if n < len(come) else max(first + n, come[-1] + 1 + n - len(come) if come else 0)
            if not self._content(item, part, min(slot, end - 1), is_new=n >= len(come)):
                return

    def _content(self, item: Item, part: JSON, slot: int, *, is_new: bool) -> bool:
        """Take one whole content part; returns whether it goes with what has come at its place."""
        form: Mapping[str, Any] = part if isinstance(part, dict) else {"type": "output_text", "text": part} if isinstance(part, str) else {}
        kind, field = _TEXTS.get(word_of(form.get("type")), (None, ""))
        if kind is None:
            if is_new:
                self._unknown(item, part, slot)
            return is_new or item.opened.get(slot) == "whole"
        if not is_new and item.opened.get(slot) != kind:
            return False
        self.whole(item, kind, slot, form.get(field))
        if kind == "text":
            self._citations(item, slot, form.get("annotations"))
            if is_new:
                self.logprobs(form.get("logprobs"))
        return True

    def _unknown(self, item: Item, part: JSON, slot: int) -> None:
        has_type = isinstance(part, dict) and isinstance(part.get("type"), str)
        value = make(OpaquePart, raw=kept(part)) if has_type else make(JsonPart, value=kept(part))
        item.opened[slot] = "whole"
        self._output.add(PartDelta(value, item.key + slot))

    def _citations(self, item: Item, slot: int, annotations: JSON) -> None:
        """Fill in the citations that have not come one by one."""
        if not isinstance(annotations, list) or not annotations:
            return
        growing = self.growing("text", item.key + slot)
        for annotation in annotations[len(growing.items) if growing is not None else 0 :]:
            self.citation(item, slot, annotation)

    # ------------------------------------------------------------------------------------------ what goes back with a part

    def _say_data(self, item: Item, kind: Kind, slot: int) -> None:
        item.said.add(slot)
        data = _data(item, item.added)
        if kind == "reasoning" and slot >= CONTENT:
            data["field"] = "content"
        if data:
            self._output.add(PartDataDelta(kept(data), kind, item.key + slot))

    def _update_data(self, item: Item, form: Mapping[str, Any]) -> None:
        """Say what the whole item knows that its announcement did not; of two ids the whole item's counts."""
        before, now = _data(item, item.added), _data(item, form)
        news = {name: value for name, value in now.items() if before.get(name) != value}
        if not news:
            return
        for slot, kind in item.opened.items():
            if kind != "whole":
                self._output.add(PartDataDelta(kept(news), kind, item.key + slot))


def _data(item: Item, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return what goes back with the parts of an item: its id, its phase, what is not understood."""
    known = _REASONING_FIELDS if item.type == "reasoning" else _MESSAGE_FIELDS
    return {name: value for name, value in form.items() if name not in known and value is not None and value != ""}


def text_of(value: JSON) -> str:
    """Return a value as the text of arguments: a text as it is, anything else as JSON."""
    if value is None:
        return ""
    return word_of(value) if isinstance(value, str) else dumps_text(kept(value))
