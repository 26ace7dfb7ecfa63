"""What was left out of conversations, remembered in memory from run to run, so that a long one is not summed up anew at each question.

The rule of this file: it remembers and proves nothing. Whoever takes a state up checks that it belongs to the history; where none is
remembered, the whole history is looked at, as in another process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

MAX_VIEWS: Final = 10_000
"""How many conversations are remembered; the ones that were not used for the longest time are forgotten first."""


class KeptViews:
    """Remembers the states of views, by the id of the conversation."""

    def __init__(self, limit: int = MAX_VIEWS) -> None:
        """Remember nothing yet."""
        self._limit = limit
        self._states: OrderedDict[str, Mapping[str, Any]] = OrderedDict()

    def __len__(self) -> int:
        """Return how many are remembered."""
        return len(self._states)

    def get(self, session_id: str | None) -> Mapping[str, Any] | None:
        """Return what is remembered of a conversation, or None."""
        return None if session_id is None else self._states.get(session_id)

    def put(self, session_id: str, state: Mapping[str, Any] | None) -> None:
        """Remember the state of a conversation's view; None: nothing was left out of it."""
        self._states.pop(session_id, None)
        if state is not None:
            self._states[session_id] = state
        while len(self._states) > self._limit:
            self._states.popitem(last=False)
