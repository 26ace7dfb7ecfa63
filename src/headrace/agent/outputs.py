"""A typed answer while it streams: from a run's events to the values that can be read so far.

The rule of this file: what is shown is JSON, and what came of it by then; only the last value is the answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

from headrace._json import JSON, dumps, thaw
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
        if isinstance(event, RunEnded):
            if event.message is not None and event.message.has_structured and not _is_same(event.message.structured_output, shown):
                yield thaw(event.message.structured_output)
            continue
        value = growing.value
        if value is not None and not _is_same(value, shown):
            shown = value
            yield value


def _is_same(one: object, other: object) -> bool:
    """Return whether two values are the same JSON: `1`, `1.0` and `true` are not, though Python says so."""
    return one == other and dumps(thaw(one)) == dumps(thaw(other))


class _Growing:
    """The answer on its way, in the text or in a call."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._text = wanted.spec.partial()
        self._calls: dict[str, PartialOutput] = {}
        self._last: PartialOutput | None = None

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
            case _:
                pass

    @property
    def value(self) -> JSON:
        """What can be read so far, if enough has come since the last look."""
        return self._last.value if self._last is not None and self._last.is_due else None
