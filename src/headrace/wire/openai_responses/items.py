"""The output items of one response: which one an event means.

The rule of this file: an item is known by its place (`output_index`), never by its id alone, since there are gateways that change every id
in every event. Only where a server gives no place, or one place to several items, the id and the order of arrival have to tell.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from headrace.wire.json_events import word_of

PartKind: TypeAlias = Literal["text", "reasoning", "refusal", "whole"]
"""What a part of an item is; calls and whatever is not text are `whole`."""
SLOTS: Final = 1000
"""How many keys an item has: its parts are ordered by the item's place, then by their own."""
CONTENT: Final = 500
"""Where the raw thinking of a reasoning item begins among its keys, behind its summaries."""
_LAST_PLACE: Final = 2**31
_MOST_AT_A_PLACE: Final = 64  # a server that gives all items one place is followed so far; then the order of arrival tells


class Item:
    """One output item while it arrives.

    Attributes:
        type: `message`, `reasoning`, `function_call`, …
        id, call_id: as they came first; "" where they did not.
        index: the wire's place, or one that we gave.
        key: the key of its first part.
        added: the item as it was announced.
        final: the item as it came whole, or None.
        opened: the parts that have come, by their place in the item: the kind of each.
        said: the places of those parts whose data was given out.
        pieces: input that streams and is put together only at the end, by its place.
        size: how long those pieces are.
        checks: how often a repetition was compared with what had streamed, by key.
        is_named: its call has a name.
        has_encrypted: its encrypted thinking was given out.
    """

    __slots__ = (
        "added", "call_id", "checks", "final", "has_encrypted", "id", "index", "is_named", "key", "opened", "pieces", "said",
        "size", "type",
    )  # fmt: skip

    def __init__(self, kind: str, index: int, key: int, added: Mapping[str, Any]) -> None:
        """Start with what was announced."""
        self.type = kind
        self.id = word_of(added.get("id"))
        self.call_id = word_of(added.get("call_id"))
        self.index = index
        self.key = key
        self.added = added
        self.final: Mapping[str, Any] | None = None
        self.opened: dict[int, PartKind] = {}
        self.said: set[int] = set()
        self.pieces: dict[int, list[str]] = {}
        self.size = 0
        self.checks: dict[int, int] = {}
        self.is_named = False
        self.has_encrypted = False

    def is_called(self, identifier: str, call_id: str) -> bool:
        """Return whether one of these ids is its own."""
        return (call_id != "" and call_id == self.call_id) or (identifier != "" and identifier == self.id)

    def may_be(self, form: Mapping[str, Any], *, is_whole: bool) -> bool:
        """Return whether a form of another id at the same place can be this item under a new id; an announcement is no second one of a call."""
        call_id = word_of(form.get("call_id"))
        if word_of(form.get("type")) != self.type or (call_id and self.call_id and not is_whole):
            return False
        if self.final is None:
            return True
        return {**form, "id": ""} == {**self.final, "id": ""}


