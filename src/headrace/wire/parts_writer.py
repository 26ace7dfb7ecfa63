"""What a protocol's writer is told of an answer, and how an answer ended: the words between `parts_out.py` and each `stream_out.py`.

The rule of this file: shapes only.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from headrace._json import JSON
from headrace.messages.deltas import MediaDelta, ReasoningDelta, StreamError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import Part
from headrace.wire.call_out import CallOut

HELD_CALL: Final = "held_tool_call"
MADE_ID: Final = "made_tool_id"
HELD_BLOCK: Final = "held_block"
CHANGED: Final = "changed_after_sending"
LEFT_OUT: Final = "dropped_for_client"
OUT_CODES: Final = frozenset({HELD_CALL, HELD_BLOCK, MADE_ID, CHANGED, LEFT_OUT})
"""What is said of an answer on its way out, beside the warnings of how it came in."""


class Writer(Protocol):
    """What a protocol does with each thing that comes; `choice` and `key` name the part.

    Attributes:
        takes_late_names: a name may grow after the call has begun.
        takes_free_text: there are calls whose arguments are free text.
    """

    takes_late_names: bool
    takes_free_text: bool

    def text(self, choice: int, key: int, text: str) -> None:
        """Take more text."""
        ...

    def reasoning(self, choice: int, key: int, delta: ReasoningDelta) -> None:
        """Take more reasoning, or more of what proves or hides it."""
        ...

    def refusal(self, choice: int, key: int, text: str) -> None:
        """Take more of a refusal."""
        ...

    def citation(self, choice: int, key: int, citation: JSON) -> None:
        """Take a citation of a text."""
        ...

    def call_started(self, call: CallOut, data: dict[str, Any]) -> None:
        """Begin a call: its id, name, kind and index are known; `data` are its provider's own, as far as they came."""
        ...

    def call_renamed(self, call: CallOut, more: str) -> None:
        """Take more of a call's name."""
        ...

    def call_arguments(self, call: CallOut, text: str) -> None:
        """Take more of a call's arguments."""
        ...

    def call_ended(self, call: CallOut) -> None:
        """Nothing more of a call will come."""
        ...

    def media(self, key: int, delta: MediaDelta) -> None:
        """Take a piece of a medium."""
        ...

    def part(self, choice: int, key: int, part: Part) -> None:
        """Take a part that came whole, or that a provider's tool made."""
        ...

    def logprobs(self, choice: int, logprobs: JSON) -> None:
        """Take log-probabilities."""
        ...


class Verdict:
    """How an answer ended.

    Attributes:
        messages: the message of each choice, by its index.
        error: why it failed, or None.
        cut: the choices that end as cut off by length, whatever their finish word.
    """

    def __init__(self, messages: dict[int, AssistantMessage], error: StreamError | None) -> None:
        """Start with the error of the stream itself."""
        self.messages = messages
        self.error = error
        self.cut: set[int] = set()
