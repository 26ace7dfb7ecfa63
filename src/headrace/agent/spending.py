"""What a run has used: for its result, and for its limits.

The rule of this file: whatever a run causes counts, whoever did it: answers that were kept or discarded, summaries, sub-agents. The meter
of the limits counts the answers that were kept by itself, from the messages, so it is told only of the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.agent import events
from headrace.agent.events import Event
from headrace.agent.limits import Meter
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage


class Spending:
    """Adds up what a run used.

    Attributes:
        own: the sum over the run's own model calls.
        sub: of each run of a sub-agent, by its id, those inside it included.
    """

    def __init__(self, used: Meter, own: Usage | None = None, sub: Mapping[str, Usage] | None = None) -> None:
        """Go on with what was used before; `used` is told of what no message of the run tells."""
        self.own = own or Usage()
        self.sub = dict(sub or {})
        self._used = used

    @property
    def total(self) -> Usage:
        """The sum over everything."""
        return sum(self.sub.values(), self.own)

    def add(self, usage: Usage | None) -> None:
        """Count what an answer used that the run keeps."""
        if usage is not None:
            self.own += usage

    def add_beside(self, message: AssistantMessage) -> None:
        """Count what an answer used that the run does not keep."""
        self.add(message.usage)
        self._used.add_beside(0 if message.usage is None else message.usage.total_tokens, self._used.cost_of(message))

    def add_sub(self, event: Event) -> None:
        """Count what a sub-agent used, as its events tell it: tokens when it has ended or waits, costs answer by answer."""
        if isinstance(event, events.RunEnded):
            before = self.sub.get(event.run_id, Usage())
            self.sub[event.run_id] = event.usage
            self._used.add_beside(event.usage.total_tokens - before.total_tokens)
        while isinstance(event, events.SubRun):
            event = event.event
        if isinstance(event, events.RoundEnded) and event.message is not None:
            self._used.add_beside(0, self._used.cost_of(event.message))
