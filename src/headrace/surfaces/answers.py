"""Answers to what a run asked, as clients give them.

The rule of this file: an answer goes to the question whose digest it names, or it is refused; what is neither a clear yes nor a clear no is
refused too. Nothing is taken for a yes because it was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from headrace._json import JSON
from headrace.agent.approval import Pending, Reply
from headrace.errors import StateError, UsageError
from headrace.messages.parts import Part, ToolResultPart
from headrace.surfaces.content import said_value, text_of, value_of

_EDITED = ("editedArgs", "edited_args", "arguments")


class Questions:
    """The questions that are open, each of which can be answered once.

    Attributes:
        replies: the answers so far.
    """

    def __init__(self, pending: Iterable[Pending]) -> None:
        """Take the questions of a run."""
        self._open = {one.digest: one for one in pending}
        self._by_key = {one.call_key: one for one in self._open.values()}
        self.replies: list[Reply] = []

    def take(self, digest: str, place: str) -> Pending:
        """Return the question of a digest; it is open no more.

        Raises:
            StateError: no such question is open.
        """
        pending = self._open.pop(digest, None)
        if pending is None:
            raise StateError(f"{place}: no question {digest!r} is open; it was answered before, or another run asked it", argument=place)
        return pending

    def external(self, call_key: str) -> Pending | None:
        """Return the question for the value of a call, if it is open; it is open no more."""
        pending = self._by_key.get(call_key)
        if pending is None or pending.kind != "external" or pending.digest not in self._open:
            return None
        return self._open.pop(pending.digest)

    def decide(self, pending: Pending, payload: JSON, place: str) -> None:
        """Take a person's answer: true or false, or an object with `approved`, and with `editedArgs`, `always`, `reason` or `result`.

        Raises:
            UsageError: it is no clear answer.
        """
        if pending.kind == "external":
            self.replies.append(pending.answer(payload))
            return
        held = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {"approved": payload}
        if pending.kind == "in_doubt" and "result" in held:
            self.replies.append(pending.answer(held["result"]))
            return
        approved, reason = held.get("approved"), held.get("reason")
        if not isinstance(approved, bool) or not isinstance(reason, str | None):
            raise UsageError(f"{place} is no clear answer: give true or false, or an object whose approved is one", argument=place)
        rules = pending.suggestions[:1] if held.get("always") is True else ()
        if not approved:
            self.replies.append(pending.deny(reason or ""))
            return
        edited = next((held[name] for name in _EDITED if held.get(name) is not None), None)
        if not isinstance(edited, dict | None):
            raise UsageError(f"{place}.editedArgs is no object", argument=f"{place}.editedArgs")
        self.replies.append(pending.approve(cast("dict[str, Any] | None", edited), rules=rules))

    def results(self, results: Iterable[ToolResultPart]) -> None:
        """Take results that name calls by the provider's ids, or by their keys; those of calls that wait for none are let pass."""
        by_id = {one.call.id: one for one in self._open.values() if one.kind == "external"}
        for one in results:
            named = by_id.get(one.call_id)
            pending = self.external(one.call_id if named is None else named.call_key)
            if pending is not None:
                self.value(pending, one.parts, text_of(one.parts) if one.state == "error" else None)

    def value(self, pending: Pending, parts: Sequence[Part], error: str | None = None) -> None:
        """Take what a program says that a call gave; a text that is JSON is its value."""
        value = value_of(parts)
        if error is not None:
            self.replies.append(pending.answer(value or error, is_error=True))
        else:
            self.replies.append(pending.answer(said_value(value) if isinstance(value, str) else value))
