"""A typed answer while it streams: from a run's events to the values that can be read so far.

The rule of this file: what is shown is JSON, and what came of it by then; only the last value is the answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

from headrace._json import JSON
from headrace.agent.events import AttemptDiscarded, Event, RoundStarted, RunEnded, TextDelta, ToolCallArguments, ToolCallStarted
from headrace.agent.output.partial import PartialOutput
from headrace.agent.steps import Wanted

_NOTHING: Final = object()


async def outputs(events: AsyncIterable[Event], wanted: Wanted) -> AsyncIterator[JSON]:
    """Give the values of an answer as it grows."""
    growing = _Growing(wanted)
    shown: object = _NOTHING
    async for event in events:
        growing.feed(event)
        value = growing.final if isinstance(event, RunEnded) else growing.value
        if value is not None and value != shown:
            shown = value
            yield value


class _Growing:
    """The answer on its way, in the text or in a call."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._text = wanted.spec.partial()
        self._calls: dict[str, PartialOutput] = {}
        self._last: PartialOutput | None = None
        self.final: JSON = None

    def feed(self, event: Event) -> None:
        self._last = None
        match event:
            case RoundStarted() | AttemptDiscarded():
                self._text, self._calls = self._wanted.spec.partial(), {}
            case TextDelta(kind="text") if self._wanted.mode != "tool":
                self._text.feed(event.text)
                self._last = self._text
            case ToolCallStarted(name=name) if name in self._wanted.spec.tool_names:
                self._calls[event.call_key] = self._wanted.spec.partial(name)
            case ToolCallArguments() if event.call_key in self._calls:
                self._last = self._calls[event.call_key]
                self._last.feed(event.text)
            case RunEnded(message=message) if message is not None:
                self.final = message.structured_output
            case _:
                pass

    @property
    def value(self) -> JSON:
        """What can be read so far, if enough has come since the last look."""
        return self._last.value if self._last is not None and self._last.is_due else None
