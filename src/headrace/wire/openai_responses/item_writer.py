"""Parts of an answer, told to its items: one way for an answer that streams and for one that is whole.

The rule of this file: a part becomes items as the wire has them; what has no place is left out and said.
"""

# Data of parts are JSON of a provider's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any

from headrace._json import EMPTY, JSON, dumps_text
from headrace.messages.deltas import MediaDelta, ReasoningDelta
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    Part,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from headrace.wire.openai_responses.answer_out import annotation_of, image_form, item_form, tool_forms
from headrace.wire.openai_responses.items_out import ItemsOut, TextKind


class ItemWriter:
    """Tells items what comes; `key` names the part, `data` are what its provider said beside it."""

    def __init__(self, items: ItemsOut, leave_out: Callable[[str, int], None]) -> None:
        """Start without parts.

        Args:
            items: are told.
            leave_out: is told what has no place, and of which part.
        """
        self._items = items
        self._leave_out = leave_out
        self._images: dict[str, tuple[int, MediaPart]] = {}
        self._tools: dict[int, int] = {}

    # ------------------------------------------------------------------------------------------ words

    def text(self, key: int, data: dict[str, Any], text: str) -> None:
        """Take more text."""
        self._items.add_text("output_text", key, text, data)

    def refusal(self, key: int, data: dict[str, Any], text: str) -> None:
        """Take more of a refusal."""
        self._items.add_text("refusal", key, text, data)

    def citation(self, key: int, data: dict[str, Any], citation: JSON) -> None:
        """Take a citation of a text."""
        annotation = annotation_of(citation)
        if annotation is None:
            self._leave_out("citations of another form", key)
            return
        before = self._items.find("message", key)
        if before is not None and before.is_done:
            self._leave_out("a citation that came after its text had ended", key)
        else:
            self._items.add_annotation(key, annotation, data)

    def reasoning(self, key: int, data: dict[str, Any], delta: ReasoningDelta) -> None:
        """Take more reasoning, or more of what proves or hides it; it is a summary, unless its provider said that it is the thinking itself."""
        if delta.text:
            kind: TextKind = "reasoning_text" if data.get("field") == "content" else "summary_text"
            self._items.add_text(kind, key, delta.text, data)
        if not (delta.signature or delta.encrypted or delta.details):
            return
        item = self._items.find("reasoning", key)
        if item is None or (item.is_done and not delta.signature):
            item = self._items.open("reasoning", key, data)
        if item.is_done:
            self._leave_out("a signature that came after its thinking had ended", key)
            return
        if delta.signature:
            item.signature.append(delta.signature)
        if delta.encrypted:
            item.encrypted.append(delta.encrypted)
        item.details += delta.details

    def bare(self, key: int, data: dict[str, Any]) -> None:
        """Take reasoning that shows nothing, but has to go back."""
        self._items.open("reasoning", key, data)

    # ------------------------------------------------------------------------------------------ media and parts

    def sound(self, key: int, _data: dict[str, Any], delta: MediaDelta) -> None:
        """Take a piece of a medium; sound has events, but no place in the response."""
        if delta.kind != "audio":
            self._leave_out(f"a piece of {delta.kind}", key)
            return
        if delta.data:
            self._items.event("response.audio.delta", delta=base64.b64encode(delta.data).decode("ascii"))
        if delta.transcript:
            self._items.event("response.audio.transcript.delta", delta=delta.transcript)

    def part(self, key: int, data: dict[str, Any], part: Part) -> None:
        """Take a part that came whole."""
        match part:
            case TextPart():
                if part.text:
                    self.text(key, data or part.provider_data, part.text)
                for citation in part.citations:
                    self.citation(key, data or part.provider_data, citation)
            case RefusalPart():
                self.refusal(key, data or part.provider_data, part.text)
            case JsonPart():
                self.text(key, data or part.provider_data, dumps_text(part.value))
            case ReasoningPart():
                self._thinking(key, part)
            case MediaPart():
                self._image(key, part)
            case ProviderToolPart():
                self._tool(key, part)
            case ProviderItem() if (raw := item_form(part)) is not None:
                self._items.whole(key, raw)
            case _:
                self._leave_out(f"a {type(part).__name__}", key)

    def _thinking(self, key: int, part: ReasoningPart) -> None:
        if part.text or part.signature or part.encrypted or part.details:
            self.reasoning(key, part.provider_data, ReasoningDelta(part.text, key, 0, part.signature, part.encrypted, part.details))
        elif part.provider_data.get("id"):
            self.bare(key, part.provider_data)

    def _image(self, key: int, part: MediaPart) -> None:
        identifier = part.provider_data.get("id")
        if isinstance(identifier, str) and identifier:
            self._images[identifier] = (key, part)  # the call that made it says the rest
        else:
            self._whole_image(key, part, f"ig_{key}")

    def _whole_image(self, key: int, part: MediaPart, identifier: str) -> None:
        form = image_form(part, identifier)
        if form is None:
            self._leave_out(f"a {part.kind} of the model's", key)
        else:
            self._items.whole(key, form)

    def _tool(self, key: int, part: ProviderToolPart) -> None:
        item = part.provider_data.get("item")
        identifier = item.get("id") if isinstance(item, dict) else None
        _, image = self._images.pop(identifier, (key, None)) if isinstance(identifier, str) else (key, None)
        forms = tool_forms(part, image)
        if not forms:
            self._leave_out(f"the call of {part.name!r}, which its provider ran", key)
        told = self._tools.get(key, 0)  # what a call gave may come when the call itself was told
        for form in forms[told:]:
            self._items.whole(key, form)
        self._tools[key] = max(told, len(forms))

    def end(self) -> None:
        """Nothing more comes: tell the images whose call said nothing."""
        images, self._images = self._images, {}
        for identifier, (key, image) in images.items():
            self._whole_image(key, image, identifier)

    # ------------------------------------------------------------------------------------------ a whole answer

    def all(self, parts: Iterable[Part]) -> None:
        """Take all parts of an answer; a call that cannot be run is there as not complete."""
        found = list(parts)
        for key, part in enumerate(found):
            if isinstance(part, MediaPart):
                self.part(key, EMPTY, part)  # before the calls that made them
        for key, part in enumerate(found):
            if isinstance(part, ToolCallPart):
                self._call(key, part)
            elif not isinstance(part, MediaPart):
                self.part(key, EMPTY, part)
        self.end()

    def _call(self, key: int, call: ToolCallPart) -> None:
        self._items.begin_call(key, call.kind, call.id, call.name, call.provider_data)
        is_blank = call.parsed == {} and not call.arguments.strip()
        if call.arguments and not is_blank:
            self._items.add_arguments(key, call.arguments)
        self._items.end_call(key, "completed" if call.runnable else "incomplete")
