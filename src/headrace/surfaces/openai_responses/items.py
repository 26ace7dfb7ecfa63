"""The items of a response that is a leg of a run: those of all its rounds, one after the other.

The rule of this file: thinking stays open until its round has ended, since what proves it is known then. What a void answer told is ended as
incomplete and is no part of the response.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from headrace._json import JSON
from headrace.messages.parts import ReasoningPart
from headrace.wire.openai_responses.items_out import ItemOut, ItemsOut

WORK: Final = "mcp_call"
"""What a call is called that the one who answers runs itself."""


class RunItems(ItemsOut):
    """Items of many answers; parts are told apart by a number for each."""

    def __init__(self, name: Callable[[str, int], str]) -> None:
        """Start without items; `name` makes an item's id of its prefix and its place."""
        super().__init__(name)
        self._aside: list[ItemOut] = []
        self._void: set[int] = set()
        self._first = 0
        self._works: dict[str, ItemOut] = {}

    def take_each(self) -> list[bytes]:
        """Return the events that are ready, each by itself, and start anew."""
        out, self._out = self._out, []
        return out

    def forms(self) -> list[JSON]:
        """Return the items that count, as they stand."""
        return [item.form() for item in self.all if item.index not in self._void]

    def end_live(self, status: str = "completed") -> None:
        """End words, if they go on; thinking waits for its proof."""
        if self._live is not None and self._live.type == "reasoning" and status == "completed":
            live, self._live = self._live, None
            self._aside.append(live)
        else:
            super().end_live(status)

    def open(self, kind: str, key: int, data: dict[str, Any]) -> ItemOut:
        """Return the item of a key; thinking that waits goes on."""
        item = self.find(kind, key)
        if item is None or kind != "reasoning" or item.is_done:
            return super().open(kind, key, data)
        if item is not self._live:
            self.end_live()
            self._aside.remove(item)
            self._live = item
        return item

    def prove(self, key: int, part: ReasoningPart) -> None:
        """Take what proves or hides the thinking of a key."""
        item = self.open("reasoning", key, part.provider_data)
        item.signature = [part.signature] if part.signature else []
        item.encrypted = [part.encrypted] if part.encrypted else []
        item.details = list(part.details)

    def begin_round(self) -> None:
        """What comes now is another answer's; what it tells can be taken back by itself."""
        self._first = len(self.all)

    def end_round(self, status: str = "completed") -> None:
        """End everything that goes on; the next round's items come after these."""
        self.end_live(status)
        for item in self._aside:
            self._end(item, status)
        for item in self.all[self._first :]:
            if item.type != WORK:
                self._end(item, "incomplete")
        self._aside.clear()
        self._first = len(self.all)

    def take_back(self) -> None:
        """Say that the items of this round count for nothing."""
        void = self.all[self._first :]
        self._void.update(item.index for item in void)
        self.end_round("incomplete")
        for name, item in list(self._works.items()):
            if item in void:
                self.end_work(name, status="incomplete")

    def leave_out(self, item: ItemOut) -> None:
        """Say that an item counts for nothing after all."""
        self._void.add(item.index)

    # ------------------------------------------------------------------------------------------ what the run does itself

    def begin_work(self, name: str, form: dict[str, Any]) -> None:
        """Begin a call that the run works on itself, whose arguments are whole; one that is begun again after a crash goes on.

        Args:
            name: the call.
            form: the item's members but for id and status.
        """
        if name in self._works:
            return
        self.end_live()
        index = len(self.all)
        item = ItemOut(WORK, self._name("mcp_", index), index, {})
        self._works[name] = item
        self.all.append(item)
        item.whole = {"id": item.id, "type": WORK, "status": "in_progress", "output": None, "error": None, **form}
        place: dict[str, Any] = {"item_id": item.id, "output_index": index}
        self.event("response.output_item.added", output_index=index, item=item.whole)
        self.event("response.mcp_call_arguments.done", **place, arguments=form["arguments"])
        self.event("response.mcp_call.in_progress", **place)

    def end_work(self, name: str, *, status: str, output: str | None = None, error: dict[str, Any] | None = None) -> None:
        """End a call that the run works on itself; nothing happens if it does not go on."""
        item = self._works.pop(name, None)
        if item is None:
            return
        item.is_done = True
        item.whole = {**cast("dict[str, Any]", item.whole), "status": status, "output": output, "error": error}
        if status in ("completed", "failed"):
            self.event(f"response.{WORK}.{status}", item_id=item.id, output_index=item.index)
        self.event("response.output_item.done", output_index=item.index, item=item.whole)

    def end_works(self) -> None:
        """End what the run works on: it goes no further in this response."""
        for name in list(self._works):
            self.end_work(name, status="incomplete")

    def call(self, key: int, call_id: str, name: str, arguments: str, *, is_whole: bool) -> None:
        """End a call as it finally is."""
        item = self._calls[key]
        item.call_id, item.name = call_id, name
        if "".join(item.pieces) != arguments:
            item.pieces = [arguments] if arguments else []
        self.end_call(key, "completed" if is_whole else "incomplete")

    def item_of_call(self, key: int) -> ItemOut | None:
        """Return the item of a call, or None."""
        return self._calls.get(key)