class Items:
    """All items of a response.

    Attributes:
        all: in the order of their arrival.
    """

    def __init__(self) -> None:
        """Start without items."""
        self.all: list[Item] = []
        self._at: dict[int, list[Item]] = {}
        self._by_id: dict[str, Item] = {}
        self._by_call: dict[str, Item] = {}
        self._last: dict[str, Item] = {}
        self._next = 0

    def find(self, index: int | None, identifier: str, kind: str) -> Item | None:
        """Return the item that an event means.

        Args:
            index: the event's `output_index`, or None.
            identifier: its `item_id`, or "".
            kind: the type of item that such events belong to; it tells where nothing else does.
        """
        if index is None:
            return (self._by_id.get(identifier) if identifier else None) or self._last.get(kind)
        here = self._at.get(index, [])[-_MOST_AT_A_PLACE:]
        called = next((item for item in reversed(here) if item.id == identifier), None)
        if called is not None or not here:
            return called
        # An id that is known elsewhere was not made up for this event: then the place is what is wrong.
        known = self._by_id.get(identifier)
        return known if known is not None and here[-1].id and known.type in (kind, here[-1].type) else here[-1]

    def shown(self, index: int | None, form: Mapping[str, Any], *, is_whole: bool) -> Item | None:
        """Return the item that a form shows again, or None if it is new.

        Args:
            index: the place that the event names, or None.
            form: the item as it is announced, or comes whole.
            is_whole: it comes whole.
        """
        kind, identifier, call_id = word_of(form.get("type")), word_of(form.get("id")), word_of(form.get("call_id"))
        if index is not None:
            here = [item for item in reversed(self._at.get(index, ())[-_MOST_AT_A_PLACE:]) if item.type == kind]
            called = next((item for item in here if item.is_called(identifier, call_id)), None)
            return called or next((item for item in here if item.may_be(form, is_whole=is_whole)), None)
        known = self._by_id.get(identifier) or self._by_call.get(call_id)
        if known is not None and known.type == kind:
            return known
        last = self._last.get(kind)
        is_last = last is not None and last.final is None and is_whole and not (identifier and last.id)
        return last if is_last else None

    def repeated(self, forms: Sequence[Mapping[str, Any]]) -> list[Item | None]:
        """Return for each item of the final list the one that it shows again, or None.

        By its ids; else by its place; else by the order of its type: each item is shown once.
        """
        found: list[Item | None] = [None] * len(forms)
        taken: set[int] = set()
        rest: dict[str, deque[Item]] = {}
        for known in self.all:
            rest.setdefault(known.type, deque()).append(known)
        for choose in (self._by_ids, self._by_place, None):
            for n, form in enumerate(forms):
                if found[n] is not None:
                    continue
                kind = word_of(form.get("type"))
                item = choose(form, n) if choose is not None else _first_free(rest.get(kind), taken)
                if item is not None and item.type == kind and item.key not in taken:
                    found[n] = item
                    taken.add(item.key)
        return found

    def _by_ids(self, form: Mapping[str, Any], _n: int) -> Item | None:
        call_id, identifier = word_of(form.get("call_id")), word_of(form.get("id"))
        return (self._by_call.get(call_id) if call_id else None) or (self._by_id.get(identifier) if identifier else None)

    def _by_place(self, _form: Mapping[str, Any], n: int) -> Item | None:
        here = self._at.get(n)
        return here[-1] if here else None

    def call_of(self, form: Mapping[str, Any]) -> Item | None:
        """Return the call that an output of the provider's own answers: by its id, else the last one of its kind."""
        kind = word_of(form.get("type")).removesuffix("_output")
        call = self._by_call.get(word_of(form.get("call_id"))) or self._last.get(kind) or self._last.get(f"{kind}_call")
        return call if call is not None and call.type.removesuffix("_call") == kind.removesuffix("_call") else None

    def open(self, index: int | None, form: Mapping[str, Any], kind: str = "") -> Item:
        """Take a new item; one without a place comes behind all others."""
        place = self._next if index is None else index
        # Two items cannot have one key: the later one stands behind all others.
        key = place if place not in self._at else self._next
        item = Item(word_of(form.get("type")) or kind, place, key * SLOTS, form)
        self._next = max(self._next, key, place) + 1
        self.all.append(item)
        self._at.setdefault(place, []).append(item)
        if key != place:
            self._at.setdefault(key, [])
        if item.id:
            self._by_id[item.id] = item
        if item.call_id and not item.type.endswith("_output"):  # an output names the call that it answers
            self._by_call[item.call_id] = item
        self._last[item.type] = item
        return item


def place_of(value: object) -> int | None:
    """Return a place in a list, or None if it is none."""
    return value if type(value) is int and 0 <= value < _LAST_PLACE else None


def _first_free(items: deque[Item] | None, taken: set[int]) -> Item | None:
    while items:
        item = items.popleft()
        if item.key not in taken:
            return item
    return None
