"""Which part of the message each delta went to.

The rule of this file: the accumulator decides; here it is only asked, and its answers are kept until the parts have their final order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from headrace._json import dumps_text
from headrace.decoding import StreamResult
from headrace.inspect.excerpts import cut, short, shown
from headrace.inspect.reasons import why_not_runnable
from headrace.inspect.saying import content_of
from headrace.inspect.values import Bounds, Call, Fragment, PartView
from headrace.messages.accumulator import Accumulator
from headrace.messages.assembly import ordered
from headrace.messages.deltas import (
    CitationDelta,
    Delta,
    MediaDelta,
    PartDataDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    TextDelta,
    ToolCallFragment,
    ToolCallSettled,
)
from headrace.messages.message import AssistantMessage
from headrace.messages.part_base import object_or_none
from headrace.messages.parts import MediaPart, Part, ProviderToolPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart

_KINDS: Final[dict[type[Delta], str]] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    RefusalDelta: "refusal",
    ToolCallFragment: "tool_call",
    ToolCallSettled: "tool_call",
    ProviderToolFragment: "provider_tool",
    MediaDelta: "media",
    CitationDelta: "text",
}
_MAX_ROWS: Final = 50
_MAX_READ_AS: Final = 2000


class Place(NamedTuple):
    """A part while its place is not final: which message it was (the peer may begin anew), the choice, its kind and key."""

    message: int
    choice: int
    kind: str
    key: int


class _Grown:
    """What was seen of a part."""

    __slots__ = ("count", "fragments", "last_row", "rows")

    def __init__(self) -> None:
        self.fragments: list[Fragment] = []
        self.rows: list[int] = []
        self.count = 0
        self.last_row: int | None = None


class Places:
    """Follows deltas into their parts; `end` gives the parts their names."""

    def __init__(self, bounds: Bounds) -> None:
        """Start empty."""
        self._bounds = bounds
        self._fold = Accumulator(is_from_wire=True)
        self._message = 0
        self._grown: dict[Place, _Grown] = {}
        self._refs: dict[Place, str] = {}
        self._by_key: dict[tuple[int, int], list[Place]] = {}

    def take(self, delta: Delta, row: int) -> Place | None:
        """Take a delta that came in this row; returns where it went, or None if it concerns no part."""
        if isinstance(delta, Restarted):
            self._message += 1
        key = self._fold.add(delta)  # without bounds: the decoder kept those of the stream
        kind = _kind_of(delta)
        if key < 0 or kind is None:
            return None
        place = Place(self._message, getattr(delta, "choice", 0), kind, key)
        self._note(place, delta, row)
        return place

    def _note(self, place: Place, delta: Delta, row: int) -> None:
        grown = self._grown.get(place)
        if grown is None:
            grown = self._grown[place] = _Grown()
        grown.count += 1
        if grown.last_row != row and len(grown.rows) < _MAX_ROWS:
            grown.rows.append(row)
        grown.last_row = row
        if len(grown.fragments) < self._bounds.max_fragments:
            grown.fragments.append(Fragment(row, cut(content_of(delta), self._bounds.max_text)[0]))

    # ------------------------------------------------------------------------------------------ the end

    def end(self, result: StreamResult) -> tuple[PartView, ...]:
        """Return the parts of all choices in their order, with what they were merged from; then `ref` and `is_void` can be asked."""
        parts: list[PartView] = []
        kind = None if result.error is None else result.error.kind
        for index, message in zip(result.indexes, result.choices, strict=True):
            choice = self._fold.choices.get(index)
            growing = ordered(choice) if choice is not None else []
            for n, (state, part) in enumerate(zip(growing, message.parts, strict=False)):
                place = Place(self._message, index, state.kind, state.key)
                self._refs[place] = f"{index}.{n}"
                self._by_key.setdefault((index, state.key), []).append(place)
                parts.append(self._view(place, f"{index}.{n}", part, _call_of(part, message, kind)))
        return tuple(parts)

    def ref(self, place: Place | None) -> str | None:
        """Return the part's name, or None if it is no part of the message in the end."""
        return None if place is None else self._refs.get(place)

    def is_void(self, place: Place | None) -> bool:
        """Whether it belonged to a message that the peer began anew."""
        return place is not None and place.message < self._message

    def of_key(self, choice: int, key: int) -> Iterator[tuple[str, tuple[int, ...], int | None]]:
        """Give the parts with this key: name, the rows of its fragments, the last of them."""
        for place in self._by_key.get((choice, key), ()):
            grown = self._grown.get(place)
            yield self._refs[place], tuple(grown.rows) if grown else (), grown.last_row if grown else None

    def _view(self, place: Place, ref: str, part: Part, call: Call | None) -> PartView:
        grown = self._grown.get(place) or _Grown()
        kind, title, text, notes = _content(part)
        text, text_cut = cut(text, self._bounds.max_text)
        return PartView(
            ref=ref,
            choice=place.choice,
            kind=kind,
            title=shown(title),
            text=text,
            text_cut=text_cut,
            fragments=tuple(grown.fragments),
            fragments_cut=grown.count - len(grown.fragments),
            fragments_count=grown.count,
            first_row=grown.rows[0] if grown.rows else None,
            last_row=grown.last_row,
            call=call,
            notes=notes,
        )


def _kind_of(delta: Delta) -> str | None:
    if isinstance(delta, PartDelta):
        return "tool_call" if isinstance(delta.value, ToolCallPart) else "whole"
    if isinstance(delta, PartDataDelta):
        return delta.kind
    return _KINDS.get(type(delta))


def _call_of(part: Part, message: AssistantMessage, error: str | None) -> Call | None:
    if not isinstance(part, ToolCallPart):
        return None
    is_repaired = part.parsed is not None and object_or_none(part.arguments) != part.parsed
    return Call(
        id=shown(part.id),
        name=shown(part.name),
        kind=part.kind,
        is_parsed=part.parsed is not None,
        is_runnable=part.runnable,
        is_id_made_up=part.id_made_up,
        why_not=None if part.runnable else why_not_runnable(part, message, error),
        read_as=short(dumps_text(part.parsed), _MAX_READ_AS) if is_repaired else None,
    )


def _content(part: Part) -> tuple[str, str, str, tuple[str, ...]]:
    """Return what a part is, its title, its text, and notes on what else it holds."""
    match part:
        case TextPart():
            return "text", "", part.text, ((f"{len(part.citations)} citations",) if part.citations else ())
        case ReasoningPart():
            sealed = (("signature", part.signature), ("encrypted", part.encrypted))
            notes = tuple(f"{name} of {len(value):,} characters" for name, value in sealed if value)
            return "reasoning", "", part.text, (*notes, *((f"{len(part.details)} details",) if part.details else ()))
        case RefusalPart():
            return "refusal", "", part.text, ()
        case ToolCallPart():
            return "tool_call", part.name, part.arguments, ()
        case ProviderToolPart():
            return "provider_tool", part.name, part.arguments, ("run by the provider",)
        case MediaPart():
            return "media", part.kind, part.transcript or "", (f"{len(part.data or b''):,} bytes",)
        case _:
            return part.type, "", "", ()
