"""What a crash has left open in a log, closed, so that readers see an end of everything that they saw begin. Pure.

The rule of this file: nothing is taken back and nothing is made up. Blocks that were open end where they were; the run that goes on says
itself that the answer is void (`attempt_discarded`), so its deltas are never mixed with those of the next attempt.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from headrace.agent.events import (
    Event,
    ReasoningEnded,
    ReasoningStarted,
    SubRun,
    TextEnded,
    TextStarted,
    ToolCallArguments,
    ToolCallEnded,
    ToolCallStarted,
)

_Block = TextStarted | ReasoningStarted | ToolCallStarted


class _Arguments:
    """The arguments of an open call as far as they came."""

    def __init__(self, started: ToolCallStarted) -> None:
        self.started = started
        self.pieces: list[str] = []


class OpenBlocks:
    """The blocks that are open in a log, those of sub-agents included."""

    def __init__(self) -> None:
        """Start before the first event."""
        self._blocks: dict[tuple[object, ...], _Block | _Arguments] = {}
        self._inner: dict[str, tuple[SubRun, OpenBlocks]] = {}

    def feed(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case TextStarted():
                self._blocks["text", event.message_id, event.part, event.kind] = event
            case ReasoningStarted():
                self._blocks["reasoning", event.message_id, event.part] = event
            case ToolCallStarted():
                self._blocks["call", event.call_key] = _Arguments(event)
            case ToolCallArguments():
                block = self._blocks.get(("call", event.call_key))
                if isinstance(block, _Arguments):
                    block.pieces.append(event.text)
            case TextEnded():
                self._blocks.pop(("text", event.message_id, event.part, event.kind), None)
            case ReasoningEnded():
                self._blocks.pop(("reasoning", event.message_id, event.part), None)
            case ToolCallEnded():
                self._blocks.pop(("call", event.call_key), None)
            case SubRun():
                _, inner = self._inner.get(event.event.run_id, (event, OpenBlocks()))
                inner.feed(event.event)
                self._inner[event.event.run_id] = (event, inner)
            case _:
                pass

    @property
    def inner_seqs(self) -> dict[str, int]:
        """The number of the last event of each sub-agent's run."""
        seqs = {run_id: last.event.seq for run_id, (last, _) in self._inner.items()}
        for _, inner in self._inner.values():
            seqs |= inner.inner_seqs
        return seqs

    def closing(self, last: Event, at: datetime) -> list[Event]:
        """Return the events that end what is open, numbered after the log's last one."""
        ends: list[Event] = []
        for inner_last, inner in self._inner.values():
            ends += [msgspec.structs.replace(inner_last, event=end) for end in inner.closing(inner_last.event, at)]
        ends += [_end(block) for block in self._blocks.values()]
        return [msgspec.structs.replace(end, seq=last.seq + n, at=at) for n, end in enumerate(ends, 1)]


def _end(block: _Block | _Arguments) -> Event:
    match block:
        case TextStarted():
            return TextEnded(block.seq, block.run_id, block.round, block.at, block.message_id, block.part, block.kind)
        case ReasoningStarted():
            return ReasoningEnded(block.seq, block.run_id, block.round, block.at, block.message_id, block.part)
        case _:
            call = block.started if isinstance(block, _Arguments) else block
            text = "".join(block.pieces) if isinstance(block, _Arguments) else ""
            return ToolCallEnded(call.seq, call.run_id, call.round, call.at, call.call_key, call.call_id, call.name, text, None, False)


def open_blocks(events: Iterable[Event]) -> OpenBlocks:
    """Return what is open after these events, from the start of a run."""
    blocks = OpenBlocks()
    for event in events:
        blocks.feed(event)
    return blocks
