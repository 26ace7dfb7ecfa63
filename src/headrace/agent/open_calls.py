"""The calls of the last answer that have no result in the history yet: which have begun, which wait, what was answered. Pure.

The rule of this file: a call is named by its place among the calls of the answer; nothing here makes events or messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from headrace._json import JSON, freeze
from headrace.agent.approval import Pending, Reply
from headrace.agent.run_state import Inside, Open, Waiting
from headrace.errors import StateError
from headrace.messages.parts import ToolResultPart


class OpenCalls:
    """What is known of them.

    Attributes:
        results: those that are there, by the place of the call.
        started: what was started, and how many answers there were to the call by then.
        waiting: what waits for somebody.
        inside: from where calls can go on that were started before the run broke off.
        replies: what was answered, in order.
        results_at: when the last result came.
    """

    __slots__ = ("_asked", "_keepers", "inside", "replies", "results", "results_at", "started", "waiting")

    def __init__(self) -> None:
        """Know nothing."""
        self.results: dict[int, ToolResultPart] = {}
        self.started: dict[int, int] = {}
        self.inside: dict[int, Inside] = {}
        self.waiting: dict[int, Waiting] = {}
        self.replies: list[Reply] = []
        self.results_at: datetime | None = None
        self._asked: dict[int, tuple[Pending, ...]] = {}  # by calls that go on, before they were suspended
        self._keepers: dict[int, tuple[Callable[[], JSON], Mapping[str, Any] | None]] = {}

    def restore(self, open_: Open) -> None:
        """Go on where a state was taken."""
        self.results, self.started, self.waiting = dict(open_.results), dict(open_.started), dict(open_.waiting)
        self.inside = dict(open_.inside)
        self.replies = list(open_.replies)
        self.results_at = open_.results_at

    # ------------------------------------------------------------------------------------------ what becomes of a call

    def start(self, place: int, call_key: str) -> None:
        """It runs."""
        self.started[place] = len(self.replies_to((call_key,)))
        self.waiting.pop(place, None)

    def go_on(self, place: int) -> None:
        """It had suspended the run, and goes on; it started before."""
        waiting = self.waiting.pop(place, None)
        if waiting is not None:
            self._asked[place] = waiting.pendings

    def keep(self, place: int, state: Callable[[], JSON], arguments: Mapping[str, Any] | None) -> None:
        """It says from where it can go on; the arguments are those that were put in place of the model's."""
        if place in self.started and place not in self.results:
            self._keepers[place] = (state, arguments)

    def kept(self) -> dict[int, Inside]:
        """Return from where the calls that run can go on."""
        found: dict[int, Inside] = {place: inside for place, inside in self.inside.items() if place not in self.results}
        for place, (state, arguments) in self._keepers.items():
            try:
                found[place] = Inside(freeze(state(), "Context.keep"), None if arguments is None else dict(arguments))
            except StateError:  # a run inside that has not begun
                continue
        return {place: found[place] for place in sorted(found) if place not in self.waiting}

    def wait(self, place: int, waiting: Waiting) -> tuple[Pending, ...]:
        """It waits for somebody; returns the questions that are new."""
        before = self.waiting.get(place)
        known = self._asked.pop(place, ()) if before is None else before.pendings
        self.waiting[place] = waiting
        self._forget(place)
        return tuple(pending for pending in waiting.pendings if pending not in known)

    def end(self, place: int, result: ToolResultPart, at: datetime) -> None:
        """It has its result."""
        self.results[place] = result
        self.results_at = at
        self.waiting.pop(place, None)
        self._forget(place)

    def _forget(self, place: int) -> None:
        self.inside.pop(place, None)
        self._keepers.pop(place, None)

    # ------------------------------------------------------------------------------------------ questions and answers

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What waits for somebody and was not answered yet, in the order of the calls."""
        return tuple(question for place in sorted(self.waiting) for question in self.waiting[place].pendings)

    def replies_to(self, call_keys: Iterable[str]) -> tuple[Reply, ...]:
        """Return what was answered about these calls, in order."""
        keys = set(call_keys)
        return tuple(reply for reply in self.replies if reply.call_key in keys)

    def take_replies(self, place: int, call_key: str, asked: Iterable[str]) -> tuple[Reply, ...]:
        """Return what was answered to the questions of a suspended call and forget it: it is handed on.

        What was answered before the call started let it start, and stays.

        Args:
            place: where the call stands.
            call_key: its key.
            asked: the keys of the questions.
        """
        before = self.replies_to((call_key,))[: self.started.get(place, 0)]
        taken = [reply for reply in self.replies_to(asked) if not any(reply is one for one in before)]
        self.replies = [reply for reply in self.replies if not any(reply is one for one in taken)]
        return tuple(taken)

    def is_under_way(self, place: int) -> bool:
        """Whether a call has its result, or has run and suspended the run."""
        waiting = self.waiting.get(place)
        return place in self.results or (waiting is not None and waiting.is_suspended)
