"""What is known of one candidate while it streams.

The rule of this file: it counts and remembers; what came is judged elsewhere. The wire does not number its parts, so they are numbered
here, in the order in which they open: neighbouring unsigned pieces of one kind are one part, whatever carries data of its own (a thought
signature, say) is a part by itself.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace._json import JSON
from headrace.messages.deltas import FinishDelta
from headrace.messages.finish import NEUTRAL, FinishReason
from headrace.wire.decoder import Output
from headrace.wire.gemini.partial_arguments import PartialArguments


class OpenCall(NamedTuple):
    """A call whose arguments still come in pieces."""

    part: int
    name: str
    arguments: PartialArguments


class OpenTool(NamedTuple):
    """A call of the provider's own whose result may be the next part."""

    part: int
    kind: str
    id: str
    wire_parts: tuple[JSON, ...]


class Word(NamedTuple):
    """A word for why it stopped, and where it came."""

    word: str
    reason: FinishReason
    event: int
    offset: int


class Candidate:
    """The state of one candidate.

    Attributes:
        index: its number.
        run: the kind and the key of the part that the next piece of that kind continues, or None.
        is_open: it waits for a finish word: none has come, or something of substance came after one.
        calls: the calls whose arguments are not whole, by id; those without one by their key.
        last_call: the key of the call that was opened last.
        tool: the provider's own call, if it was the last part.
        kept: fields that are snapshots: the last value counts.
        cited: citations that were given out.
    """

    __slots__ = ("_decisive", "_is_early_said", "_last", "_next_part", "_output", "_words", "calls", "cited", "has_calls", "index", "is_open",
                 "kept", "last_call", "run", "tool")  # fmt: skip

    def __init__(self, index: int, output: Output) -> None:
        """Start before the first part."""
        self.index = index
        self._output = output
        self.run: tuple[str, int] | None = None
        self.is_open = True
        self.has_calls = False
        self.calls: dict[str | int, OpenCall] = {}
        self.last_call: int | None = None
        self.tool: OpenTool | None = None
        self.kept: dict[str, JSON] = {}
        self.cited: set[bytes] = set()
        self._next_part = 0
        self._words = 0
        self._last: Word | None = None
        self._decisive: Word | None = None
        self._is_early_said = False

    def open_part(self, kind: str | None = None) -> int:
        """Return the key of a new part; of a kind that can be continued, the next pieces of that kind join it."""
        choice = self._output.fold.choices.get(self.index)
        key = max(self._next_part, choice.next_key if choice is not None else 0)  # a filter may have opened parts of its own
        self._next_part = key + 1
        self.run = None if kind is None else (kind, key)
        self.tool = None
        return key

    def part_for(self, kind: str) -> int:
        """Return the key of the part that a piece of this kind belongs to."""
        return self.run[1] if self.run is not None and self.run[0] == kind else self.open_part(kind)

    def grow(self) -> None:
        """Something of substance came; after a finish word, that word was early."""
        if self.is_open:
            return
        self.is_open = True
        if not self._is_early_said:
            self._is_early_said = True
            self._output.warn("early_finish_reason", choice=self.index)

    def say(self, word: str, reason: FinishReason | None = None) -> None:
        """A finish word came."""
        self.is_open = False
        self._words += 1
        self._last = Word(word, reason or NEUTRAL.get(word, "other"), self._output.events, self._output.offset)
        if self._decisive is None and self._last.reason not in ("stop", "tool_calls", "other"):
            self._decisive = self._last

    @property
    def word(self) -> Word | None:
        """The word that counts: the first decisive one, else the last, since an earlier one was no end."""
        return self._decisive or self._last

    def finish(self) -> None:
        """Give out the word that counts; calls do not change the word here, so that they came is no oddity."""
        word = self.word
        if word is None:
            return
        if self._words > 1:
            self._output.warn("multiple_finish_reasons", choice=self.index)
        reason = "tool_calls" if word.reason == "stop" and self.has_calls else word.reason
        self._output.add(FinishDelta(word.word, self.index, reason, word.event, word.offset))
