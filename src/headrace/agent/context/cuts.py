"""Where a history may be cut, and where it is.

The rule of this file: a cut never parts a call from its result. What is kept begins with a user's turn or with a round (an answer and the
results of its calls, which stay together), at a place where no call is open.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headrace.agent.context.estimate import estimate_tokens
from headrace.agent.context.shorten import shortened_message
from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage


class Entry(msgspec.Struct, frozen=True):
    """A message of a view.

    Attributes:
        index: its place in the whole history; -1: it is not of the history.
        message: as it is sent.
        tokens: its estimate.
        is_start: what is kept may begin here.
        is_turn: a user's turn begins here.
        cap: how many tokens its content was cut down to, or None.
        original: the message before it was cut, or None.
    """

    index: int
    message: Message
    tokens: int
    is_start: bool = False
    is_turn: bool = False
    cap: int | None = None
    original: Message | None = None

    def capped(self, cap: int | None) -> Entry:
        """Return the entry with its content cut down to so many tokens; always from the original, so that the last cap says it all."""
        whole = self.message if self.original is None else self.original
        if cap is None or (self.cap is not None and self.cap <= cap) or (short := shortened_message(whole, cap)) is whole:
            return self
        return msgspec.structs.replace(self, message=short, tokens=estimate_tokens(short), cap=cap, original=whole)


class Pairing:
    """Follows which calls are open, one message at a time.

    A result counts for the latest answer that made a call of its id, as encoders pair them. A call that has no result when the next
    answer with calls comes is taken for one that never gets any.
    """

    def __init__(self) -> None:
        """Start before the first message."""
        self._open: dict[str, int] = {}

    def feed(self, message: Message) -> tuple[bool, bool]:
        """Take the next message; return whether what is kept may begin with it, and whether a user's turn does."""
        if isinstance(message, ToolMessage):
            for result in message.results:
                left = self._open.pop(result.call_id, 0) - 1
                if left > 0:
                    self._open[result.call_id] = left
            return False, False
        is_free = not self._open or (isinstance(message, AssistantMessage) and bool(message.tool_calls))
        if isinstance(message, AssistantMessage) and message.tool_calls:
            self._open = {}
            for call in message.tool_calls:
                self._open[call.id] = self._open.get(call.id, 0) + 1
        is_start = is_free and not isinstance(message, SystemMessage)
        return is_start, is_start and isinstance(message, UserMessage) and message.origin != "framework"


def choose_cut(entries: Sequence[Entry], keep_tokens: float, keep_messages: float) -> int:
    """Return the place of the first entry that is kept.

    As much of the end is kept as fits. A beginning at a user's turn is taken if it keeps at least half of that; else a round begins it.
    What follows the last place to begin with is kept however long it is. 0: nothing can be cut.
    """
    last = fitting = turn = None
    fitting_tokens = turn_tokens = tokens = 0
    for place in range(len(entries) - 1, -1, -1):
        entry = entries[place]
        tokens += entry.tokens
        if not entry.is_start:
            continue
        last = place if last is None else last
        if tokens > keep_tokens or len(entries) - place > keep_messages:
            break
        fitting, fitting_tokens = place, tokens
        if entry.is_turn:
            turn, turn_tokens = place, tokens
    if turn is not None and 2 * turn_tokens >= fitting_tokens:
        return turn
    return fitting if fitting is not None else last or 0
